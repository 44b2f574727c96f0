//! The text of `dbdyno plan`: blocks, trials and slices in order, and what they will cost.

use crate::estimate::{cache_bytes, largest_bytes};
use model::{
    escape,
    experiment::{Design, FEWEST_BLOCKS},
    plan::{Block, Phase, PhaseKind, Plan},
    schema::Schema,
    script::{End, Role},
    size,
    subject::{START_FACTORS, Subject},
    workload::Mode,
};
use std::fmt::Write;

/// The plan for people. Phases with the same order of subjects share a line.
pub fn render(plan: &Plan) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = head(&mut text, plan);
    let _ = subjects(&mut text, plan);
    let _ = phases(&mut text, plan);
    let _ = blocks(&mut text, plan);
    let _ = estimate(&mut text, plan);
    harmless(&text)
}

/// Names come from files: nothing in them steers a terminal.
fn harmless(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let (line, end) = line.strip_suffix('\n').map_or((line, ""), |line| (line, "\n"));
        out.push_str(&escape::terminal(line));
        out.push_str(end);
    }
    out
}

fn head(text: &mut String, plan: &Plan) -> std::fmt::Result {
    let experiment = &plan.experiment;
    // A question may have several lines in its file; here it has one.
    let question = experiment.question.split_whitespace().collect::<Vec<_>>().join(" ");
    writeln!(text, "{}: {question}", experiment.name)?;
    let design = match (experiment.design, experiment.at_once) {
        (Design::Interleaved, _) => {
            "interleaved, all servers up, alternating slices of fixed work".to_owned()
        }
        (Design::Classic, 1) => "classic, one server at a time, all phases in order".to_owned(),
        (Design::Classic, up) => {
            format!("classic, {up} servers at a time, one of them measured, all phases in order")
        }
    };
    let hash = plan.hash.get(..12).unwrap_or(&plan.hash);
    writeln!(text, "plan {hash}, seed {}, {design}", experiment.seed)?;
    let data: Vec<String> = plan.schemas.iter().map(data).collect();
    let loads = counted(experiment.loads.into(), "load");
    let is_attached = plan.subjects.iter().any(|subject| subject.build.attach.is_some());
    let anew = match is_attached {
        true => "; a server that is there already is loaded in each block",
        false => "",
    };
    writeln!(text, "data: {}, {loads} per subject{anew}", data.join("; "))
}

/// A schema with the number and the size of its tables.
fn data(schema: &Schema) -> String {
    let tables = &schema.tables;
    if tables.is_empty() {
        // What a script makes.
        return format!("{}, {}", schema.name, schema.help);
    }
    let name = &schema.name;
    let count = counted(schema.copies(), "table");
    let mut files = tables.iter().filter_map(|table| table.coded.as_ref()?.dataset.as_ref());
    let from = files.next().map(|file| format!(" from `{}`", file.path.display()));
    let from = from.unwrap_or_default();
    match tables.as_slice() {
        [first, others @ ..] if others.iter().all(|other| other.rows == first.rows) => {
            format!("{name}, {count} of {}{from}", counted(first.rows, "row"))
        }
        _ => {
            // Counts are bounded, so their sum is no rounded number.
            let rows = counted(schema.all_rows() as u64, "row");
            format!("{name}, {count} with {rows} in all")
        }
    }
}

/// A factor that has one level, which no label tells: `memory = 700M`.
fn shared(plan: &Plan, factor: &str) -> Option<String> {
    let mut levels = plan.subjects.iter().map(|subject| subject.levels.get(factor));
    let first = levels.next()?.filter(|level| !level.is_empty())?;
    levels.all(|level| level == Some(first)).then(|| format!("{factor} = {first}"))
}

