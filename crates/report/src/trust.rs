//! What the ratios of a comparison may be taken for, in sentences.

use crate::words::{THROUGHPUT, symbol};
use analysis::{BankSource, Cell, Comparison, FEWEST_BLOCKS, PhaseResult, Verdict};
use model::{
    margins::{self, Margins, Quantity},
    metric::{Kind, Metric, Part, Table},
    number::counted,
};
use std::collections::BTreeSet;
use values::civil::Civil;

/// What the ratios may be taken for, a sentence each: what readers need before them, and how they
/// were found.
pub(crate) fn all(comparison: &Comparison) -> Vec<String> {
    [before_ratios(comparison, &|_| true), behind_ratios(comparison)].concat()
}

/// What was compared, what the signs of the metrics that are shown mean, and what is not decided.
pub(crate) fn before_ratios(
    comparison: &Comparison,
    shown: &dyn Fn(&Metric) -> bool,
) -> Vec<String> {
    let mut said = comparison.conditions.clone();
    said.extend(verdicts(comparison, shown));
    said
}

/// The method behind intervals and verdicts.
pub(crate) fn behind_ratios(comparison: &Comparison) -> Vec<String> {
    let mut said = method(comparison);
    said.extend(of_device(comparison));
    said.extend(comparison.bank.as_ref().map(bank));
    said
}

/// The legend of [`words::symbol`], in its order.
const SIGNS: [(Verdict, &str); 10] = [
    (Verdict::Regression, "worse by more than the margin"),
    (Verdict::Improvement, "better by more than the margin"),
    (Verdict::Worse, "worse by an open size"),
    (Verdict::Better, "better by an open size"),
    (Verdict::SmallChange, "small change (within the margin)"),
    (Verdict::Equivalent, "equivalent (within the margin)"),
    (Verdict::CodeCost, "more instructions per operation"),
    (Verdict::Inconclusive, "inconclusive"),
    (Verdict::Invalid, "not judged, because the host was disturbed"),
    (Verdict::Unreplicated, "one block"),
];

/// What the signs of these metrics mean in a comparison; nothing where there are none.
fn signs(comparison: &Comparison, shown: &dyn Fn(&Metric) -> bool) -> Option<String> {
    let cells = comparison.phases.iter().flat_map(|phase| &phase.cells);
    let cells: Vec<&Cell> =
        cells.filter(|cell| cell.ratio.is_some() && shown(cell.metric)).collect();
    let shows = |verdict: Verdict| cells.iter().any(|cell| cell.verdict == verdict);
    let shown = SIGNS.iter().filter(|(verdict, _)| shows(*verdict));
    let said: Vec<String> =
        shown.map(|(verdict, words)| format!("{} {words}", symbol(*verdict))).collect();
    (!said.is_empty()).then(|| format!("Signs: {}.", said.join(", ")))
}

/// How intervals and verdicts came about, for readers who must know what they may be taken for: a
/// sentence each. Nothing if no cell has an interval.
fn method(comparison: &Comparison) -> Vec<String> {
    let cells = comparison.phases.iter().flat_map(|phase| &phase.cells);
    let blocks = cells.filter(|cell| cell.interval.is_some()).map(|cell| cell.blocks).max();
    let confidence = percent(analysis::CONFIDENCE);
    let looks = match comparison.looks.is_empty() {
        true => "",
        false => ", all looks at the growing data included",
    };
    let sentences = |blocks: u32| {
        let means = format!(
            "Geometric means over up to {}{}; {confidence} % intervals (Student's t, paired by \
             block). Margins: {}.",
            counted(blocks as usize, "block"),
            arithmetic_ones(comparison),
            margins(&comparison.margins)
        );
        let errors = match blocks < FEWEST_BLOCKS {
            true => Some(format!("Verdicts take {FEWEST_BLOCKS} blocks or more.")),
            false => error_rates(comparison).map(|rates| {
                format!("False positives per variant, over all tests: at most {rates}{looks}.")
            }),
        };
        [means].into_iter().chain(errors).collect()
    };
    blocks.map(sentences).unwrap_or_default()
}

