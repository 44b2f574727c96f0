//! A file with code, and the file with what was stripped from it.

use crate::{Result, names::shortened, symbols::Symbols};
use addr2line::Loader;
use fs_err as fs;
use object::{Object, ObjectSection, read::elf::ElfFile64};
use std::{
    cell::OnceCell,
    fmt,
    path::{Path, PathBuf},
    rc::Rc,
};

/// Where packages of debug symbols (`NAME-dbgsym`, `NAME-dbg`) put them, by build ID.
const DEBUG: &str = "/usr/lib/debug/.build-id";

/// A file with code.
#[derive(Default)]
pub(crate) struct Binary {
    /// None where it is no ELF file.
    pub(crate) symbols: Option<Symbols>,
    /// The file with debug information, if there is one.
    debug: Option<PathBuf>,
    /// What it says, read when it is first asked for.
    lines: OnceCell<Option<Loader>>,
}

impl Binary {
    /// Reads a file, and the one with its debug symbols if this host has it.
    pub(crate) fn read(path: &Path) -> Result<Self> {
        Self::read_with(path, Path::new(DEBUG))
    }

    fn read_with(path: &Path, debug: &Path) -> Result<Self> {
        let bytes = fs::read(path)?;
        let Ok(file) = ElfFile64::<'_>::parse(&*bytes) else { return Ok(Self::default()) };
        let stripped = debug_file(&file, debug).filter(|file| file.is_file());
        let more = stripped.as_ref().and_then(|file| fs::read(file).ok());
        // A file of debug symbols may have no lines, and a file with lines needs no other.
        let has_lines = |bytes: &[u8]| {
            let parsed = ElfFile64::<'_>::parse(bytes);
            parsed.is_ok_and(|file: ElfFile64<'_>| {
                let found = file.section_by_name(".debug_info");
                found.is_some_and(|section| section.size() > 0)
            })
        };
        let debug = match (&more, stripped) {
            _ if has_lines(&bytes) => Some(path.to_owned()),
            (Some(more), Some(file)) if has_lines(more) => Some(file),
            _ => None,
        };
        let symbols = Symbols::read(&bytes, more.as_deref());
        Ok(Self { symbols, debug, lines: OnceCell::new() })
    }

    /// The functions that were inlined at an address of the file, each within the one before.
    pub(crate) fn inlined(&self, address: u64) -> Vec<Rc<str>> {
        let lines = self.lines.get_or_init(|| Loader::new(self.debug.as_ref()?).ok());
        let Some(mut found) = lines.as_ref().and_then(|lines| lines.find_frames(address).ok())
        else {
            return Vec::new();
        };
        let mut names = Vec::new();
        while let Ok(Some(frame)) = found.next() {
            let name = frame.function.as_ref().and_then(|function| function.raw_name().ok());
            names.push(name.map_or_else(|| "[inlined]".into(), |name| shortened(&name).into()));
        }
        // The last is the function itself.
        names.pop();
        names.reverse();
        names
    }
}

impl fmt::Debug for Binary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Binary").field("symbols", &self.symbols).finish_non_exhaustive()
    }
}

/// Where the debug symbols of a file would be.
fn debug_file(file: &ElfFile64<'_>, debug: &Path) -> Option<PathBuf> {
    let id = file.build_id().ok()??;
    let digits = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let (first, rest) = id.split_first()?;
    Some(debug.join(digits(&[*first])).join(format!("{}.debug", digits(rest))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    fn done(command: &mut Command) {
        let output = command.output().unwrap();
        assert!(output.status.success(), "{output:?}");
    }

    #[test]
    fn what_was_stripped_is_found_by_build_id() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let text = "__attribute__((always_inline))\n\
                    static inline int twice(volatile int *n) { return *n * 2; }\n\
                    __attribute__((noinline))\n\
                    static int hidden(volatile int *n) { return twice(n) + *n; }\n\
                    int main(int n, char **v) { (void)v; return hidden(&n); }\n";
        fs::write(path("a.c"), text).unwrap();
        let build = ["-O1", "-g", "-Wl,--build-id", "-o"];
        done(Command::new("cc").args(build).arg(path("a")).arg(path("a.c")));
        let whole = Binary::read_with(&path("a"), folder.path()).unwrap();
        let bytes = fs::read(path("a")).unwrap();
        let kept = debug_file(&ElfFile64::parse(&*bytes).unwrap(), folder.path()).unwrap();
        fs::create_dir_all(kept.parent().unwrap()).unwrap();
        done(Command::new("strip").arg("-o").arg(path("b")).arg(path("a")));
        let hidden = |binary: &Binary| binary.symbols.as_ref().unwrap().function("hidden");
        let bare = Binary::read_with(&path("b"), folder.path()).unwrap();
        assert_eq!((hidden(&bare), bare.debug.is_none()), (None, true));
        done(Command::new("objcopy").arg("--only-keep-debug").arg(path("a")).arg(&kept));
        let found = Binary::read_with(&path("b"), folder.path()).unwrap();
        let start = hidden(&found).unwrap();
        assert_eq!(hidden(&whole), Some(start));
        for binary in [&whole, &found] {
            let inlined = (start..start + 16).map(|address| binary.inlined(address));
            let inlined: Vec<Vec<Rc<str>>> = inlined.collect();
            assert!(inlined.contains(&vec!["twice".into()]), "{inlined:?}");
            assert!(inlined.contains(&Vec::new()), "{inlined:?}");
        }
        assert!(Binary::read_with(&path("a.c"), folder.path()).unwrap().symbols.is_none());
    }
}
