//! Hosts as a random factor: where blocks of one host agree with each other and not with those of
//! another host, many blocks of few hosts say little about hosts of this kind.
//!
//! One-way analysis of variance of the logarithms of the blocks' ratios, in each cell.

use crate::{
    claim::least_deviation,
    comparison::{Cell, PhaseResult},
    drift::squares,
    verdict::Verdict,
};
use model::{margins::Quantity, shared::Name};
use statrs::distribution::{ContinuousCDF as _, FisherSnedecor};
use std::collections::BTreeMap;

/// Chance with which hosts that agree in all cells are said to disagree in one.
const FALSE_ALARM: f64 = 0.01;

/// The logarithms of a cell's ratios by host.
type ByHost<'a> = BTreeMap<&'a str, Vec<f64>>;

/// A cell in which hosts may disagree.
struct Suspect<'a> {
    phase: usize,
    cell: usize,
    hosts: ByHost<'a>,
    parts: Parts,
}

/// What the spread of blocks is made of.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Parts {
    /// Standard deviation between hosts.
    between: f64,
    /// Standard deviation of the blocks of one host.
    within: f64,
    /// p value of hosts without any difference.
    chance: f64,
}

/// Makes each host one block of the cells in which hosts disagree; one sentence for each variant
/// and metric of which some do. `hosts` has the host of each block of the comparison, in order.
pub(crate) fn tell(phases: &mut [PhaseResult], hosts: &[&str]) -> Vec<String> {
    let mut suspects: Vec<Suspect<'_>> = suspects(phases, hosts);
    let limit = FALSE_ALARM / suspects.len().max(1) as f64;
    // What counts of instructions differ by in their last digits matters to nobody.
    let floor = |suspect: &Suspect<'_>| {
        let cell = &phases[suspect.phase].cells[suspect.cell];
        Quantity::of(cell.metric).map_or(f64::INFINITY, least_deviation)
    };
    suspects.retain(|one| one.parts.chance <= limit && one.parts.between > floor(one));
    let mut told: BTreeMap<(Name, &str), Vec<&Suspect<'_>>> = BTreeMap::new();
    for suspect in &suspects {
        let cell = &mut phases[suspect.phase].cells[suspect.cell];
        let means = suspect.hosts.values().map(|logs| mean(logs).exp());
        cell.block_ratios = means.collect();
        cell.blocks = suspect.hosts.len() as u32;
        cell.ratio = crate::mean::geometric_mean(&cell.block_ratios);
        told.entry((cell.subject.clone(), cell.metric.title)).or_default().push(suspect);
    }
    told.into_iter().map(|(key, found)| sentence(key, &found, phases)).collect()
}

/// All cells that can be tested.
fn suspects<'a>(phases: &[PhaseResult], hosts: &[&'a str]) -> Vec<Suspect<'a>> {
    let mut found = Vec::new();
    for (phase, result) in phases.iter().enumerate() {
        for (index, cell) in result.cells.iter().enumerate() {
            let Some(hosts) = by_host(result, cell, hosts) else { continue };
            let Some(parts) = Parts::of(&hosts) else { continue };
            found.push(Suspect { phase, cell: index, hosts, parts });
        }
    }
    found
}

/// The ratios of a cell that is to be judged.
fn by_host<'a>(phase: &PhaseResult, cell: &Cell, hosts: &[&'a str]) -> Option<ByHost<'a>> {
    let is_judged = cell.verdict == Verdict::Unassessed && Quantity::of(cell.metric).is_some();
    let blocks = phase.blocks_of_ratios(cell).filter(|_| is_judged)?;
    let mut found = ByHost::new();
    for (block, ratio) in blocks.into_iter().zip(&cell.block_ratios) {
        found.entry(*hosts.get(block)?).or_default().push(ratio.ln());
    }
    (found.len() > 1).then_some(found)
}

impl Parts {
    /// None where no host has two blocks.
    fn of(hosts: &ByHost<'_>) -> Option<Self> {
        let sizes: Vec<f64> = hosts.values().map(|logs| logs.len() as f64).collect();
        let count: f64 = sizes.iter().sum();
        let freedom = [hosts.len() as f64 - 1.0, count - hosts.len() as f64];
        let all: Vec<f64> = hosts.values().flatten().copied().collect();
        let centre = mean(&all);
        let between: f64 =
            hosts.values().map(|logs| logs.len() as f64 * (mean(logs) - centre).powi(2)).sum();
        let within: f64 = hosts.values().map(|logs| squares(logs, mean(logs))).sum();
        let [between, within] = [between / freedom[0], within / freedom[1]];
        let known = FisherSnedecor::new(freedom[0], freedom[1]).ok()?;
        let ratio = between / within;
        let chance = if ratio.is_finite() { known.sf(ratio) } else { 0.0 };
        // Blocks of each host, where hosts have different numbers of them.
        let size = (count - sizes.iter().map(|size| size * size).sum::<f64>() / count) / freedom[0];
        let variance = ((between - within) / size).max(0.0);
        Some(Self { between: variance.sqrt(), within: within.sqrt(), chance })
    }
}

