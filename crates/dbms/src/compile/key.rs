//! The name of a compiled build: the hash of everything that it depends on.

use super::{Compilers, Order};
use crate::{CompileError, Error, Result, source::Identity};
use fs_err as fs;
use sha2::{Digest, Sha256};

/// Changes whenever equal inputs no longer mean an equal build.
const FORMAT: u32 = 1;
/// Bytes of the hash in the name.
const BYTES: usize = 6;

const CPUINFO: &str = "/proc/cpuinfo";
/// What tells processors apart for a compiler that looks at the one that it runs on.
const PROCESSOR: [&str; 7] =
    ["vendor_id", "cpu family", "model", "flags", "CPU implementer", "CPU part", "Features"];

/// The name for a tree, the ways of its recipe, the options and the compilers; and for the
/// processor, where code is made for the one of this host: hosts may share a cache.
pub(super) fn of(order: &Order, identity: &Identity, compilers: &Compilers) -> Result<String> {
    let inputs = (
        FORMAT,
        &order.server,
        &identity.hash,
        &order.recipe.ways,
        (&order.set.options, &order.set.configure),
        (&compilers.cc, &compilers.identity),
    );
    let mut text = serde_json::to_vec(&inputs).map_err(|error| {
        Error::Compile(CompileError::Recipe {
            server: order.server.clone(),
            reason: error.to_string(),
        })
    })?;
    let steps = order.recipe.ways.iter().flat_map(|way| way.steps.iter().flatten());
    let words = steps.chain(&order.set.configure).map(String::as_str);
    if is_for_this_processor(words.chain(order.set.options.split_whitespace())) {
        text.extend(processor(&fs::read_to_string(CPUINFO)?).into_bytes());
    }
    let hash = Sha256::digest(&text);
    Ok(hash.iter().take(BYTES).map(|byte| format!("{byte:02x}")).collect())
}

/// Whether any of these words has the compiler look at the processor: `-march=native` and its like.
fn is_for_this_processor<'a>(mut words: impl Iterator<Item = &'a str>) -> bool {
    words.any(|word| word.contains("=native"))
}

/// The first processor of a text of `/proc/cpuinfo`; all are taken to be alike.
fn processor(cpuinfo: &str) -> String {
    let of_first = cpuinfo.lines().take_while(|line| !line.trim().is_empty());
    let lines = of_first.filter(|line| {
        let name = line.split(':').next().unwrap_or_default().trim();
        PROCESSOR.contains(&name)
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_for_the_processor_of_a_host_is_named_by_it() {
        let check = |words: &[&str], expected: bool| {
            assert_eq!(is_for_this_processor(words.iter().copied()), expected, "{words:?}");
        };
        check(&["-O2", "-g1", "-DWITH_LTO=ON"], false);
        check(&["-O2", "-march=x86-64-v3"], false);
        check(&["-O2", "-march=native"], true);
        check(&["CXXFLAGS=-O3 -mtune=native"], true);
    }

    #[test]
    fn a_processor_is_what_compilers_see_of_it_and_not_its_load() {
        let text = |flags: &str, mhz: u32| {
            let one = format!("model : 85\nmodel name : X\ncpu MHz : {mhz}\nflags : {flags}\n");
            format!("processor : 0\n{one}\nprocessor : 1\n{one}")
        };
        let first = processor(&text("fpu avx2", 2000));
        assert_eq!(first, "model : 85\nflags : fpu avx2");
        assert_eq!(processor(&text("fpu avx2", 3000)), first);
        assert_ne!(processor(&text("fpu avx512f", 2000)), first);
    }
}
