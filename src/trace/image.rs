// SPDX-License-Identifier: MIT OR Apache-2.0

//! The programs of a target: the marks of the agent in them (`agent/mark.h`), and the names of their
//! functions.

use std::fmt::Write;

use object::{
    Architecture, Object, ObjectKind, ObjectSection, ObjectSymbol, RelocationTarget, SectionKind,
    SymbolKind,
};

use super::instruction::Set;
use super::symbols::Symbol;

/// The sections of marks, and what the emulator's plugin calls their marks.
const MARKS: [(&str, &str); 5] = [
    (".stamps", "stamp"),
    (".cases", "case"),
    (".parts", "part"),
    (".rows", "row"),
    (".words", "word"),
];

/// Longest instruction of any instruction set, in bytes.
const LONGEST: u64 = 16;

/// A mark: the address of an instruction, or its offset in the text of a module.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Mark {
    name: &'static str,
    address: u64,
    bytes: Vec<u8>,
}

/// A program of a target.
#[derive(Clone, Debug)]
pub struct Image {
    /// The name of its file.
    pub name: String,
    /// Its instruction set.
    pub set: Set,
    /// Its functions: addresses, or offsets in the text of a module.
    pub symbols: Vec<Symbol>,
    /// The text of a module, without the bytes that the loader changes. `None` if it is a program
    /// with fixed addresses.
    pub module_text: Option<Vec<Option<u8>>>,
    marks: Vec<Mark>,
}

impl Image {
    /// Reads the bytes of an ELF file.
    ///
    /// # Errors
    ///
    /// They are no ELF file for 32 or 64 bits, or it is damaged.
    pub fn read(name: &str, bytes: &[u8]) -> Result<Self, String> {
        let in_context = |error: object::Error| format!("{name}: {error}");
        let file = object::File::parse(bytes).map_err(in_context)?;
        let is_module = file.kind() == ObjectKind::Relocatable;
        let text = if is_module {
            Some(module_text(&file).ok_or_else(|| format!("{name}: it has no section .text"))?)
        } else {
            None
        };
        let mut image = Image {
            name: name.to_owned(),
            set: set(&file).ok_or_else(|| {
                format!(
                    "{name}: the instruction set {:?} is not known",
                    file.architecture()
                )
            })?,
            symbols: symbols(&file, name),
            module_text: text,
            marks: Vec::new(),
        };
        for (section, mark) in MARKS {
            for address in addresses(&file, section).map_err(in_context)? {
                let bytes = image.bytes_at(&file, address);
                let bytes = bytes.ok_or_else(|| {
                    format!("{name}: {section} names {address:#x}, which is not in its code")
                })?;
                image.marks.push(Mark {
                    name: mark,
                    address,
                    bytes,
                });
            }
        }
        Ok(image)
    }

    /// Up to [`LONGEST`] bytes of code.
    fn bytes_at(&self, file: &object::File, address: u64) -> Option<Vec<u8>> {
        if let Some(text) = &self.module_text {
            let text = text.get(usize::try_from(address).ok()?..)?;
            let known = text.iter().take(LONGEST as usize);
            return Some(known.map_while(|byte| *byte).collect());
        }
        let holds = |section: &object::Section| {
            let range = section.address()..section.address() + section.size();
            section.kind() == SectionKind::Text && range.contains(&address)
        };
        let section = file.sections().find(holds)?;
        let left = section.address() + section.size() - address;
        let bytes = section.data_range(address, left.min(LONGEST)).ok()??;
        Some(bytes.to_vec())
    }

    /// Whether the agent marked its code in it.
    #[must_use]
    pub fn has_marks(&self) -> bool {
        !self.marks.is_empty()
    }

