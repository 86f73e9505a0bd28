// SPDX-License-Identifier: MIT OR Apache-2.0

//! Checks the structure of `src/`: each folder uses only the folders before it, and no files use each
//! other in a circle. The checks read the paths in the sources, because the compiler enforces none of
//! this.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The folders of `src/`, in the order in which a run passes through them.
const ROOMS: [&str; 13] = [
    "base",
    "stream",
    "trace",
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

/// A path in a source file: where it is, the module of the file, and the module it names.
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

/// The module of a file: `judge/compare.rs` is `judge::compare`, `judge/mod.rs` is `judge`.
fn module(path: &Path) -> Vec<String> {
    let path = path.with_extension("");
    let names = path.iter().map(|name| name.to_str().unwrap().to_owned());
    names.filter(|name| name != "mod").collect()
}

/// Every `crate::` and `super::` path in a text, outside comments. The last parts of a path may be
/// items. Unit tests, which come last in a file, may use anything and are skipped.
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

/// Describes each import of a later folder.
fn against_the_order(imports: &[Import]) -> Vec<String> {
    let breaks = |import: &&Import| match (rank(&import.from), rank(&import.to)) {
        (Some(from), Some(to)) => to > from,
        _ => false,
    };
    let describe = |import: &Import| {
        format!(
            "{}: {} uses {}",
            import.at,
            import.from.join("::"),
            import.to.join("::")
        )
    };
    imports.iter().filter(breaks).map(describe).collect()
}

/// The circles of files that use each other, each circle once.
fn circles(imports: &[Import], files: &BTreeSet<Vec<String>>) -> BTreeSet<Vec<String>> {
    let mut uses: BTreeMap<&[String], BTreeSet<&[String]>> = BTreeMap::new();
    for import in imports {
        // The longest prefix of the path that is a file.
        let file = (1..=import.to.len())
            .rev()
            .map(|length| &import.to[..length])
            .find(|part| files.contains(*part));
        // `mod.rs` and the other files of its folder may use each other.
        let is_related = |a: &[String], b: &[String]| a.starts_with(b) || b.starts_with(a);
        if let Some(file) = file.filter(|file| !is_related(file, &import.from)) {
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

/// All imports and all modules of `src/`.
fn read_sources() -> (Vec<Import>, BTreeSet<Vec<String>>) {
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
fn every_folder_is_in_the_order() {
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
fn folders_use_only_earlier_folders() {
    let (imports, _) = read_sources();
    assert!(imports.len() > 300, "{}", imports.len());
    let broken = against_the_order(&imports);
    assert!(broken.is_empty(), "\n{}", broken.join("\n"));
}

#[test]
fn no_files_use_each_other_in_a_circle() {
    let (imports, files) = read_sources();
    let circles = circles(&imports, &files);
    assert!(circles.is_empty(), "{circles:#?}");
}

#[test]
fn checks_find_violations() {
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
