//! The kernel's trace events, by which the tests count syncs of files.

use super::succeeds;
use crate::say;
use std::path::Path;

const FOLDER: &str = "/sys/kernel/tracing";

/// Mounts them where they are not there. A kernel without them, or a user who may not, is no reason
/// to test nothing: the tests that need them say that they are skipped.
pub(super) fn provide() {
    let is_there = || Path::new(FOLDER).join("events").is_dir();
    if !is_there() {
        succeeds("mount", &["-t", "tracefs", "tracefs", FOLDER]);
    }
    say(match is_there() {
        true => "trace events: they are there",
        false => "trace events: this kernel or user has none, so that tests of syncs are skipped",
    });
}