/// Which shown costs have arithmetic means, because they are zero in some slice.
fn arithmetic_ones(comparison: &Comparison) -> String {
    let cells = comparison.phases.iter().flat_map(|phase| &phase.cells);
    let is_one = |cell: &&Cell| {
        let has_mean = cell.blocks > 1 && cell.ratio.is_some() && cell.interval.is_none();
        has_mean && cell.metric.table.is_some()
    };
    let titles: BTreeSet<&str> = cells.filter(is_one).map(|cell| cell.metric.title).collect();
    match titles.is_empty() {
        true => String::new(),
        false => {
            let titles: Vec<&str> = titles.into_iter().collect();
            format!(" (arithmetic, because some slices have none: {})", titles.join(", "))
        }
    }
}

/// Whose reads and writes are shown, where a run of our own has any.
fn of_device(comparison: &Comparison) -> Option<String> {
    let mut cells = comparison.phases.iter().flat_map(|phase| &phase.cells);
    let is_shown = |cell: &Cell| {
        (cell.metric.part, cell.metric.table) == (Part::Storage, Some(Table::Storage))
            && cell.value.is_some_and(|value| value > 0.0)
    };
    (!comparison.is_imported && cells.any(is_shown)).then(|| {
        "Reads and writes are those of the data folder's block device, other processes' included."
            .to_owned()
    })
}

/// Share as whole percent.
fn percent(share: f64) -> f64 {
    (share * 100.0).round()
}

/// The error rates of what is tested, by the metrics that share one; none where nothing is.
fn error_rates(comparison: &Comparison) -> Option<String> {
    let cells = comparison.phases.iter().flat_map(|phase| &phase.cells);
    let tested: BTreeSet<Kind> = cells
        .filter(|cell| cell.ratio.is_some() && cell.metric.family.is_some())
        .map(|cell| cell.metric.kind)
        .collect();
    let (error, counts) = (percent(analysis::ERROR_RATE), percent(analysis::COUNT_ERROR_RATE));
    let shared = match (tested.contains(&Kind::Rate), tested.contains(&Kind::CpuTime)) {
        (true, true) => Some("throughput and CPU time together"),
        (true, false) => Some("throughput"),
        (false, true) => Some("CPU time"),
        (false, false) => None,
    };
    let shared = shared.map(|what| format!("{error} % for {what}"));
    let counted = tested.contains(&Kind::UserInstructions);
    let counted = counted.then(|| format!("{counts} % for instructions"));
    let rates: Vec<String> = [shared, counted].into_iter().flatten().collect();
    (!rates.is_empty()).then(|| rates.join(", "))
}

/// The margins in words: `5 % for rates and latency, …`.
fn margins(margins: &Margins) -> String {
    let margin = |quantity: Quantity| {
        let what = match quantity {
            Quantity::Time => "rates and latency",
            Quantity::Cpu => "CPU time",
            Quantity::Instructions => "instructions",
        };
        format!("{} % for {what}", margins::percent(margins.margin(quantity)))
    };
    Quantity::ALL.map(margin).join(", ")
}

/// What is said where nothing is repeated, if anything is compared.
fn unrepeated(comparison: &Comparison) -> Option<String> {
    let cells = comparison.phases.iter().flat_map(|phase| &phase.cells);
    let compared = cells.filter(|cell| cell.ratio.is_some());
    match compared.map(|cell| cell.blocks).max()? {
        0 => Some("No block is shared with a base, so no ratio here is a verdict (marked °)."),
        1 => Some("One block: nothing is repeated, so no ratio here is a verdict (marked °)."),
        _ => None,
    }
    .map(str::to_owned)
}

/// Which earlier runs told of noise.
fn bank(source: &BankSource) -> String {
    let runs = counted(source.runs, "run");
    let day = Civil::of(source.last_us / 1_000_000);
    let date = format!("{}-{:02}-{:02}", day.year, day.month, day.day);
    format!("Tests use the noise of this host class from {runs}, {date}.")
}

/// How verdicts are shown, where there are any.
fn verdicts(comparison: &Comparison, shown: &dyn Fn(&Metric) -> bool) -> Vec<String> {
    if method(comparison).is_empty() {
        return unrepeated(comparison).into_iter().collect();
    }
    let mut said: Vec<String> = signs(comparison, shown).into_iter().collect();
    let cells = comparison.phases.iter().flat_map(|phase| &phase.cells);
    let excludes = |cell: &Cell| {
        shown(cell.metric) && cell.interval.is_some_and(|(low, high)| low > 1.0 || high < 1.0)
    };
    if cells.into_iter().any(|c| c.verdict == Verdict::Inconclusive && excludes(c)) {
        said.push(
            "Verdicts are corrected for the number of tests, intervals are not: a test can be \
             inconclusive although its interval excludes 1."
                .to_owned(),
        );
    }
    said.extend(blocks_to_decide(comparison));
    said
}

