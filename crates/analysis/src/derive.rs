//! One raw slice to the values of all metrics that it can tell.

use crate::{METRICS, PhaseFacts, host_load, parts::Parts, role_cost, roles::RoleFacts, sla};
use model::{
    disturbance::window_ns,
    drive::{OpReport, Percentiles, StretchReport},
    mark,
    measurement::Piece,
    metric::{Kind, Metric, Part, Per, Source},
    reading::Scope,
    record::SliceRecord,
    state,
    workload::{Arrival, Counts, Spacing},
};

/// Metric and value.
type Value = (&'static str, f64);

/// The values of a slice by metric name, in the metrics' units. The state of the slice is not
/// looked at.
pub fn derive(slice: &SliceRecord, facts: &PhaseFacts) -> Vec<(&'static str, f64)> {
    let mut values = Vec::with_capacity(METRICS.len());
    if let Some(work) = &slice.work {
        throughput(work, facts, &mut values);
        if scans(work, facts) {
            let clients = f64::from(slice.clients.max(1));
            let all = values.iter().find(|(name, _)| *name == "rows_per_second");
            let one = all.map(|(_, rate)| ("rows_per_client_per_second", rate / clients));
            values.extend(one);
        }
        latencies(work, facts, &mut values);
        outcomes(work, facts, &mut values);
    }
    counted(slice, facts, &mut values);
    values.extend(write_amplification(slice, facts));
    own_counters(slice, facts, &mut values);
    values.extend(host_load::stolen_percent(slice).map(|share| ("stolen_cpu_percent", share)));
    values.retain(|(_, value)| value.is_finite());
    values
}

/// How a value becomes part of that of the whole work, where slices are pieces of it: it weighs as
/// much as it was divided by. Of levels and largest values the largest counts.
pub(crate) fn piece(metric: &Metric, slice: &SliceRecord, facts: &PhaseFacts) -> Piece {
    match &slice.work {
        Some(work) if metric.per != Per::Whole => Piece::Weight(divisor(metric.per, work, facts)),
        _ => Piece::Largest,
    }
}

/// What metrics are divided by.
fn divisor(per: Per, work: &StretchReport, facts: &PhaseFacts) -> f64 {
    match (per, &facts.roles) {
        (Per::Whole, _) => 1.0,
        (Per::Operation, _) => denominator(work, facts),
        // Those that found no row are in the cost, and not in the number.
        (Per::EffectiveStatement, _) if facts.drains => work.writes as f64,
        (Per::EffectiveStatement, _) => 0.0,
        (Per::ScheduledSecond, Some(roles)) => roles.seconds(work),
        (Per::ScheduledSecond | Per::Second, _) => seconds(work, facts),
    }
}

/// Length of a stretch [s]: in an even open loop that of its schedule at least, whose last
/// operation starts an interval before its end. Intervals of a Poisson process begin with one.
pub(crate) fn seconds(work: &StretchReport, facts: &PhaseFacts) -> f64 {
    let whole = work.end_ns.saturating_sub(work.start_ns) as f64 / 1e9;
    match facts.arrival {
        Arrival::Open { per_second, spacing: Spacing::Even } if per_second > 0.0 => {
            whole.max(work.scheduled as f64 / per_second)
        }
        Arrival::Open { .. } | Arrival::Closed => whole,
    }
}

/// Marks of the slice, corrected by what else is known of it.
pub(crate) fn slice_marks(slice: &SliceRecord) -> Vec<String> {
    let waited = slice.work.as_ref().filter(|work| has_waited(work)).map(|_| WAITED.to_owned());
    let emulated = Parts::new(slice, 1.0).needs_emulation();
    let known = |found: &String| match found.as_str() {
        mark::EMBEDDED_EARLIER => mark::EMBEDDED.to_owned(),
        mark::NO_HARDWARE if emulated => mark::NO_HARDWARE_BUT_EMULATED.to_owned(),
        _ => found.clone(),
    };
    let others = slice.marks.iter().filter(|found| found.as_str() != mark::EMULATED).map(known);
    let counted =
        emulated.then(|| if on_one(slice) { mark::EMULATED_ALONE } else { mark::EMULATED });
    others.chain(counted.map(str::to_owned)).chain(waited).collect()
}

/// Whether one of a slice's clients is emulated for all: only roles need each other.
fn on_one(slice: &SliceRecord) -> bool {
    let has_roles = |work: &StretchReport| work.ops.iter().any(|op| !op.role.is_empty());
    slice.clients > 1 && !slice.work.as_ref().is_some_and(has_roles)
}

/// Mark of a slice in which something stood still for a while.
const WAITED: &str = "an operation took 5 s or longer, 1000 times the median or more";

/// Whether an operation waited so long that the mean over the slice is not that of its operations:
/// for a server that stalled, or for one that was stopped.
fn has_waited(work: &StretchReport) -> bool {
    let Percentiles { max, p50, .. } = work.service_us;
    max >= 5e6 && max >= 1000.0 * p50
}

/// Marks of values: those of the slice, and those of their meaning.
pub(crate) fn marks(slice: &SliceRecord) -> Vec<String> {
    let mut marks = slice_marks(slice);
    if Parts::new(slice, 0.0).is_embedded() && !marks.iter().any(|own| own == mark::EMBEDDED) {
        marks.push(mark::EMBEDDED.to_owned());
    }
    marks
}

/// What per-operation metrics of a slice divide by; 0 where it has done nothing.
pub fn operations(slice: &SliceRecord, facts: &PhaseFacts) -> f64 {
    slice.work.as_ref().map_or(0.0, |work| denominator(work, facts))
}

/// What per-operation metrics divide by: as many as the workload counts.
pub(crate) fn denominator(work: &StretchReport, facts: &PhaseFacts) -> f64 {
    if let Some(roles) = &facts.roles {
        let lead = roles.leading(work);
        return match facts.counts {
            Counts::Operations | Counts::Statements => lead.map(|op| op.count).sum::<u64>() as f64,
            Counts::Rows => lead.map(|op| op.rows_read + op.rows_changed).sum::<u64>() as f64,
        };
    }
    match facts.counts {
        Counts::Operations => work.succeeded as f64,
        Counts::Statements => statements(work),
        Counts::Rows => rows(work, facts),
    }
}

fn statements(work: &StretchReport) -> f64 {
    (work.reads + work.writes + work.others) as f64
}

/// Whether the rows that a workload counts are those that it looks at: it returns at most one per
/// operation (a filter that nothing meets, an aggregate).
fn scans(work: &StretchReport, facts: &PhaseFacts) -> bool {
    facts.counts == Counts::Rows
        && work.rows_changed == 0
        && work.rows_read <= work.succeeded
        && facts.scanned_rows > 0.0
}

/// Rows returned or changed; where a workload scans, the rows that it looks at.
fn rows(work: &StretchReport, facts: &PhaseFacts) -> f64 {
    if scans(work, facts) {
        return work.succeeded as f64 * facts.scanned_rows;
    }
    (work.rows_read + work.rows_changed) as f64
}

fn throughput(work: &StretchReport, facts: &PhaseFacts, values: &mut Vec<Value>) {
    let seconds = divisor(Per::Second, work, facts);
    if seconds <= 0.0 {
        return;
    }
    values.push(("ops_per_second", denominator(work, facts) / seconds));
    values.push(("queries_per_second", statements(work) / seconds));
    values.push(("transactions_per_second", work.succeeded as f64 / seconds));
    values.push(("rows_per_second", rows(work, facts) / seconds));
    if let Some(name) = &facts.committed {
        let own = work.ops.iter().filter(|op| op.name == *name);
        let committed: u64 = own.map(|op| op.count.saturating_sub(op.rolled_back)).sum();
        values.push(("new_orders_per_minute", committed as f64 * 60.0 / seconds));
    }
    if (facts.committed.is_some() || facts.is_script) && work.succeeded > 0 {
        values.push(("statements_per_op", statements(work) / work.succeeded as f64));
        values.push(("retries_per_op", work.retries as f64 / work.succeeded as f64));
    }
    if facts.writes {
        values.push(("effective_ops_per_second", work.writes as f64 / seconds));
    }
    if let Some(roles) = &facts.roles {
        let [inserted, deleted] = roles.changed_per_second(work);
        values.extend(inserted.map(|rate| ("insert_rows_per_second", rate)));
        values.extend(deleted.map(|rate| ("delete_rows_per_second", rate)));
        pace(work, roles, values);
    }
}

/// How well a set rate was kept.
fn pace(work: &StretchReport, roles: &RoleFacts, values: &mut Vec<Value>) {
    let Some(paced) = roles.paced(work) else { return };
    values.push(("insert_rows_per_second_target", paced.target_per_second));
    values.extend(paced.lag_us_max.map(|lag| ("lag_us_max", lag)));
    let share = paced.seconds_on_target(sla::SECOND_SHARE);
    values.extend(share.map(|share| ("seconds_on_target_share", share)));
}

fn latencies(work: &StretchReport, facts: &PhaseFacts, values: &mut Vec<Value>) {
    // Percentiles of several operations cannot be made from those of each.
    let lead: Vec<&OpReport> = match &facts.roles {
        Some(roles) => roles.leading(work).collect(),
        None => work.ops.iter().collect(),
    };
    let only = match lead.as_slice() {
        [op] => Some((op.service_us, op.response_us)),
        _ => None,
    };
    let unknown = Percentiles::default();
    let pick = |whole: Percentiles, of_one: Option<Percentiles>| {
        // With roles the whole holds operations that nobody asked about.
        let whole = Some(whole).filter(|whole| *whole != unknown && facts.roles.is_none());
        whole.or(of_one.filter(|one| *one != unknown))
    };
    if let Some(service) = pick(work.service_us, only.map(|pair| pair.0)) {
        values.extend([
            ("latency_us_p50", service.p50),
            ("latency_us_p95", service.p95),
            ("latency_us_p99", service.p99),
            ("latency_us_p999", service.p999),
            ("latency_us_max", service.max),
        ]);
    }
    if let Some(response) = pick(work.response_us, only.map(|pair| pair.1)) {
        values.extend([
            ("response_us_p50", response.p50),
            ("response_us_p95", response.p95),
            ("response_us_p99", response.p99),
            ("response_us_p999", response.p999),
            ("response_us_max", response.max),
        ]);
    }
    // That of a paced role is known already.
    let has_lag = values.iter().any(|(name, _)| *name == "lag_us_max");
    if matches!(facts.arrival, Arrival::Open { .. }) && !has_lag {
        values.push(("lag_us_max", work.lag_us_max as f64));
    }
}

/// The metrics that counters give.
fn counted(slice: &SliceRecord, facts: &PhaseFacts, values: &mut Vec<Value>) {
    let work = slice.work.as_ref();
    let parts = Parts::new(slice, work.map_or(0, |work| work.succeeded) as f64);
    let lead = work.zip(facts.roles.as_ref()).and_then(|(work, roles)| only_lead(work, roles));
    for metric in METRICS.iter() {
        let divisor = match (metric.per, work) {
            (Per::Whole, _) => 1.0,
            // Counters of the host are read over longer than a slice works.
            (Per::Second, _) if metric.part == Part::Host => {
                window_ns(slice).unwrap_or_default() / 1e9
            }
            (per, Some(work)) if denominator(work, facts) > 0.0 => divisor(per, work, facts),
            _ => 0.0,
        };
        if let Some(total) = known(&parts, lead, metric).filter(|_| divisor > 0.0) {
            values.push((metric.name, total / divisor));
        }
    }
}

/// Bytes that were written to storage, as `write_kib_per_op` has them, for a byte of the rows that
/// the workload inserted or updated.
fn write_amplification(slice: &SliceRecord, facts: &PhaseFacts) -> Option<Value> {
    let (work, written) = slice.work.as_ref().zip(facts.written.as_ref())?;
    let parts = Parts::new(slice, work.succeeded as f64);
    let metric = crate::metric("write_kib_per_op")?;
    let kib = known(&parts, None, metric)?;
    let rows = written.bytes(work);
    (rows > 0.0).then(|| ("write_amplification", kib * 1024.0 / rows))
}

/// What the server counted of itself, as far as somebody has put it among the readings.
fn own_counters(slice: &SliceRecord, facts: &PhaseFacts, values: &mut Vec<Value>) {
    let operations = operations(slice, facts);
    let own = slice.readings.iter().filter(|one| state::is_counter(&one.counter));
    for reading in own.filter(|_| operations > 0.0) {
        let metric = crate::metric(&reading.counter);
        values.extend(metric.map(|metric| (metric.name, reading.delta() / operations)));
    }
}

/// The role that leads alone; none where several lead, whose operations together are what costs are
/// divided by.
fn only_lead<'a>(work: &'a StretchReport, roles: &'a RoleFacts) -> Option<&'a str> {
    let mut leading = roles.leading(work).map(|op| op.role.as_str());
    let role = leading.next().filter(|role| !role.is_empty())?;
    leading.all(|other| other == role).then_some(role)
}

/// The first source of a metric that is known, in the metric's unit.
fn known(parts: &Parts<'_>, lead: Option<&str>, metric: &Metric) -> Option<f64> {
    let known = |source: &Source| {
        let counters = source.counters.iter();
        let moved = counters.filter_map(|counter| total(parts, lead, metric, counter));
        moved.reduce(|a, b| a + b).map(|total| total / source.divisor)
    };
    metric.sources.iter().find_map(known)
}

/// How far a counter moved for a metric, or how high a level was.
fn total(parts: &Parts<'_>, lead: Option<&str>, metric: &Metric, counter: &str) -> Option<f64> {
    let scope = match metric.part {
        Part::Load | Part::Pace => return None,
        Part::Lead => return role_cost::total(parts.slice(), lead?, counter),
        Part::Storage => {
            let device = parts.total(Scope::Device, counter);
            return device.or_else(|| parts.total(Scope::Server, counter));
        }
        Part::Foreground => Scope::Foreground,
        Part::Background => Scope::Background,
        Part::Server => Scope::Server,
        Part::Client => Scope::Client,
        Part::Host => Scope::Host,
    };
    match (metric.per, metric.kind) {
        (Per::Whole, _) => parts.peak(scope, counter),
        // What is counted apart does not tell what found no row.
        (Per::Operation, Kind::UserInstructions) => parts.user_instructions(scope),
        _ => parts.total(scope, counter),
    }
}

fn outcomes(work: &StretchReport, facts: &PhaseFacts, values: &mut Vec<Value>) {
    let operations = denominator(work, facts);
    if operations <= 0.0 {
        return;
    }
    if facts.writes {
        values.push(("rows_changed_per_op", work.rows_changed as f64 / operations));
    }
    if let Some(found) = &work.neighbors {
        values.extend(found.recall().map(|share| ("recall", share)));
        values.extend(found.quantile(0.05).map(|share| ("recall_p05", share)));
    }
    let errors: u64 = work.errors.iter().map(|error| error.count).sum();
    values.push(("errors_per_op", errors as f64 / operations));
    values.push(("rows_per_op", (work.rows_read + work.rows_changed) as f64 / operations));
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::reading::Reading;

    #[test]
    fn an_even_open_loop_that_keeps_its_rate_has_it_however_soon_its_last_answer_came() {
        let check = |spacing, milliseconds: u64, expected: f64| {
            let facts = PhaseFacts {
                arrival: Arrival::Open { per_second: 2.0, spacing },
                ..PhaseFacts::default()
            };
            let work = StretchReport {
                scheduled: 4,
                succeeded: 4,
                end_ns: milliseconds * 1_000_000,
                ..StretchReport::default()
            };
            let slice = SliceRecord { work: Some(work), ..SliceRecord::default() };
            let mut found = derive(&slice, &facts).into_iter();
            let rate = found.find(|(name, _)| *name == "ops_per_second");
            assert_eq!(rate.map(|(_, rate)| rate), Some(expected), "{milliseconds} ms");
        };
        // Due at 0, 0.5, 1 and 1.5 s.
        check(Spacing::Even, 1_510, 2.0);
        check(Spacing::Even, 2_500, 1.6);
        check(Spacing::Poisson, 1_600, 2.5);
    }

    #[test]
    fn the_only_role_at_a_set_rate_has_one_lag() {
        let op = OpReport { name: "insert".to_owned(), lag_us_max: 7, ..OpReport::default() };
        let work = StretchReport {
            end_ns: 1_000_000_000,
            lag_us_max: 7,
            ops: vec![op],
            ..StretchReport::default()
        };
        let slice = SliceRecord { work: Some(work), ..SliceRecord::default() };
        let roles = RoleFacts {
            inserts: vec!["insert".to_owned()],
            target_per_second: 2.0,
            ..RoleFacts::default()
        };
        let facts = PhaseFacts {
            arrival: Arrival::Open { per_second: 2.0, spacing: Spacing::Even },
            roles: Some(roles),
            ..PhaseFacts::default()
        };
        let found = derive(&slice, &facts).into_iter();
        let lags: Vec<_> = found.filter(|(name, _)| *name == "lag_us_max").collect();
        assert_eq!(lags, [("lag_us_max", 7.0)]);
    }

    #[test]
    fn shares_of_the_host_are_those_of_the_time_over_which_it_was_read() {
        let reading = |counter: &str, end| {
            let (scope, counter) = (Scope::Host, counter.to_owned());
            Reading { scope, counter, start: 0.0, end }
        };
        let work = StretchReport { succeeded: 1, end_ns: 200_000_000, ..StretchReport::default() };
        let readings = vec![reading("window_ns", 1e9), reading("iowait_ns", 5e8)];
        let slice = SliceRecord { work: Some(work), readings, ..SliceRecord::default() };
        let found = derive(&slice, &PhaseFacts::default());
        let share = found.into_iter().find(|(name, _)| *name == "host_iowait_percent");
        assert_eq!(share.map(|(_, percent)| percent), Some(50.0));
    }
}
