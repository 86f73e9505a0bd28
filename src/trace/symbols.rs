// SPDX-License-Identifier: MIT OR Apache-2.0

//! Which function has an address.

use std::collections::BTreeSet;

use crate::stream::paths::Function;

/// The start of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    /// The address of its first instruction.
    pub address: u64,
    /// Its bytes; 0 if unknown: it then ends where the next one starts.
    pub size: u64,
    /// Which of several symbols at one address counts: the least.
    pub rank: u8,
    /// Its name.
    pub name: String,
    /// The program that has it.
    pub program: String,
    /// The source file that defines it, if that is known.
    pub file: Option<String>,
}

/// The functions of everything that runs on a target.
#[derive(Clone, Debug, Default)]
pub struct Symbols {
    /// Sorted by address, which are all different.
    symbols: Vec<Symbol>,
}

impl Symbols {
    /// A table of these.
    #[must_use]
    pub fn new(mut symbols: Vec<Symbol>) -> Self {
        symbols.sort_by(|a, b| {
            let key = |symbol: &Symbol| (symbol.address, symbol.rank, symbol.size == 0);
            key(a).cmp(&key(b)).then_with(|| a.name.cmp(&b.name))
        });
        symbols.dedup_by_key(|symbol| symbol.address);
        Symbols { symbols }
    }

    /// The function that has an address. `None` if it is in no function.
    #[must_use]
    pub fn find(&self, address: u64) -> Option<&Symbol> {
        let after = self
            .symbols
            .partition_point(|symbol| symbol.address <= address);
        // A label without a size may stand within a function, which counts then.
        let before = self.symbols[..after].iter().rev().take(8);
        let has = |symbol: &&Symbol| symbol.size > 0 && address - symbol.address < symbol.size;
        let sized = before.clone().find(has);
        sized.or_else(|| before.into_iter().next().filter(|symbol| symbol.size == 0))
    }

    /// The starts of the functions that have these addresses, each once.
    #[must_use]
    pub fn starts(&self, addresses: impl Iterator<Item = u64>) -> Vec<u64> {
        let starts: BTreeSet<u64> = addresses
            .filter_map(|address| Some(self.find(address)?.address))
            .collect();
        starts.into_iter().collect()
    }

    /// Sets the source file of the function that starts at an address.
    pub fn set_file(&mut self, start: u64, file: &str) {
        let place = self
            .symbols
            .binary_search_by_key(&start, |symbol| symbol.address);
        if let Ok(place) = place {
            self.symbols[place].file = Some(file.to_owned());
        }
    }
}

impl From<&Symbol> for Function {
    fn from(symbol: &Symbol) -> Self {
        Function {
            name: symbol.name.clone(),
            program: symbol.program.clone(),
            file: symbol.file.clone(),
        }
    }
}

/// Whether a symbol of the kernel is the start or the end of a section, not a function.
fn bounds_text(name: &str) -> bool {
    let is_bound = |end: &str| {
        name.strip_suffix(end)
            .is_some_and(|rest| rest.ends_with("text"))
    };
    ["_start", "_end", ""].into_iter().any(is_bound) && name.starts_with('_')
}

/// The functions in the text of `/proc/kallsyms`: those of the kernel (`kernel`), of its modules and
/// of what it compiled itself.
#[must_use]
pub fn of_kallsyms(text: &str) -> Vec<Symbol> {
    let symbol = |line: &str| {
        let mut words = line.split_ascii_whitespace();
        let address = u64::from_str_radix(words.next()?, 16).ok()?;
        let kind = words.next()?;
        let name = words.next()?;
        let program = words.next().unwrap_or("[kernel]");
        let is_function = matches!(kind, "t" | "T" | "w" | "W");
        (is_function && address > 0).then(|| Symbol {
            address,
            size: 0,
            rank: u8::from(kind == "t") + 2 * u8::from(bounds_text(name)),
            name: name.to_owned(),
            program: program.trim_matches(['[', ']']).to_owned(),
            file: None,
        })
    };
    text.lines().filter_map(symbol).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn symbol(address: u64, size: u64, name: &str) -> Symbol {
        Symbol {
            address,
            size,
            rank: 0,
            name: name.to_owned(),
            program: String::new(),
            file: None,
        }
    }

    #[test]
    fn function_of_an_address() {
        let all = Symbols::new(vec![
            symbol(0x10, 8, "a"),
            symbol(0x14, 0, "label"),
            symbol(0x20, 0, "open"),
            symbol(0x30, 4, "b"),
        ]);
        let name = |address| all.find(address).map(|symbol| symbol.name.as_str());
        assert_eq!(name(0x0f), None);
        assert_eq!(name(0x10), Some("a"));
        assert_eq!(name(0x15), Some("a"), "a label within a function");
        assert_eq!(name(0x18), Some("label"));
        assert_eq!(name(0x2f), Some("open"));
        assert_eq!(name(0x33), Some("b"));
        assert_eq!(name(0x34), None);
    }

    #[test]
    fn kallsyms_has_functions_and_data() {
        let text = "ffffffff81000000 T _text\nffffffff81000010 d data\n0000000000000000 T none\n\
                    ffffffff81000020 T __sched_text_start\nffffffff81000020 t __switch_to\n\
                    ffffffffc0000000 t open_it\t[kernmark]\nnonsense\n";
        let symbols = of_kallsyms(text);
        let names: Vec<_> = symbols
            .iter()
            .map(|s| (s.name.as_str(), s.program.as_str()))
            .collect();
        assert_eq!(
            names,
            [
                ("_text", "kernel"),
                ("__sched_text_start", "kernel"),
                ("__switch_to", "kernel"),
                ("open_it", "kernmark")
            ]
        );
        let all = Symbols::new(symbols);
        assert_eq!(all.find(0xffff_ffff_8100_0024).unwrap().name, "__switch_to");
    }
}
