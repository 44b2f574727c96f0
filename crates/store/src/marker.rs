//! The marker of a complete record: how many lines it has, and the sums of its files.

use crate::{Error, Result, layout, sums, sums::Sums};
use std::path::Path;

/// What the marker of a record promises.
#[derive(Debug)]
pub(crate) struct Marker {
    /// Lines of slices or of imported values.
    pub(crate) count: usize,
    /// Absent in records of format 1.
    pub(crate) sums: Option<Sums>,
}

/// Marks the record in `dir` as complete: the last file that is written.
pub(crate) fn write(dir: &Path, what: &str, count: u64) -> Result<()> {
    let sums = Sums::of_folder(dir)?;
    let text = format!("{what} = {count}\n{}", sums.text());
    layout::write_whole(&dir.join(layout::COMPLETE), text.as_bytes())
}

/// The marker of the record in `dir`; `None` for one that is not complete.
pub(crate) fn read(dir: &Path) -> Result<Option<Marker>> {
    let path = dir.join(layout::COMPLETE);
    match sums::read(&path) {
        Ok(bytes) => match std::str::from_utf8(&bytes).ok().and_then(parse) {
            Some(marker) => Ok(Some(marker)),
            None => Err(Error::Changed { path }),
        },
        Err(Error::Io(error)) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn parse(text: &str) -> Option<Marker> {
    let (head, rest) = text.split_once('\n')?;
    let (what, count) = head.split_once(" = ")?;
    let sums = match rest {
        "" => None,
        rest => Some(Sums::parse(rest)?),
    };
    let count = ["slices", "values"].contains(&what).then(|| count.parse().ok())??;
    Some(Marker { count, sums })
}