/// How many more blocks should decide what is inconclusive of the metric of the answer.
fn blocks_to_decide(comparison: &Comparison) -> Option<String> {
    if comparison.is_unfinished {
        return None;
    }
    let lead = comparison.lead();
    let of_phase = |phase| unsure(phase, lead);
    let unsure: Vec<&Cell> = comparison.phases.iter().flat_map(of_phase).collect();
    let need = |cell: &&Cell| Some((analysis::blocks_to_decide(cell)?, cell.blocks));
    let mut needs: Vec<Option<(u32, u32)>> = unsure.iter().map(need).collect();
    // Those that no number of blocks decides come last.
    needs.sort_by_key(|need| need.unwrap_or((u32::MAX, 0)));
    let (least, most) = (*needs.first()?, *needs.last()?);
    let of = match lead.name {
        _ if lead.kind.is_instructions() => "instruction count",
        THROUGHPUT => "rate",
        _ => return None,
    };
    let rates = counted(needs.len(), of);
    if comparison.is_imported {
        return Some(repetitions_to_decide(&rates, least));
    }
    let Some((least_blocks, blocks)) = least else {
        let most = unsure.iter().map(|cell| analysis::most_blocks(cell)).max();
        let most = most.unwrap_or(analysis::MOST_BLOCKS);
        let them = if needs.len() == 1 { "it" } else { "them" };
        let seen = unsure.into_iter().filter_map(analysis::detectable).reduce(f64::max);
        let seen = seen.map(|least| {
            let percent = (least - 1.0) * 100.0;
            format!("; these show changes from {percent:.1} % on, longer slices smaller ones")
        });
        let seen = seen.unwrap_or_default();
        return Some(format!("{rates} undecided; even {most} blocks may not decide {them}{seen}."));
    };
    let them = match (needs.len(), most) {
        (1, _) => "it".to_owned(),
        (_, Some((most, _))) if most == least_blocks => "them".to_owned(),
        (_, Some((most, _))) => format!("the clearest, and with about {most} all of them"),
        (_, None) => "the clearest".to_owned(),
    };
    let total = most.map_or(least_blocks, |(most, _)| most);
    // Blocks of which a disturbance left nothing.
    let cells = comparison.phases.iter().flat_map(|phase| &phase.cells);
    let measured = cells.map(|cell| cell.by_block.len()).max().unwrap_or(0);
    let lost = measured.saturating_sub(blocks as usize);
    let after = match lost {
        0 => counted(blocks as usize, "block"),
        _ => format!("{blocks} of {} ({lost} lost to disturbances)", counted(measured, "block")),
    };
    let total = total as usize + lost;
    Some(format!(
        "{rates} undecided after {after}; about {least_blocks} should decide {them} \
         (`--set blocks={total}`).",
    ))
}

/// The cells of a metric that are not decided. Where hosts disagree, other hosts would decide, and
/// not more blocks of these.
fn unsure<'a>(phase: &'a PhaseResult, lead: &Metric) -> Vec<&'a Cell> {
    let is_unsure = |cell: &&Cell| {
        let is_open = cell.verdict.is_assessed() && !cell.verdict.is_decided();
        cell.metric.name == lead.name && is_open && !phase.is_by_host(cell)
    };
    phase.cells.iter().filter(is_unsure).collect()
}

/// The same of an archive: who measured it can repeat it.
fn repetitions_to_decide(rates: &str, least: Option<(u32, u32)>) -> String {
    let fewest = analysis::FEWEST_BLOCKS;
    match least {
        Some((_, had)) if had < fewest => format!(
            "{rates} undecided after {}; verdicts need {fewest} of each variant: run the tests \
             again, and import all files together.",
            counted(had as usize, "repetition"),
        ),
        Some((needed, had)) => format!(
            "{rates} undecided after {}; about {needed} of each variant should decide the \
             clearest: run the tests again, and import all files together.",
            counted(had as usize, "repetition"),
        ),
        None => format!("{rates} undecided; more repetitions may not decide them."),
    }
}