fn subjects(text: &mut String, plan: &Plan) -> std::fmt::Result {
    writeln!(text, "\nsubjects")?;
    let wide = plan.subjects.iter().map(|subject| subject.label.len()).max().unwrap_or(0);
    let mark = letter(plan.subjects.len().saturating_sub(1)).len();
    for (index, subject) in plan.subjects.iter().enumerate() {
        let config = &subject.config.name;
        let base = match plan.base_of(subject) {
            None => ", base of the comparison".to_owned(),
            Some(base) if plan.base.len() > 1 => {
                let place = plan.subjects.iter().position(|one| one.label == base);
                format!(", compared with {}", place.map(letter).unwrap_or_default())
            }
            Some(_) => String::new(),
        };
        let (label, build) = (&subject.label, own_build(subject));
        let own = letter(index);
        let about = match &subject.build.attach {
            Some(_) => build,
            None => format!("{build}config {config}"),
        };
        writeln!(text, "  {own:mark$}  {label:wide$}  {about}{base}")?;
    }
    let shared: Vec<String> = START_FACTORS.iter().filter_map(|name| shared(plan, name)).collect();
    if !shared.is_empty() {
        writeln!(text, "  all: {}", shared.join(", "))?;
    }
    if plan.subjects.len() == 1 {
        writeln!(text, "  There is only one variant: it is measured, and nothing is compared.")?;
    }
    Ok(())
}

/// Product with version or folder, where the label does not begin with them.
fn own_build(subject: &Subject) -> String {
    let build = &subject.build;
    if let Some(tree) = &build.compilation.tree {
        return format!("{} compiled from {tree}, ", build.server);
    }
    if let Some(attach) = &build.attach {
        return format!("{} attached at {}", build.server, attach.place());
    }
    match &build.basedir {
        Some(basedir) => format!("{} in {}, ", build.server, basedir.display()),
        None if build.version.is_empty() || subject.label.contains(&build.version) => String::new(),
        None if subject.label.starts_with(&build.server) => String::new(),
        None => format!("{} {}, ", build.server, build.version),
    }
}

fn phases(text: &mut String, plan: &Plan) -> std::fmt::Result {
    writeln!(text, "\nphases, in this order for every subject")?;
    let wide = plan.phases.iter().map(|phase| phase.name.len()).max().unwrap_or(0);
    for (index, phase) in plan.phases.iter().enumerate() {
        let name = &phase.name;
        write!(text, "  {:>3}  {name:wide$}  ", index + 1)?;
        match phase.kind {
            PhaseKind::Settle => {
                let servers = phase.settle.iter().flat_map(|settle| &settle.servers);
                let servers: Vec<&str> = servers.map(String::as_str).collect();
                let only = if servers.is_empty() { "" } else { ", only " };
                writeln!(text, "until calm{}{only}{}", wait(phase), servers.join(", "))?;
            }
            PhaseKind::Index => writeln!(text, "{:10}  {}", phase.group, indexes(plan, phase))?,
            PhaseKind::Measure => executed(text, plan, index, &phase.group)?,
            PhaseKind::Warmup if plan.experiment.design == Design::Interleaved => {
                writeln!(text, "skipped, because every slice discards its own start")?;
            }
            PhaseKind::Warmup => executed(text, plan, index, "warm-up")?,
        }
    }
    scripts(text, plan)
}

/// The files and the options of users' own scripts.
fn scripts(text: &mut String, plan: &Plan) -> std::fmt::Result {
    let scripts = plan.phases.iter().filter_map(|one| Some((&one.name, one.script.lua.as_ref()?)));
    let scripts: Vec<_> = scripts.collect();
    if !scripts.is_empty() {
        writeln!(text, "\nscripts")?;
    }
    for (phase, lua) in scripts {
        write!(text, "  {phase}")?;
        for (name, value) in &lua.options {
            write!(text, " --{}={value}", name.replace('_', "-"))?;
        }
        writeln!(text)?;
        for file in &lua.files {
            writeln!(text, "    {} {}", file.sha256.get(..12).unwrap_or_default(), file.path)?;
        }
    }
    Ok(())
}

fn wait(phase: &Phase) -> String {
    match &phase.settle {
        Some(settle) if settle.floor_seconds > 0.0 => format!(
            ", {} at least, {} at most",
            duration(settle.floor_seconds),
            duration(settle.ceiling_seconds)
        ),
        Some(settle) => format!(", {} at most", duration(settle.ceiling_seconds)),
        None => String::new(),
    }
}

