//! Names of the functions at the addresses of a process.

use crate::{
    Result,
    binary::Binary,
    maps::{self, Mapping},
    symbols::Found,
};
use cpp_demangle::{DemangleOptions, Symbol};
use fs_err as fs;
use std::{
    collections::{BTreeMap, HashMap},
    path::PathBuf,
    rc::Rc,
};

/// The functions of a process, by their addresses in it. Files are read when they are first asked
/// for.
#[derive(Debug)]
pub struct Names {
    root: PathBuf,
    mappings: Vec<Mapping>,
    files: BTreeMap<String, Binary>,
    known: HashMap<u64, Function>,
    inlined: HashMap<u64, Rc<[Rc<str>]>>,
}

/// A function of a process.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Function {
    /// Its first instruction.
    pub start: u64,
    /// Its short name; `[file+address]` without one, `NAME@plt` for a stub.
    pub name: Rc<str>,
}

impl Function {
    /// Whether the function has no name and may be given one. Those of the dynamic linker may not:
    /// stubs jump to it when their function is looked up.
    pub(crate) fn is_unnamed(&self) -> bool {
        self.name.starts_with('[') && !self.name.starts_with("[ld-")
    }

    /// The function that a stub jumps to.
    pub(crate) fn stub_of(&self) -> Option<&str> {
        self.name.strip_suffix("@plt")
    }
}

impl Names {
    /// Of a process that lives.
    ///
    /// # Errors
    /// If it does not live any more, or may not be looked at.
    pub fn of(process: u32) -> Result<Self> {
        let folder = PathBuf::from(format!("/proc/{process}"));
        // A path may be any bytes, and one that is no text must not hide the others.
        let text = fs::read(folder.join("maps"))?;
        Ok(Self {
            root: folder.join("root"),
            mappings: maps::parse(&String::from_utf8_lossy(&text)),
            files: BTreeMap::new(),
            known: HashMap::new(),
            inlined: HashMap::new(),
        })
    }

    /// The function at an address.
    pub fn at(&mut self, address: u64) -> Function {
        if let Some(known) = self.known.get(&address) {
            return known.clone();
        }
        let found = self.look(address);
        self.known.insert(address, found.clone());
        found
    }

    /// The functions that were inlined at an address, each within the one before; none where the
    /// file has no debug information.
    pub fn inlined(&mut self, address: u64) -> Rc<[Rc<str>]> {
        if let Some(known) = self.inlined.get(&address) {
            return Rc::clone(known);
        }
        let found = match self.mapping(address) {
            Some(mapping) => {
                let binary = self.binary(&mapping);
                let own =
                    binary.symbols.as_ref().and_then(|one| one.address(offset(&mapping, address)));
                own.map(|own| binary.inlined(own)).unwrap_or_default()
            }
            None => Vec::new(),
        };
        let found: Rc<[Rc<str>]> = found.into();
        self.inlined.insert(address, Rc::clone(&found));
        found
    }

    fn mapping(&self, address: u64) -> Option<Mapping> {
        let after = self.mappings.partition_point(|one| one.start <= address);
        let mapping = after.checked_sub(1).map(|index| &self.mappings[index]);
        mapping.filter(|one| address < one.end).cloned()
    }

    /// The file of a mapping, empty where there is none.
    fn binary(&mut self, mapping: &Mapping) -> &Binary {
        let root = &self.root;
        let read = || {
            // The path is that of the process, whose file system may be another one.
            let path = mapping.file()?;
            let below = root.join(path.strip_prefix("/").ok()?);
            Binary::read(&below).or_else(|_| Binary::read(&path)).ok()
        };
        let file = self.files.entry(mapping.name.clone());
        file.or_insert_with(|| read().unwrap_or_default())
    }

    fn look(&mut self, address: u64) -> Function {
        let Some(mapping) = self.mapping(address) else {
            return Function { start: address, name: format!("[nowhere+{address:x}]").into() };
        };
        let (short, offset) = (mapping.short(), offset(&mapping, address));
        let symbols = self.binary(&mapping).symbols.as_ref();
        let own = symbols.and_then(|known| Some((known, known.address(offset)?)));
        let Some((symbols, own)) = own else {
            // What has no file may be code that was made at run time: one entry for all of it.
            let place = mapping.file().map(|_| format!("+{offset:x}")).unwrap_or_default();
            return Function { start: address, name: format!("[{short}{place}]").into() };
        };
        let (start, name) = match symbols.at(own) {
            Found::Function { start, name } => (start, shortened(&name)),
            Found::Stub { start, name } if name.is_empty() => (start, format!("[{short} stub]")),
            Found::Stub { start, name } => (start, format!("{}@plt", shortened(&name))),
            Found::Unnamed { start } => (start, format!("[{short}+{start:x}]")),
        };
        Function { start: address - (own - start), name: name.into() }
    }
}

