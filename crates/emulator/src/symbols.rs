//! The functions of an ELF file: symbols with their sizes, stubs of other files' functions, and
//! where functions without a symbol begin.

use crate::names::shortened;
use object::{
    Object, ObjectSection, ObjectSegment, ObjectSymbol, RelocationTarget, SymbolKind,
    read::elf::ElfFile64,
};
use std::{collections::BTreeMap, ops::Range};

/// The functions of a file, by the addresses that the file itself uses.
#[derive(Debug, Default)]
pub(crate) struct Symbols {
    segments: Vec<Segment>,
    /// In the order of their addresses.
    functions: Vec<Function>,
    /// Where functions begin, named or not, in order.
    starts: Vec<u64>,
    /// Code that jumps to functions of other files.
    stubs: Vec<Stubs>,
    /// Names of these functions, by the place that holds their address.
    places: BTreeMap<u64, String>,
}

#[derive(Debug)]
struct Segment {
    offsets: Range<u64>,
    address: u64,
}

#[derive(Debug, PartialEq, Eq)]
struct Function {
    range: Range<u64>,
    name: String,
}

#[derive(Debug)]
struct Stubs {
    address: u64,
    code: Vec<u8>,
}

/// Bytes of a stub.
const STUB: u64 = 16;

/// What is at an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Found {
    /// A function, with the address of its first instruction.
    Function { start: u64, name: String },
    /// A stub that jumps to a function of another file.
    Stub { start: u64, name: String },
    /// A function without a name.
    Unnamed { start: u64 },
}

impl Symbols {
    /// Nothing where the bytes are not those of a 64-bit ELF file. `debug` are those of the file
    /// that has what was stripped from it.
    pub(crate) fn read(bytes: &[u8], debug: Option<&[u8]>) -> Option<Self> {
        let file: ElfFile64<'_> = ElfFile64::parse(bytes).ok()?;
        let more: Option<ElfFile64<'_>> = debug.and_then(|bytes| ElfFile64::parse(bytes).ok());
        let segments = file.segments().map(|segment| {
            let (start, length) = segment.file_range();
            Segment { offsets: start..start + length, address: segment.address() }
        });
        let mut symbols = Self { segments: segments.collect(), ..Self::default() };
        symbols.functions = functions(&[&file].into_iter().chain(&more).collect::<Vec<_>>());
        symbols.starts = file.section_by_name(".eh_frame_hdr").map_or_else(Vec::new, |section| {
            starts(section.data().unwrap_or_default(), section.address())
        });
        symbols.stubs = file
            .sections()
            .filter(|section| section.name().is_ok_and(|name| name.starts_with(".plt")))
            .filter_map(|section| {
                Some(Stubs { address: section.address(), code: section.data().ok()?.to_vec() })
            })
            .collect();
        symbols.places = places(&file);
        Some(symbols)
    }

    /// The file's own address of a byte of it.
    pub(crate) fn address(&self, offset: u64) -> Option<u64> {
        let segment = self.segments.iter().find(|one| one.offsets.contains(&offset))?;
        Some(offset - segment.offsets.start + segment.address)
    }

    /// Where in the file the byte at an address of its own is.
    pub(crate) fn offset(&self, address: u64) -> Option<u64> {
        let offset = |one: &Segment| {
            let offset = address.checked_sub(one.address)? + one.offsets.start;
            one.offsets.contains(&offset).then_some(offset)
        };
        self.segments.iter().find_map(offset)
    }

    /// Address of the function that its author called so; of its copies, the first.
    pub(crate) fn function(&self, wanted: &str) -> Option<u64> {
        let mut own = self.functions.iter().filter(|one| one.name.contains(wanted));
        // What was moved out of the way of the rest is jumped to.
        let is_it = |one: &&Function| !one.name.contains(".cold") && shortened(&one.name) == wanted;
        own.find(is_it).map(|one| one.range.start)
    }

    pub(crate) fn at(&self, address: u64) -> Found {
        let after = self.functions.partition_point(|one| one.range.start <= address);
        // A function may lie within another one's range.
        let before = self.functions[..after].iter().rev().take(8);
        if let Some(one) = before.into_iter().find(|one| one.range.contains(&address)) {
            return Found::Function { start: one.range.start, name: one.name.clone() };
        }
        if let Some(found) = self.stub(address) {
            return found;
        }
        let start = self.starts.partition_point(|start| *start <= address).checked_sub(1);
        let start = start.map(|index| self.starts[index]);
        // Behind a named function nothing is known of where the next one begins.
        let end = after.checked_sub(1).map_or(0, |index| self.functions[index].range.end);
        Found::Unnamed { start: start.filter(|start| *start >= end).unwrap_or(address) }
    }

    fn stub(&self, address: u64) -> Option<Found> {
        let holds = |stubs: &&Stubs| {
            (stubs.address..stubs.address + stubs.code.len() as u64).contains(&address)
        };
        let stubs = self.stubs.iter().find(holds)?;
        let within = address - stubs.address;
        let code = &stubs.code[(within - within % STUB) as usize..];
        let code = &code[..code.len().min(STUB as usize)];
        let start = address - within % STUB;
        // The first words of a table jump to the linker; any other stub jumps to where a place
        // says, which is relative to the next instruction.
        let jump = code.windows(6).position(|bytes| bytes.starts_with(&[0xff, 0x25]));
        let name = jump.and_then(|at| {
            let far = i32::from_le_bytes(code[at + 2..at + 6].try_into().ok()?);
            let place = (start + at as u64 + 6).wrapping_add_signed(i64::from(far));
            self.places.get(&place).cloned()
        });
        Some(Found::Stub { start, name: name.unwrap_or_default() })
    }
}