/// The indexes of a table, as far as all dialects agree on their number.
fn indexes(plan: &Plan, phase: &Phase) -> String {
    let schemas = plan.schemas.iter().filter(|schema| schema.name == phase.script.schema);
    let tables = schemas.flat_map(|schema| &schema.tables);
    let indexed = tables.filter(|table| !table.indexes.is_empty());
    let tables = counted(indexed.map(|table| table.copies).sum(), "table");
    format!("the secondary indexes of {tables}")
}

/// Least columns of the number of clients.
const CLIENTS_WIDTH: usize = 11;

/// A phase that executes operations, by its length or by what its roles do.
fn executed(text: &mut String, plan: &Plan, index: usize, what: &str) -> std::fmt::Result {
    let phase = &plan.phases[index];
    let rounds = plan.blocks.first().map_or(0, |block| block.orders[index].len());
    let clients = |phase: &Phase| counted(phase.clients.into(), "client");
    let width = plan.phases.iter().map(|phase| clients(phase).len()).max().unwrap_or_default();
    let (clients, width) = (clients(phase), width.max(CLIENTS_WIDTH));
    let length = match phase.seconds {
        0.0 => String::new(),
        seconds => format!("{rounds} x {}", duration(seconds)),
    };
    write!(text, "{what:10}  {clients:>width$}  {length:>9}")?;
    if let Some(per_second) = phase.arrival.per_second() {
        write!(text, "  {per_second} per second")?;
    }
    if let Some(range) = phase.range {
        write!(text, "  range {range}")?;
    }
    match phase.mode {
        Some(Mode::Prepared) => write!(text, "  all prepared")?,
        Some(Mode::Text) => write!(text, "  all as text")?,
        None => {}
    }
    let roles = &phase.script.roles;
    if !phase.script.ends_by_itself() && roles.len() < 2 {
        return writeln!(text);
    }
    let connections = counted(phase.script.connections().into(), "connection");
    let roles: Vec<String> = (0..roles.len()).map(|place| role(roles, place)).collect();
    writeln!(text, "  {connections:>14}: {}", roles.join(", "))
}

/// `insert 1,500 rows at 100 rows per second`, for each connection.
fn role(roles: &[Role], place: usize) -> String {
    let role = &roles[place];
    let name = &role.name;
    // Of two roles in step the second one says so.
    if let Some(pairing) = role.pairing.filter(|pairing| pairing.role < place) {
        let other = &roles[pairing.role].name;
        return format!("{name} in step with `{other}` ({} apart at most)", pairing.lead);
    }
    let amount = match role.end {
        End::Rows(rows) => counted(rows, "row"),
        End::Operations(operations) => counted(operations, "operation"),
        End::Seconds(seconds) => duration(seconds as f64),
        End::With(other) => format!("until `{}` ends", roles[other].name),
        End::Stretch | End::Others => "until the end".to_owned(),
    };
    let rate = role.arrival.per_second().map(|rate| match role.end {
        End::Rows(_) => {
            let rows = rate * role.rows_per_operation().unwrap_or(1) as f64;
            let rows = (rows / f64::from(role.clients.max(1))).round();
            format!(" at {} per second", counted(rows as u64, "row"))
        }
        _ => format!(" at {} per second", rounded(rate / f64::from(role.clients))),
    });
    format!("{name} {amount}{}", rate.unwrap_or_default())
}

