//! The compilers of this host: found by name, asked who they are.

use super::Order;
use crate::{CompileError, Error, Places, Result, client};
use std::path::{Path, PathBuf};

/// Where programs are looked for: not in the caller's own folders.
pub(super) const PATH: &str = "/usr/local/bin:/usr/bin:/bin";
/// C compilers in the order in which they are taken.
const USUAL: [&str; 3] = ["gcc", "clang", "cc"];
/// The C++ compiler of the family of a C compiler.
const FAMILIES: [(&str, &str); 3] = [("clang", "clang++"), ("gcc", "g++"), ("cc", "c++")];

/// The compilers of a build.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Compilers {
    /// The C compiler.
    pub(super) cc: PathBuf,
    /// The C++ compiler, for products that need one.
    pub(super) cxx: Option<PathBuf>,
    /// What the C compiler says about itself, or both do.
    pub(super) identity: String,
}

impl Compilers {
    /// Those that an order names, by path. Executes nothing.
    pub(super) fn named(order: &Order) -> Result<Self> {
        let missing =
            |name: &str| Error::Compile(CompileError::NoCompiler { name: name.to_owned() });
        let cc = match order.compiler.as_str() {
            "" => USUAL.iter().find_map(|name| program(name)).ok_or_else(|| missing(USUAL[0]))?,
            name => program(name).ok_or_else(|| missing(name))?,
        };
        let cxx = match order.needs_cxx() {
            true => Some(partner(&cc).ok_or_else(|| missing(&partner_name(&cc)))?),
            false => None,
        };
        Ok(Self { cc, cxx, identity: String::new() })
    }

    /// The same with what they say.
    pub(super) fn find(order: &Order, places: &Places) -> Result<Self> {
        let mut found = Self::named(order)?;
        let mut said = Vec::new();
        for compiler in [Some(&found.cc), found.cxx.as_ref()].into_iter().flatten() {
            let words = [compiler.display().to_string(), "--version".to_owned()];
            let answer = client::ask(&words, &[], places.user).map_err(|error| {
                let reason = format!(
                    "the compiler `{}` cannot be executed: {error}; name one that the user of the \
                     servers may execute",
                    compiler.display()
                );
                Error::Compile(CompileError::Recipe { server: order.server.clone(), reason })
            })?;
            let line = answer.text.lines().next().unwrap_or_default().trim().to_owned();
            if line.is_empty() {
                return Err(Error::Compile(CompileError::NoCompiler {
                    name: compiler.display().to_string(),
                }));
            }
            said.push(line);
        }
        found.identity = said.join("; ");
        Ok(found)
    }
}

/// The program of a name, or at a path, if there is one.
pub(super) fn program(name: &str) -> Option<PathBuf> {
    let is_program = |path: &PathBuf| path.is_file();
    if name.starts_with('/') {
        return Some(PathBuf::from(name)).filter(is_program);
    }
    if name.is_empty() || name.contains('/') {
        return None;
    }
    PATH.split(':').map(|folder| Path::new(folder).join(name)).find(is_program)
}

/// The C++ compiler beside a C compiler.
fn partner(cc: &Path) -> Option<PathBuf> {
    let path = cc.with_file_name(partner_name(cc));
    path.is_file().then_some(path)
}

/// `gcc-12` has `g++-12`, `x86_64-linux-gnu-gcc` has `x86_64-linux-gnu-g++`.
fn partner_name(cc: &Path) -> String {
    let name = cc.file_name().unwrap_or_default().to_string_lossy();
    let family = FAMILIES.iter().find_map(|(c, cxx)| Some((name.rfind(c)?, *c, *cxx)));
    match family {
        Some((at, c, cxx)) => format!("{}{cxx}{}", &name[..at], &name[at + c.len()..]),
        None => format!("{name}++"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_compiler_of_cxx_is_of_the_same_family_and_version() {
        let check = |cc: &str, expected: &str| assert_eq!(partner_name(Path::new(cc)), expected);
        check("/usr/bin/gcc", "g++");
        check("/usr/bin/gcc-12", "g++-12");
        check("/usr/bin/clang-16", "clang++-16");
        check("/usr/bin/x86_64-linux-gnu-gcc", "x86_64-linux-gnu-g++");
        check("/usr/bin/cc", "c++");
        check("/opt/icx", "icx++");
    }

    #[test]
    fn a_program_is_a_name_or_a_whole_path() {
        assert!(program("sh").is_some());
        assert!(program("/bin/sh").is_some());
        for name in ["", "no-such-program", "bin/sh", "../bin/sh", "/no/such/program", "/bin"] {
            assert_eq!(program(name), None, "{name}");
        }
    }
}