/// All functions with a size, of both tables of each file. Of names for one address the one with
/// the fewest underscores before it is kept.
fn functions(files: &[&ElfFile64<'_>]) -> Vec<Function> {
    let is_code = |kind| matches!(kind, SymbolKind::Text | SymbolKind::Unknown);
    let all = files.iter().flat_map(|file| file.symbols().chain(file.dynamic_symbols()));
    let mut found: Vec<Function> = all
        .filter(|symbol| symbol.is_definition() && symbol.size() > 0 && is_code(symbol.kind()))
        .filter_map(|symbol| {
            let range = symbol.address()..symbol.address() + symbol.size();
            Some(Function { range, name: symbol.name().ok()?.to_owned() })
        })
        .collect();
    let rank = |name: &str| name.len() - name.trim_start_matches('_').len();
    found.sort_by(|a, b| {
        let key = |one: &Function| (one.range.start, std::cmp::Reverse(one.range.end));
        key(a).cmp(&key(b)).then(rank(&a.name).cmp(&rank(&b.name))).then(a.name.cmp(&b.name))
    });
    found.dedup_by_key(|one| one.range.start);
    found
}

/// Where a file keeps the addresses of other files' functions.
fn places(file: &ElfFile64<'_>) -> BTreeMap<u64, String> {
    let symbols = file.dynamic_symbol_table();
    let relocations = file.dynamic_relocations().into_iter().flatten();
    let named = relocations.filter_map(|(place, relocation)| {
        let RelocationTarget::Symbol(index) = relocation.target() else { return None };
        let symbol = symbols.as_ref()?.symbol_by_index(index).ok()?;
        Some((place, symbol.name().ok()?.to_owned()))
    });
    named.collect()
}

use object::ObjectSymbolTable;

/// The search table of `.eh_frame_hdr`, in the one form that linkers write.
fn starts(section: &[u8], address: u64) -> Vec<u64> {
    const FORM: [u8; 4] = [1, 0x1b, 0x03, 0x3b];
    if !section.starts_with(&FORM) || section.len() < 12 {
        return Vec::new();
    }
    let relative = |entry: &[u8]| {
        let start = i32::from_le_bytes(entry[..4].try_into().ok()?);
        Some(address.wrapping_add_signed(i64::from(start)))
    };
    section[12..].chunks_exact(8).filter_map(relative).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(range: Range<u64>, name: &str) -> Function {
        Function { range, name: name.to_owned() }
    }

    fn some() -> Symbols {
        let code = [[0x90; 16], [0x90; 16]].concat();
        let mut stubs = Stubs { address: 0x9000, code };
        // jmp *0x7fea(%rip), in the second stub.
        stubs.code[16..22].copy_from_slice(&[0xff, 0x25, 0xea, 0x7f, 0, 0]);
        Symbols {
            segments: vec![Segment { offsets: 0x100..0x900, address: 0x1100 }],
            functions: vec![named(0x1000..0x1040, "a.cold"), named(0x1100..0x1120, "_Z1av")],
            starts: vec![0x1000, 0x1048, 0x1080, 0x1100],
            stubs: vec![stubs],
            places: BTreeMap::from([(0x11000, "recv".to_owned())]),
        }
    }

    fn check(address: u64, expected: Found) {
        assert_eq!(some().at(address), expected, "{address:x}");
    }

    #[test]
    fn a_gap_belongs_to_no_neighbor() {
        let function = |start, name: &str| Found::Function { start, name: name.to_owned() };
        check(0x103f, function(0x1000, "a.cold"));
        check(0x1040, Found::Unnamed { start: 0x1040 });
        check(0x104c, Found::Unnamed { start: 0x1048 });
        check(0x1090, Found::Unnamed { start: 0x1080 });
        check(0x1100, function(0x1100, "_Z1av"));
        assert_eq!((some().function("a"), some().function("b")), (Some(0x1100), None));
        assert_eq!((some().offset(0x1180), some().offset(0x10ff)), (Some(0x180), None));
        check(0x50, Found::Unnamed { start: 0x50 });
        let stub = |start, name: &str| Found::Stub { start, name: name.to_owned() };
        check(0x9014, stub(0x9010, "recv"));
        check(0x9003, stub(0x9000, ""));
        assert_eq!(some().address(0x180), Some(0x1180));
        assert_eq!(some().address(0x900), None);
    }

    #[test]
    fn the_search_table_tells_where_functions_begin() {
        let mut section = vec![1, 0x1b, 0x03, 0x3b, 0, 0, 0, 0, 2, 0, 0, 0];
        for (start, entry) in [(-0x100_i32, 0x40_i32), (0x20, 0x60)] {
            section.extend([start.to_le_bytes(), entry.to_le_bytes()].concat());
        }
        assert_eq!(starts(&section, 0x2000), [0x1f00, 0x2020]);
        section[3] = 0x1b;
        assert_eq!(starts(&section, 0x2000), [0; 0]);
    }

    #[test]
    fn other_files_have_no_symbols() {
        assert!(Symbols::read(b"#!/bin/sh\n", None).is_none());
        assert!(Symbols::read(&[], None).is_none());
    }
}
