// SPDX-License-Identifier: MIT OR Apache-2.0

//! The processes of a machine: `/proc/PID/stat` in, a [`Process`] for each out.

use std::collections::BTreeMap;

use super::Root;

/// A process at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Process {
    /// The name of its program, as the kernel knows it. Any text.
    pub name: String,
    /// CPU time, in the kernel's ticks.
    pub ticks: u64,
    /// Resident memory, in pages, if the kernel shows it.
    pub resident: Option<u64>,
}

impl Process {
    /// The CPU time that it used since an earlier reading, in the kernel's ticks.
    pub fn ran_since(&self, before: &Process) -> u64 {
        self.ticks.saturating_sub(before.ticks)
    }

    /// Parses `/proc/PID/stat`. The name may contain blanks and brackets.
    fn parse(stat: &str) -> Option<Self> {
        let (head, tail) = stat.rsplit_once(')')?;
        let (_, name) = head.split_once('(')?;
        // The fields after the name start with field 3.
        let fields: Vec<&str> = tail.split_whitespace().collect();
        let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
        Some(Process {
            name: name.to_owned(),
            ticks: field(14)?.saturating_add(field(15)?),
            resident: field(24),
        })
    }
}

/// All processes by number. Those that end meanwhile are left out.
pub(super) fn read(root: &Root) -> BTreeMap<u32, Process> {
    let ids = root.names("proc").into_iter();
    ids.filter_map(|id| {
        let number = id.parse().ok()?;
        let process = Process::parse(&root.text(format!("proc/{id}/stat"))?)?;
        Some((number, process))
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_text_is_read(text in any::<String>()) {
            let _ = Process::parse(&text);
        }

        #[test]
        fn any_name_is_read(name in any::<String>(), user in any::<u64>(), system in 0u64..9, pages in any::<u64>()) {
            let stat = format!("7 ({name}) R 1 2 3 4 5 6 7 8 9 10 {user} {system} 0 0 20 0 1 0 99 12345 {pages} 0");
            let process = Process::parse(&stat).unwrap();
            prop_assert_eq!(process.ticks, user.saturating_add(system));
            prop_assert_eq!(process.resident, Some(pages));
            prop_assert_eq!(process.name, name);
        }
    }
}
