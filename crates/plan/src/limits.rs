//! The bounds of what an experiment may ask for: beyond them nothing can be measured.

use crate::{
    error::{Error, Location},
    explain::shown,
};
use model::number::counted;

/// Largest count of blocks, rounds and the like: far beyond use, and small enough to plan at once.
pub(crate) const COUNT_MAX: u64 = 10_000;
/// Largest number of rows in all tables together.
pub(crate) const ROWS_MAX: u64 = 1_000_000_000_000;
/// Slices of a plan, at most: years of measuring, and their orders take half a gigabyte.
const SLICES_MAX: u64 = 5_000_000;
/// Operations per row that age tables, at most: a hundred leave nothing of a load.
pub(crate) const AGE_MAX: f64 = 100.0;
/// Longest stretch, seconds: a week.
pub(crate) const SECONDS_MAX: f64 = 604_800.0;
/// Operations per second that no host executes more of.
const RATE_MAX: f64 = 1e7;
/// Operations per second that no connection executes more of: one in a microsecond.
const CONNECTION_RATE_MAX: f64 = 1e6;
/// Connections of one phase, at most: beyond this nothing on one machine is measured.
pub(crate) const CONNECTIONS_MAX: i64 = 65_536;
/// Longest name of anything that becomes a folder, a column or a row of a table, bytes.
pub const NAME_MAX: usize = 128;

/// A rate at which connections are to start operations.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rate {
    /// Operations per second over all connections.
    pub(crate) per_second: f64,
    pub(crate) connections: u32,
    /// Length of a slice, seconds; 0 where it is not known.
    pub(crate) seconds: f64,
}

impl Rate {
    /// Refuses what no host can do, and what gives a slice nothing to do. `who` asks for it.
    pub(crate) fn check(self, who: &str) -> Result<(), Error> {
        let Self { per_second, connections, seconds } = self;
        let asks = format!("{who} asks for {per_second} operations per second");
        let reason = if !(per_second > 0.0 && per_second.is_finite()) {
            format!("{asks}; the rate must be above 0")
        } else if per_second > RATE_MAX {
            format!("{asks}; no host executes more than {RATE_MAX}: lower `per_second`")
        } else if per_second > CONNECTION_RATE_MAX * f64::from(connections) {
            let clients = (per_second / CONNECTION_RATE_MAX).ceil();
            format!(
                "{asks} of {}; one client executes at most {CONNECTION_RATE_MAX}: use at least \
                 {clients} clients",
                counted(connections, "client")
            )
        } else if seconds > 0.0 && per_second * seconds < 1.0 {
            format!("{asks}, which is less than one in a slice of {seconds} s: raise the rate")
        } else {
            return Ok(());
        };
        Err(Error::Invalid { place: Location::default(), reason })
    }
}

/// Refuses more slices than can be ordered.
pub(crate) fn check_slices(blocks: u64, of_block: u64, subjects: u64) -> Result<(), Error> {
    let slices = blocks.saturating_mul(of_block).saturating_mul(subjects);
    if slices <= SLICES_MAX {
        return Ok(());
    }
    let reason = format!(
        "{blocks} blocks with {of_block} rounds of all phases on {subjects} variants are {slices} \
         slices, and at most {SLICES_MAX} can be planned: lower `blocks` or `rounds`"
    );
    Err(Error::Invalid { place: Location::default(), reason })
}

/// Names become folders, columns and rows of tables.
pub(crate) fn check_name(what: &str, name: &str) -> Result<(), Error> {
    if name.chars().any(char::is_control) {
        let reason =
            format!("the name of a {what}, `{}`, has a control character", name.escape_default());
        return Err(Error::Invalid { place: Location::default(), reason });
    }
    if name.len() <= NAME_MAX {
        return Ok(());
    }
    let reason = format!(
        "the name of a {what}, `{}`, has {} bytes; use at most {NAME_MAX}",
        shown(name),
        name.len()
    );
    Err(Error::Invalid { place: Location::default(), reason })
}

/// Names of builds become names of folders and columns.
pub(crate) fn check_server_name(name: &str) -> Result<(), Error> {
    let good = |byte: u8| byte.is_ascii_alphanumeric() || b"._+-".contains(&byte);
    check_name("server", name)?;
    if name.contains('@') {
        let reason = format!(
            "`{name}` reads as a version of a product, and `[servers]` describes builds: use a \
             name without `@`, or leave the table out and name the version in `factors.build`"
        );
        return Err(Error::Invalid { place: Location::default(), reason });
    }
    if !name.is_empty() && !name.starts_with(['.', '-']) && name.bytes().all(good) {
        return Ok(());
    }
    let reason = format!(
        "`{name}` cannot name a server; use letters, digits and `._+-`, none of `.-` first"
    );
    Err(Error::Invalid { place: Location::default(), reason })
}
