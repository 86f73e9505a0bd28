// SPDX-License-Identifier: MIT OR Apache-2.0

//! Which line of which source file an instruction comes from, by a program's debug information
//! (DWARF).

use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::fmt;
use std::rc::Rc;

use addr2line::gimli::{Dwarf, EndianSlice, RunTimeEndian, SectionId};
use addr2line::Context;
use object::{Object, ObjectKind, ObjectSection};

type Reader<'a> = EndianSlice<'a, RunTimeEndian>;

/// A place in the sources.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// The file, as the compiler was given it: relative to the root of its program if the build
    /// says so. Without `.` and `..`.
    pub file: Rc<str>,
    /// The line; 0 if the compiler names none.
    pub line: u32,
    /// The function as it is written there, also where it was inlined into another. Empty if
    /// unknown.
    pub function: Rc<str>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

/// By what instructions are added up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grouping {
    /// By file.
    File,
    /// By file and line.
    Line,
    /// By function as it is written, and file. Inlining does not change this.
    Function,
}

/// The debug information of a program.
pub struct Sources<'a> {
    context: Context<Reader<'a>>,
    names: RefCell<HashMap<String, Rc<str>>>,
}

impl fmt::Debug for Sources<'_> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("Sources").finish_non_exhaustive()
    }
}

impl<'a> Sources<'a> {
    /// Reads the debug information in the bytes of an ELF file. `None` if it has none, or is a
    /// module, whose debug information has no addresses yet.
    ///
    /// # Errors
    ///
    /// It is damaged or compressed.
    pub fn read(name: &str, bytes: &'a [u8]) -> Result<Option<Self>, String> {
        let in_context = |error: &dyn fmt::Display| format!("{name}: {error}");
        let file = object::File::parse(bytes).map_err(|error| in_context(&error))?;
        let has_lines = file.section_by_name(".debug_line").is_some();
        if !has_lines || file.kind() == ObjectKind::Relocatable {
            return Ok(None);
        }
        let endian = if file.is_little_endian() {
            RunTimeEndian::Little
        } else {
            RunTimeEndian::Big
        };
        let section = |id: SectionId| -> Result<Reader<'a>, String> {
            let section = file.section_by_name(id.name());
            let data = section.map_or(Ok(&[][..]), |section| section.data());
            let data = data.map_err(|error| in_context(&error))?;
            Ok(EndianSlice::new(data, endian))
        };
        let is_compressed = |section: object::Section| {
            section
                .compressed_file_range()
                .is_ok_and(|range| range.format != object::CompressionFormat::None)
        };
        if file.sections().any(is_compressed) {
            return Err(in_context(
                &"its debug information is compressed; uncompress it with objcopy \
                  --decompress-debug-sections",
            ));
        }
        let dwarf = Dwarf::load(section)?;
        let context = Context::from_dwarf(dwarf).map_err(|error| in_context(&error))?;
        Ok(Some(Sources {
            context,
            names: RefCell::default(),
        }))
    }

    /// Where the instruction at an address comes from: the place itself first, then for each
    /// function that was inlined there the place that calls it. Empty if unknown.
    #[must_use]
    pub fn places(&self, address: u64) -> Vec<Place> {
        let mut places = Vec::new();
        let Ok(mut frames) = self.context.find_frames(address).skip_all_loads() else {
            return places;
        };
        while let Ok(Some(frame)) = frames.next() {
            let Some(location) = frame.location else {
                continue;
            };
            let function = frame.function.as_ref();
            let function = function.and_then(|function| function.raw_name().ok());
            places.push(Place {
                file: self.name(location.file.unwrap_or_default(), plain_path),
                line: location.line.unwrap_or_default(),
                function: self.name(&function.unwrap_or_default(), str::to_owned),
            });
        }
        places
    }

    /// Where the instruction at an address comes from. `None` if unknown.
    #[must_use]
    pub fn place(&self, address: u64) -> Option<Place> {
        self.places(address).into_iter().next()
    }

    /// Adds up what was counted at addresses. The greatest sum comes first, equal ones in
    /// alphabetic order. What has no known place is `no source`.
    #[must_use]
    pub fn sums(
        &self,
        counts: impl IntoIterator<Item = (u64, u64)>,
        grouping: Grouping,
    ) -> Vec<(String, u64)> {
        let mut sums: HashMap<String, u64> = HashMap::new();
        for (address, count) in counts {
            let group = match (self.place(address), grouping) {
                (None, _) => "no source".to_owned(),
                (Some(place), Grouping::File) => place.file.to_string(),
                (Some(place), Grouping::Line) => place.to_string(),
                (Some(place), Grouping::Function) => format!("{} ({})", place.function, place.file),
            };
            *sums.entry(group).or_default() += count;
        }
        let mut sums: Vec<_> = sums.into_iter().collect();
        sums.sort_by(|(a, m), (b, n)| (Reverse(m), a).cmp(&(Reverse(n), b)));
        sums
    }

    /// The name that is shown for one in the debug information. Each is kept once.
    fn name(&self, written: &str, shown: fn(&str) -> String) -> Rc<str> {
        let mut names = self.names.borrow_mut();
        if let Some(name) = names.get(written) {
            return Rc::clone(name);
        }
        let name: Rc<str> = shown(written).into();
        names.insert(written.to_owned(), Rc::clone(&name));
        name
    }
}