fn mean(logs: &[f64]) -> f64 {
    logs.iter().sum::<f64>() / logs.len() as f64
}

/// Of the test in which hosts disagree most.
fn sentence(
    (subject, title): (Name, &str),
    found: &[&Suspect<'_>],
    phases: &[PhaseResult],
) -> String {
    let wider = |one: &&&Suspect<'_>, other: &&&Suspect<'_>| {
        one.parts.between.total_cmp(&other.parts.between)
    };
    let Some(most) = found.iter().max_by(wider) else { return String::new() };
    let ratios: Vec<String> = most
        .hosts
        .iter()
        .map(|(host, logs)| format!("`{host}` {:.2}x", mean(logs).exp()))
        .collect();
    let more = match found.len() - 1 {
        0 => String::new(),
        others => format!(" and {others} more"),
    };
    format!(
        "the hosts disagree in {title} of `{subject}` (`{}`{more}): {}; standard deviation {:.1} % \
         between hosts, {:.1} % between the blocks of one; there each host counts as one block",
        phases[most.phase].phase,
        ratios.join(", "),
        100.0 * most.parts.between,
        100.0 * most.parts.within,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    /// A comparison with these ratios of blocks.
    fn phases(ratios: &[f64]) -> Vec<PhaseResult> {
        let blocks = vec![Some(1.0); ratios.len()];
        let base = Cell {
            subject: "old".into(),
            base: None,
            verdict: Verdict::Base,
            by_block: blocks.clone(),
            ..testing::cell("ops_per_second", 1.0, 1.0)
        };
        let own = Cell {
            by_block: blocks,
            block_ratios: ratios.to_vec(),
            blocks: ratios.len() as u32,
            verdict: Verdict::Unassessed,
            ..testing::cell("ops_per_second", 1.0, 1.0)
        };
        vec![PhaseResult { cells: vec![base, own], ..testing::phase("scan") }]
    }

    const HOSTS: [&str; 6] = ["a", "b", "a", "b", "a", "b"];

    #[test]
    fn hosts_that_disagree_are_named_and_count_as_one_block_each() {
        let mut found = phases(&[0.80, 1.00, 0.81, 1.01, 0.80, 1.00]);
        let told = tell(&mut found, &HOSTS);
        assert_eq!(
            told,
            ["the hosts disagree in ops of `new` (`scan`): `a` 0.80x, `b` 1.00x; standard \
              deviation 15.7 % between hosts, 0.6 % between the blocks of one; there each host \
              counts as one block"]
        );
        assert_eq!(found[0].cells[1].blocks, 2);
        assert_eq!(found[0].cells[1].block_ratios.len(), 2);
        assert!(found[0].is_by_host(&found[0].cells[1]));
    }

    #[test]
    fn hosts_that_agree_leave_blocks_as_they_are() {
        let ratios = [0.80, 0.82, 0.81, 0.79, 0.82, 0.81];
        let mut found = phases(&ratios);
        assert_eq!(tell(&mut found, &HOSTS), Vec::<String>::new());
        assert_eq!(found[0].cells[1].block_ratios, ratios);
        assert!(!found[0].is_by_host(&found[0].cells[1]));
    }

    /// `scipy.stats.f_oneway([0.1, 0.2, 0.15], [0.3, 0.32, 0.35], [0.2, 0.25, 0.22])`.
    #[test]
    fn the_test_is_that_of_scipy() {
        let hosts = ByHost::from([
            ("a", vec![0.1, 0.2, 0.15]),
            ("b", vec![0.3, 0.32, 0.35]),
            ("c", vec![0.2, 0.25, 0.22]),
        ]);
        let parts = Parts::of(&hosts).unwrap();
        assert!((parts.chance - 0.002_879).abs() < 5e-6, "{parts:?}");
    }

    #[test]
    fn one_block_of_each_host_tells_nothing() {
        let mut found = phases(&[0.8, 1.0]);
        assert!(tell(&mut found, &["a", "b"]).is_empty());
    }
}