/// Where in its file an address of a mapping is.
fn offset(mapping: &Mapping, address: u64) -> u64 {
    address - mapping.start + mapping.offset
}

/// A symbol's name without arguments, template parameters and the suffixes of compilers, as its
/// author wrote it: builds of other versions have the same.
pub fn shortened(symbol: &str) -> String {
    let is_rust = symbol.starts_with("_R") || symbol.contains("17h");
    if let Some(name) = is_rust.then(|| rustc_demangle::try_demangle(symbol).ok()).flatten() {
        return without_parameters(&format!("{name:#}"));
    }
    // `.cold`, `.part.0`, `.constprop.0`: parts and copies of a function.
    let plain = match symbol.find('.') {
        Some(at) if at > 0 => &symbol[..at],
        _ => symbol,
    };
    let options =
        DemangleOptions::new().no_params().no_return_type().hide_expression_literal_types();
    let mangled = Symbol::new(plain).ok().filter(|_| plain.starts_with("_Z"));
    match mangled.and_then(|name| name.demangle_with_options(&options).ok()) {
        Some(name) => without_parameters(&name),
        None => plain.split('@').next().unwrap_or(plain).to_owned(),
    }
}

/// Cuts what stands in angle brackets, except operators and the trait of a Rust method.
fn without_parameters(name: &str) -> String {
    let mut short = String::with_capacity(name.len());
    let (mut depth, mut rest) = (0_usize, name);
    while let Some(letter) = rest.chars().next() {
        let operators = ["operator<=>", "operator<<", "operator->", "operator<", "operator>"];
        let operator = operators.iter().find(|one| depth == 0 && rest.starts_with(**one));
        if let Some(operator) = operator {
            // `operator< <…>` has a space between.
            short.push_str(operator);
            rest = &rest[operator.len()..];
            continue;
        }
        // A Rust method: `<type as trait>::name`.
        let opens = letter == '<' && !short.is_empty();
        match letter {
            '<' if opens || depth > 0 => depth += 1,
            '>' if depth > 0 => depth -= 1,
            _ if depth == 0 => short.push(letter),
            _ => {}
        }
        rest = &rest[letter.len_utf8()..];
    }
    let short = short.trim().replace("::::", "::");
    if short.is_empty() { name.to_owned() } else { short }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(symbol: &str, expected: &str) {
        assert_eq!(shortened(symbol), expected);
    }

    #[test]
    fn names_are_those_of_the_source() {
        check("main", "main");
        check("memcpy@@GLIBC_2.14", "memcpy");
        check("ExecScan.cold", "ExecScan");
        check("exec_simple_query.part.0", "exec_simple_query");
        check("_ZN11ha_innobase10index_readEPhPKhj16ha_rkey_function", "ha_innobase::index_read");
        check("_ZN4JOIN8optimizeEv.cold", "JOIN::optimize");
        check("_Z10mtr_commitP5mtr_t", "mtr_commit");
        check("_ZNSt6vectorIiSaIiEE9push_backERKi", "std::vector::push_back");
        check("_ZN3fooltERKS_", "foo::operator<");
        check("_ZN3foolsERKS_", "foo::operator<<");
        check("_ZN12_GLOBAL__N_13fooEv", "(anonymous namespace)::foo");
        check("_ZN4core3fmt5write17h0123456789abcdefE", "core::fmt::write");
        check("_Znot_a_name", "_Znot_a_name");
    }

    #[test]
    fn parameters_are_cut_and_operators_stay() {
        let check = |name: &str, expected: &str| assert_eq!(without_parameters(name), expected);
        check("a<b<c>, d>::e<f>", "a::e");
        check("x::operator-><int>", "x::operator->");
        check(
            "<alloc::vec::Vec<T> as core::ops::Drop>::drop",
            "<alloc::vec::Vec as core::ops::Drop>::drop",
        );
    }
}
