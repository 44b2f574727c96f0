//! Profiles: stacks of calls of two variants, for programs that draw them. One file for each
//! format.

mod firefox;
mod folded;
mod pprof;
mod speedscope;

use crate::explained::unit;
use analysis::explained::Stack;
use model::explanation::Quantity;

/// Stacks of calls with what an operation costs in them.
#[derive(Debug, Clone)]
pub struct Profile {
    /// The workload.
    pub phase: String,
    /// The base and a variant.
    pub variants: [String; 2],
    /// What the costs are.
    pub by: Quantity,
    /// Equal stacks of both are one.
    pub stacks: Vec<Stack>,
}

/// One format.
pub struct ProfileFormat {
    /// Name: the file's stem.
    pub name: &'static str,
    /// One line.
    pub help: &'static str,
    /// The bytes of a file in this format; an error is one sentence.
    pub bytes: fn(&Profile) -> Result<Vec<u8>, String>,
}

/// All formats, in the order of their names.
pub const PROFILES: &[ProfileFormat] =
    &[firefox::FORMAT, folded::FORMAT, pprof::FORMAT, speedscope::FORMAT];

/// The format with this name.
pub fn find(name: &str) -> Option<&'static ProfileFormat> {
    PROFILES.iter().find(|format| format.name == name)
}

/// A file of JSON, in which names from elsewhere steer no terminal.
fn json(file: &impl serde::Serialize) -> Result<Vec<u8>, String> {
    let text = serde_json::to_string(file);
    let text = text.map_err(|error| format!("a profile has no JSON form: {error}"))?;
    Ok(model::escape::json(&text).into_bytes())
}

/// What the track of a variant shows.
fn track(profile: &Profile, variant: &str) -> String {
    format!("{variant}: {} per operation", unit(profile.by))
}

/// Whole numbers of parts that add up to their rounded sum, so that many small parts are not lost.
fn rounded(parts: impl Iterator<Item = f64>) -> impl Iterator<Item = i64> {
    let (mut exact, mut given) = (0.0, 0);
    parts.map(move |part| {
        exact += part;
        let whole = exact.round() as i64 - given;
        given += whole;
        whole
    })
}

/// What profiles are of, in tests.
#[cfg(test)]
fn sample() -> Profile {
    let stack = |path: &str, costs| Stack { path: path.to_owned(), costs };
    Profile {
        phase: "point-query".to_owned(),
        variants: ["old <1>".to_owned(), "new".to_owned()],
        by: Quantity::Instructions,
        stacks: vec![
            stack("main", [10.4, 10.4]),
            stack("main;parse", [0.3, 20.3]),
            stack("main;parse;\"lex\"", [100.3, 0.0]),
        ],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounded_parts_add_up() {
        let parts = [0.3, 0.3, 0.3, 1.2, 0.0];
        assert_eq!(rounded(parts.into_iter()).collect::<Vec<_>>(), [0, 1, 0, 1, 0]);
    }

    #[test]
    fn a_profile_without_stacks_is_a_file_too() {
        for format in PROFILES {
            let empty = Profile { stacks: Vec::new(), ..sample() };
            assert!((format.bytes)(&empty).is_ok(), "{}", format.name);
        }
    }
}