/// A path without `.` and `..`. What a relative path has above its start is left out.
fn plain_path(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    let root = if path.starts_with('/') { "/" } else { "" };
    format!("{root}{}", parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::Path;
    use std::process::Command;

    #[test]
    fn paths_are_without_dots() {
        assert_eq!(plain_path("./../../core/runner.c"), "core/runner.c");
        assert_eq!(plain_path("./tasks.c"), "tasks.c");
        assert_eq!(plain_path("/a/b/../c/./d.c"), "/a/c/d.c");
        assert_eq!(plain_path("../../../x.c"), "x.c");
        assert_eq!(plain_path(""), "");
    }

    const PROGRAM: &str = "\
static inline __attribute__((always_inline)) void twice(volatile int *x)
{
	*x *= 2;
}

void start(volatile int *x)
{
	*x += 1;
	twice(x);
}
";

    /// A program made of this, with these options.
    fn compiled(folder: &Path, options: &[&str]) -> Vec<u8> {
        fs::write(folder.join("p.c"), PROGRAM).unwrap();
        let status = Command::new("cc")
            .args(["-O1", "-fno-pie", "-no-pie", "-nostdlib", "-static"])
            .args(["-Wl,-estart", "-fcf-protection=none", "-o", "p", "p.c"])
            .arg(format!("-ffile-prefix-map={}=.", folder.display()))
            .args(options)
            .current_dir(folder)
            .status()
            .unwrap();
        assert!(status.success());
        fs::read(folder.join("p")).unwrap()
    }

    #[test]
    fn instructions_have_lines_and_inlined_functions() {
        let folder = tempfile::tempdir().unwrap();
        let bytes = compiled(folder.path(), &["-g"]);
        let file = object::File::parse(&*bytes).unwrap();
        let text = file.section_by_name(".text").unwrap();
        let sources = Sources::read("p", &bytes).unwrap().unwrap();
        let all = text.address()..text.address() + text.size();
        let lines = sources.sums(all.clone().map(|at| (at, 1)), Grouping::Line);
        let of = |line: &str| lines.iter().any(|(name, n)| name == line && *n > 0);
        assert!(of("p.c:3") && of("p.c:8") && !of("p.c:9"), "{lines:?}");
        let files = sources.sums(all.clone().map(|at| (at, 1)), Grouping::File);
        assert_eq!(files, [("p.c".to_owned(), text.size())]);

        let inlined = all.clone().find(|at| sources.places(*at).len() == 2);
        let places = sources.places(inlined.unwrap());
        let shown: Vec<_> = places
            .iter()
            .map(|place| format!("{place} {}", place.function))
            .collect();
        assert_eq!(shown, ["p.c:3 twice", "p.c:9 start"]);
        let functions = sources.sums(all.map(|at| (at, 1)), Grouping::Function);
        let names: Vec<_> = functions.iter().map(|(name, _)| name.as_str()).collect();
        assert!(names.contains(&"twice (p.c)") && names.contains(&"start (p.c)"));

        assert_eq!(sources.place(8), None);
        assert_eq!(
            sources.sums([(8, 2), (text.address(), 1)], Grouping::File),
            [("no source".to_owned(), 2), ("p.c".to_owned(), 1)]
        );
    }

    #[test]
    fn program_without_readable_debug_information_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let bytes = compiled(folder.path(), &["-s"]);
        assert!(Sources::read("p", &bytes).unwrap().is_none());
        let bytes = compiled(folder.path(), &["-g", "-gz=zlib"]);
        let error = Sources::read("p", &bytes).unwrap_err();
        assert!(
            error.starts_with("p: its debug information is compressed"),
            "{error}"
        );
        assert!(Sources::read("p", b"no ELF").is_err());
    }
}
