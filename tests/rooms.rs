// SPDX-License-Identifier: MIT OR Apache-2.0

//! The order of the rooms in `src/`: each uses only those above it, and no files within a room use
//! each other in a circle. Read from the paths in the sources, as nothing else enforces it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// In the order in which a run passes through them.
const ROOMS: [&str; 12] = [
    "base",
    "stream",
    "machine",
    "target",
    "measure",
    "statistics",
    "import",
    "files",
    "judge",
    "report",
    "export",
    "commands",
];

/// A path that a source file names: the file, the line, and the module from the crate's root.
#[derive(Debug)]
struct Import {
    at: String,
    from: Vec<String>,
    to: Vec<String>,
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// The module that a file is: `judge/compare.rs` is `judge::compare`, `judge/mod.rs` is `judge`.
fn module(path: &Path) -> Vec<String> {
    let path = path.with_extension("");
    let names = path.iter().map(|name| name.to_str().unwrap().to_owned());
    names.filter(|name| name != "mod").collect()
}

/// Every `crate::` and `super::` path in a text, as a module; the last parts may be items. Unit
/// tests, which come last in a file, may use anything.
fn imports(at: &str, module: &[String], text: &str) -> Vec<Import> {
    let code = text.split("#[cfg(test)]\nmod tests").next().unwrap();
    let comment = |line: &&str| line.trim_start().starts_with("//");
    let blanked = code
        .lines()
        .map(|line| if comment(&line) { "" } else { line });
    let code = blanked.collect::<Vec<_>>().join("\n");
    let mut found = Vec::new();
    for root in ["crate::", "super::"] {
        for (start, _) in code.match_indices(root) {
            let mut base = match root {
                "crate::" => Vec::new(),
                _ => module[..module.len() - 1].to_vec(),
            };
            let rest = &code[start + root.len()..];
            let end = rest
                .find(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':'))
                .unwrap_or(rest.len());
            base.extend(names(&rest[..end]));
            let members = rest[end..].strip_prefix('{').map_or(vec![""], |members| {
                members.split('}').next().unwrap().split(',').collect()
            });
            for member in members {
                found.push(Import {
                    at: format!("{at}:{}", code[..start].matches('\n').count() + 1),
                    from: module.to_vec(),
                    to: [base.clone(), names(member.trim())].concat(),
                });
            }
        }
    }
    found
}

/// The parts of a path.
fn names(path: &str) -> Vec<String> {
    let parts = path.split("::").filter(|part| !part.is_empty());
    parts.map(str::to_owned).collect()
}

fn rank(module: &[String]) -> Option<usize> {
    let room = module.first()?;
    ROOMS.iter().position(|known| known == room)
}

/// What breaks the order: an import of a room further down.
fn against_the_order(imports: &[Import]) -> Vec<String> {
    let breaks = |import: &&Import| match (rank(&import.from), rank(&import.to)) {
        (Some(from), Some(to)) => to > from,
        _ => false,
    };
    let tell = |import: &Import| {
        format!(
            "{}: {} uses {}",
            import.at,
            import.from.join("::"),
            import.to.join("::")
        )
    };
    imports.iter().filter(breaks).map(tell).collect()
}

/// Files that use each other in a circle, each circle once.
fn circles(imports: &[Import], files: &BTreeSet<Vec<String>>) -> BTreeSet<Vec<String>> {
    let mut uses: BTreeMap<&[String], BTreeSet<&[String]>> = BTreeMap::new();
    for import in imports {
        // The longest part of the path that is a file.
        let file = (1..=import.to.len())
            .rev()
            .map(|length| &import.to[..length])
            .find(|part| files.contains(*part));
        // A folder's own file gathers its parts, and these use what it offers them.
        let kin = |a: &[String], b: &[String]| a.starts_with(b) || b.starts_with(a);
        if let Some(file) = file.filter(|file| !kin(file, &import.from)) {
            uses.entry(&import.from).or_default().insert(file);
        }
    }
    let mut found = BTreeSet::new();
    for start in uses.keys() {
        let mut paths = vec![vec![*start]];
        let mut seen = BTreeSet::new();
        while let Some(path) = paths.pop() {
            for next in uses.get(path.last().unwrap()).into_iter().flatten() {
                if next == start {
                    let mut names: Vec<String> =
                        path.iter().map(|module| module.join("::")).collect();
                    names.sort();
                    found.insert(names);
                } else if seen.insert(*next) {
                    paths.push([path.clone(), vec![*next]].concat());
                }
            }
        }
    }
    found
}

fn all() -> (Vec<Import>, BTreeSet<Vec<String>>) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = Vec::new();
    let mut files = BTreeSet::new();
    for path in sources(&root) {
        let text = fs::read_to_string(&path).unwrap();
        let relative = path.strip_prefix(&root).unwrap();
        let module = module(relative);
        found.extend(imports(
            &format!("src/{}", relative.display()),
            &module,
            &text,
        ));
        files.insert(module);
    }
    (found, files)
}

#[test]
fn every_folder_is_a_room() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut folders: Vec<String> = Vec::new();
    let mut files: Vec<String> = Vec::new();
    for entry in fs::read_dir(root).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        if entry.path().is_dir() {
            folders.push(name);
        } else {
            files.push(name);
        }
    }
    folders.sort();
    files.sort();
    let mut rooms = ROOMS.to_vec();
    rooms.sort_unstable();
    assert_eq!(folders, rooms);
    assert_eq!(files, ["lib.rs", "main.rs"]);
}

#[test]
fn rooms_use_only_those_above_them() {
    let (imports, _) = all();
    assert!(imports.len() > 300, "{}", imports.len());
    let broken = against_the_order(&imports);
    assert!(broken.is_empty(), "\n{}", broken.join("\n"));
}

#[test]
fn no_files_use_each_other_in_a_circle() {
    let (imports, files) = all();
    let circles = circles(&imports, &files);
    assert!(circles.is_empty(), "{circles:#?}");
}

#[test]
fn both_checks_find_what_they_are_for() {
    let path = |text: &str| -> Vec<String> { text.split("::").map(str::to_owned).collect() };
    let files = ["stream::run", "stream::histogram", "report::table"].map(path);
    let text =
        "use crate::report::table::Table;\n// crate::export\nuse super::histogram::{A, B};\n";
    let mut found = imports("a.rs", &files[0], text);
    assert_eq!(
        against_the_order(&found),
        ["a.rs:1: stream::run uses report::table::Table"]
    );
    let files = BTreeSet::from(files);
    assert!(circles(&found, &files).is_empty());
    let back =
        "use crate::stream::{run::Run, record};\n#[cfg(test)]\nmod tests {\nuse crate::export;\n";
    found.extend(imports("b.rs", &path("stream::histogram"), back));
    assert_eq!(
        circles(&found, &files),
        BTreeSet::from([vec![
            "stream::histogram".to_owned(),
            "stream::run".to_owned()
        ]])
    );
    assert_eq!(against_the_order(&found).len(), 1);
}