    /// The lines that tell the emulator's plugin about it.
    #[must_use]
    pub fn marks(&self) -> String {
        let mut text = String::new();
        if let Some(bytes) = &self.module_text {
            text.push_str("module ");
            for byte in bytes {
                match byte {
                    Some(byte) => drop(write!(text, "{byte:02x}")),
                    None => text.push_str(".."),
                }
            }
            text.push('\n');
        }
        for mark in &self.marks {
            let _ = write!(text, "{} {:x} ", mark.name, mark.address);
            for byte in &mark.bytes {
                let _ = write!(text, "{byte:02x}");
            }
            text.push('\n');
        }
        text
    }
}

fn set(file: &object::File) -> Option<Set> {
    Some(match file.architecture() {
        // Only M-profile has exact targets.
        Architecture::Arm => Set::Thumb,
        Architecture::Aarch64 => Set::AArch64,
        Architecture::Riscv32 => Set::RiscV32,
        Architecture::Riscv64 => Set::RiscV64,
        Architecture::I386 => Set::X86,
        Architecture::X86_64 => Set::X86_64,
        _ => return None,
    })
}

/// The addresses in a section of marks; those of a module as offsets in its text.
fn addresses(file: &object::File, name: &str) -> object::Result<Vec<u64>> {
    let Some(section) = file.section_by_name(name) else {
        return Ok(Vec::new());
    };
    if file.kind() == ObjectKind::Relocatable {
        let text = file.section_by_name(".text").map(|text| text.index());
        let offset = |(_, relocation): (u64, object::Relocation)| {
            let RelocationTarget::Symbol(index) = relocation.target() else {
                return None;
            };
            let symbol = file.symbol_by_index(index).ok()?;
            (symbol.section_index() == text)
                .then(|| symbol.address().wrapping_add_signed(relocation.addend()))
        };
        return Ok(section.relocations().filter_map(offset).collect());
    }
    let data = section.data()?;
    let size = if file.is_64() { 8 } else { 4 };
    let address = |word: &[u8]| {
        let bytes = word.iter().rev();
        bytes.fold(0u64, |sum, byte| sum << 8 | u64::from(*byte))
    };
    Ok(data.chunks_exact(size).map(address).collect())
}

/// The text of a module; `None` for the bytes that the loader changes.
fn module_text(file: &object::File) -> Option<Vec<Option<u8>>> {
    let section = file.section_by_name(".text")?;
    let mut text: Vec<Option<u8>> = section.data().ok()?.iter().copied().map(Some).collect();
    for (at, relocation) in section.relocations() {
        let size = usize::from(relocation.size() / 8).max(4);
        // The loader may replace a call of the tracer or a thunk: its operation code stands before.
        let start = usize::try_from(at).ok()?.saturating_sub(2);
        for byte in text.iter_mut().skip(start).take(size + 2) {
            *byte = None;
        }
    }
    Some(text)
}

/// The functions of a program: its symbols of functions, and the labels in its code.
fn symbols(file: &object::File, program: &str) -> Vec<Symbol> {
    let is_code = |index| {
        file.section_by_index(index)
            .is_ok_and(|section| section.kind() == SectionKind::Text)
    };
    let is_thumb = file.architecture() == Architecture::Arm;
    let symbol = |symbol: object::Symbol| {
        let name = symbol.name().ok()?;
        let is_function = symbol.kind() == SymbolKind::Text;
        let is_label = symbol.kind() == SymbolKind::Unknown || symbol.kind() == SymbolKind::Label;
        // Not the marks of the assembler, `$t` and the like.
        let counts = (is_function || is_label)
            && !name.is_empty()
            && !name.starts_with('$')
            && !name.starts_with(".L")
            && symbol.section_index().is_some_and(is_code);
        let address = symbol.address();
        counts.then(|| Symbol {
            address: if is_thumb && is_function {
                address & !1
            } else {
                address
            },
            size: symbol.size(),
            rank: u8::from(!is_function) * 2 + u8::from(symbol.is_local()),
            name: name.to_owned(),
            program: program.to_owned(),
            file: None,
        })
    };
    file.symbols().filter_map(symbol).collect()
}