fn blocks(text: &mut String, plan: &Plan) -> std::fmt::Result {
    let slices: usize = plan.blocks.iter().map(|block| slices(block, plan)).sum();
    let trials = plan.blocks.len() * plan.subjects.len();
    writeln!(
        text,
        "\n{}, {}, {}; {}",
        counted(plan.blocks.len() as u64, "block"),
        counted(trials as u64, "trial"),
        counted(slices as u64, "slice"),
        match shows_orders(plan) {
            true => "letters are subjects, a group is a round",
            false => "orders are drawn from the seed, and `--format json` has them",
        },
    )?;
    if let Some((last, others)) = plan.experiment.looks.split_last() {
        let others: Vec<String> = others.iter().map(u32::to_string).collect();
        let and = if others.is_empty() { "" } else { " and " };
        let looks = format!("{}{and}{last}", others.join(", "));
        writeln!(text, "judged after {looks} blocks; what is decided is measured no further")?;
    }
    let decide = &plan.experiment.decide;
    if !decide.is_empty() {
        writeln!(text, "to be decided, with the change that matters: {}", decide.words())?;
    }
    if plan.subjects.len() > 1 && plan.experiment.blocks < FEWEST_BLOCKS {
        writeln!(
            text,
            "no verdicts: they need {FEWEST_BLOCKS} blocks (`--set blocks={FEWEST_BLOCKS}`)"
        )?;
    }
    if let Some(said) = plan.wide_ranges() {
        writeln!(text, "{said}")?;
    }
    let shown = if shows_orders(plan) { plan.blocks.as_slice() } else { &[] };
    for block in shown {
        let starts = letters(&block.start_order);
        writeln!(text, "  block {}: load {}, starts {starts}", block.index + 1, block.load + 1)?;
        for (order, phases) in patterns(block) {
            writeln!(text, "    {order}: {}", ranges(&phases))?;
        }
    }
    Ok(())
}

/// The orders of subjects that occur, in order of their first phase, with the phases that have
/// them.
fn patterns(block: &Block) -> Vec<(String, Vec<usize>)> {
    let mut patterns: Vec<(String, Vec<usize>)> = Vec::new();
    for (index, rounds) in block.orders.iter().enumerate() {
        let rounds: Vec<String> = rounds.iter().map(|round| letters(round)).collect();
        let order = rounds.join(" ");
        match patterns.iter_mut().find(|(known, _)| *known == order) {
            Some((_, phases)) => phases.push(index),
            None => patterns.push((order, vec![index])),
        }
    }
    patterns
}

/// Numbers from 1, neighbors as a range: `phases 1, 3-5`.
fn ranges(indexes: &[usize]) -> String {
    let groups = indexes.chunk_by(|a, b| a + 1 == *b);
    let group = |group: &[usize]| match group {
        [one] => format!("{}", one + 1),
        [first, .., last] => format!("{}-{}", first + 1, last + 1),
        [] => String::new(),
    };
    let word = if indexes.len() == 1 { "phase" } else { "phases" };
    format!("{word} {}", groups.map(group).collect::<Vec<_>>().join(", "))
}

fn slices(block: &Block, plan: &Plan) -> usize {
    let real = plan.phases.iter().zip(&block.orders);
    let real = real.filter(|(phase, _)| phase.kind != PhaseKind::Settle);
    real.flat_map(|(_, rounds)| rounds).map(Vec::len).sum()
}

fn estimate(text: &mut String, plan: &Plan) -> std::fmt::Result {
    writeln!(
        text,
        "\nestimate: {} {}, {} of disk, {} of memory; installation not included",
        if plan.experiment.looks.is_empty() { "about" } else { "at most about" },
        duration(coarse(plan.estimate.seconds)),
        estimated(plan.estimate.disk_bytes),
        estimated(plan.estimate.memory_bytes),
    )?;
    if plan.experiment.explain {
        writeln!(
            text,
            "the largest changes in instructions are explained by function after that, each in \
             some minutes"
        )?;
    }
    too_large(text, plan)
}

/// Subjects whose caches will not hold the data, however the size of the data is called elsewhere,
/// or will not fit into their memory.
fn too_large(text: &mut String, plan: &Plan) -> std::fmt::Result {
    let largest = largest_bytes(plan) as u64;
    for subject in &plan.subjects {
        let cache = cache_bytes(&subject.config) as u64;
        let (label, config) = (&subject.label, &subject.config.name);
        if cache > 0 && cache < largest {
            writeln!(
                text,
                "warning: rows and indexes take about {}, and {label} has {} of cache by its \
                 config {config}",
                size::shown(largest),
                size::shown(cache),
            )?;
        }
        let limit = subject.build.memory.filter(|limit| *limit <= cache.min(largest));
        if let Some(limit) = limit {
            writeln!(
                text,
                "warning: {label} may fill a cache of {} by its config {config}, and has {} of \
                 memory: raise `memory`, or lower the cache",
                size::shown(cache.min(largest)),
                size::shown(limit),
            )?;
        }
    }
    Ok(())
}

/// The same of an estimate, in GiB unless that says nothing.
fn estimated(bytes: u64) -> String {
    let gib = bytes as f64 / f64::from(1 << 30);
    if gib < 0.05 { size::shown(bytes) } else { format!("{gib:.1} GiB") }
}

/// Lines of orders that are shown, at most: nobody reads more.
const ORDERS: usize = 30;

/// Whether the orders of all blocks are shown, with a letter for each subject.
fn shows_orders(plan: &Plan) -> bool {
    // Each block has a line at least.
    let few = plan.subjects.len() <= 26 && plan.blocks.len() <= ORDERS;
    let lines = || plan.blocks.iter().map(|block| 1 + patterns(block).len()).sum::<usize>();
    few && lines() <= ORDERS
}

/// `A` to `Z`, then `AA`, `AB` and so on, like the columns of a spreadsheet.
fn letter(index: usize) -> String {
    let mut letters = Vec::new();
    let mut rest = index;
    loop {
        letters.push(('A'..='Z').nth(rest % 26).unwrap_or('A'));
        match rest / 26 {
            0 => break,
            more => rest = more - 1,
        }
    }
    letters.into_iter().rev().collect()
}

fn letters(order: &[usize]) -> String {
    let apart = if order.iter().any(|index| *index >= 26) { "," } else { "" };
    order.iter().map(|index| letter(*index)).collect::<Vec<_>>().join(apart)
}

/// `1 table`, `8 tables`, digits in groups of three.
fn counted(number: u64, noun: &str) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    let plural = if number == 1 { "" } else { "s" };
    format!("{grouped} {noun}{plural}")
}

/// A positive number to three digits, and to a whole one where it has more.
fn rounded(number: f64) -> f64 {
    let scale = 10_f64.powi(2 - number.log10().floor().min(2.0) as i32);
    (number * scale).round() / scale
}

/// Seconds that promise no more than an estimate can: tens of them up to two minutes.
fn coarse(seconds: f64) -> f64 {
    if seconds < 120.0 { (seconds / 10.0).ceil() * 10.0 } else { seconds }
}

fn duration(seconds: f64) -> String {
    match seconds {
        seconds if seconds < 120.0 => format!("{seconds} s"),
        seconds if seconds < 5400.0 => format!("{:.0} min", seconds / 60.0),
        seconds => format!("{:.1} h", seconds / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!(counted(1, "row"), "1 row");
        assert_eq!(counted(1_000_000, "row"), "1,000,000 rows");
        assert_eq!(counted(100, "row"), "100 rows");
        assert_eq!(duration(0.5), "0.5 s");
        let sizes = [20 << 20, 400 << 20, 3 << 30].map(estimated);
        assert_eq!(sizes, ["20 MiB", "0.4 GiB", "3.0 GiB"]);
        let rates = [100.0 / 3.0, 0.5, 2000.0 / 3.0, 12_345.6, 1.0 / 30.0].map(rounded);
        assert_eq!(rates, [33.3, 0.5, 667.0, 12_346.0, 0.0333]);
        assert_eq!(duration(300.0), "5 min");
        assert_eq!(duration(coarse(61.0)), "70 s");
        assert_eq!(duration(coarse(115.0)), "2 min");
        assert_eq!(duration(25_000.0), "6.9 h");
        assert_eq!(ranges(&[0, 2, 3, 4, 7]), "phases 1, 3-5, 8");
        assert_eq!(ranges(&[4]), "phase 5");
    }

    #[test]
    fn letters_go_on_after_z_as_in_a_spreadsheet() {
        let cases = [(0, "A"), (25, "Z"), (26, "AA"), (27, "AB"), (51, "AZ"), (52, "BA")];
        for (index, expected) in cases.into_iter().chain([(701, "ZZ"), (702, "AAA")]) {
            assert_eq!(letter(index), expected);
        }
        assert_eq!(letters(&[0, 25]), "AZ");
        assert_eq!(letters(&[0, 26]), "A,AA");
    }
}
