//! Costs of the server's parts, of embedded engines and of roles.

use super::*;
use analysis::RoleFacts;

#[test]
fn parts_of_the_server_are_told_apart() {
    let mut slice = slice("old", 0, 0);
    for (scope, instructions) in [
        (Scope::Server, 9e6),
        (Scope::Foreground, 8e6),
        (Scope::Background, 1e6),
        (Scope::Client, 5e5),
    ] {
        slice.readings.push(reading(scope, "user_instructions", instructions));
    }
    slice.readings.push(reading(Scope::Server, "user_cycles", 4e6));
    slice.readings.push(reading(Scope::Server, "kernel_cycles", 2e6));
    slice.readings.push(reading(Scope::Server, "voluntary_switches", 3000.0));
    slice.readings.push(reading(Scope::Server, "involuntary_switches", 500.0));
    slice.readings.push(reading(Scope::Server, "rss_kib", 2041.0));
    slice.readings.push(reading(Scope::Server, "write_bytes", 1024.0 * 4000.0));
    let check = |slice: &SliceRecord, metric: &str, expected: Option<f64>| {
        assert_eq!(value(slice, &facts(Counts::Operations), metric), expected, "{metric}");
    };
    check(&slice, "server_user_instructions_per_op", Some(9000.0));
    check(&slice, "foreground_user_instructions_per_op", Some(8000.0));
    check(&slice, "background_user_instructions_per_op", Some(1000.0));
    check(&slice, "client_user_instructions_per_op", Some(500.0));
    check(&slice, "server_cycles_per_op", Some(6000.0));
    check(&slice, "server_kernel_instructions_per_op", None);
    check(&slice, "context_switches_per_op", Some(3.5));
    check(&slice, "server_rss_mib_peak", Some(2.0));
    check(&slice, "write_kib_per_op", Some(4.0));
    // A drain belongs to the whole server and its background, not to the foreground.
    slice.drained.push(reading(Scope::Server, "user_instructions", 12e6));
    slice.drained.push(reading(Scope::Device, "device_write_kib", 9000.0));
    check(&slice, "server_user_instructions_per_op", Some(12_000.0));
    check(&slice, "foreground_user_instructions_per_op", Some(8000.0));
    check(&slice, "background_user_instructions_per_op", Some(4000.0));
    check(&slice, "write_kib_per_op", Some(9.0));
}

#[test]
fn an_embedded_engine_is_the_driver_less_the_null_client() {
    let mut slice = slice("old", 0, 0);
    let null = |counter: &str, per_op| Reading {
        scope: Scope::Client,
        counter: format!("null_{counter}_per_op"),
        start: 0.0,
        end: per_op,
    };
    slice.readings = vec![
        reading(Scope::Client, "user_instructions", 9e6),
        reading(Scope::Client, "cpu_ns", 1e5),
        null("user_instructions", 400.0),
        null("cpu_ns", 150.0),
    ];
    let check = |counts, metric: &str, expected| {
        assert_eq!(value(&slice, &facts(counts), metric), expected, "{counts:?} {metric}");
    };
    for prefix in ["server", "foreground"] {
        let name = format!("{prefix}_user_instructions_per_op");
        check(Counts::Operations, &name, Some(8600.0));
        check(Counts::Statements, &name, Some(4300.0));
        check(Counts::Operations, &format!("{prefix}_cpu_us_per_op"), Some(0.0));
    }
    check(Counts::Operations, "client_user_instructions_per_op", Some(400.0));
    check(Counts::Statements, "client_user_instructions_per_op", Some(200.0));
    check(Counts::Operations, "client_cpu_us_per_op", Some(0.15));
    check(Counts::Operations, "background_cpu_us_per_op", None);
    let found = compared(&[slice.clone()]);
    let cell = found.cell("point-query", "old", "server_cpu_us_per_op").unwrap();
    assert_eq!(cell.marks, ["client overhead subtracted"]);
    // Without the null client's cost, neither is known: the driver's is not the client's.
    slice.marks = vec![mark::EMBEDDED.into()];
    slice.readings.truncate(2);
    for part in ["server", "foreground", "background", "client"] {
        let metric = format!("{part}_cpu_us_per_op");
        assert_eq!(value(&slice, &facts(Counts::Operations), &metric), None, "{metric}");
    }
    // A table shows no mark beside a value, so one sentence says it for all phases.
    let mut earlier = slice.clone();
    earlier.marks = vec![mark::EMBEDDED_EARLIER.into()];
    earlier.round += 1;
    let found = compared(&[slice, earlier]);
    let told: Vec<_> = found.warnings.iter().filter(|told| told.contains(mark::EMBEDDED)).collect();
    assert_eq!(told, ["client overhead subtracted (`old`)"]);
}

#[test]
fn emulation_tells_instructions_where_nothing_else_counts_them() {
    let mut slice = slice("old", 0, 0);
    slice.marks = vec![mark::NO_HARDWARE.into(), "not calm".into()];
    slice.readings = vec![
        reading(Scope::Server, "cpu_ns", 30e6),
        reading(Scope::Foreground, "cpu_ns", 20e6),
        reading(Scope::Foreground, "emulated_user_instructions", 900_000.0),
        reading(Scope::Foreground, "emulated_operations", 20.0),
        reading(Scope::Client, "emulated_user_instructions", 80_000.0),
        reading(Scope::Client, "emulated_operations", 20.0),
    ];
    let check = |slice: &SliceRecord, counts, part: &str, expected| {
        let metric = format!("{part}_user_instructions_per_op");
        assert_eq!(value(slice, &facts(counts), &metric), expected, "{counts:?} {metric}");
    };
    check(&slice, Counts::Operations, "foreground", Some(45_000.0));
    check(&slice, Counts::Operations, "client", Some(4_000.0));
    // Two statements and five rows in each operation.
    check(&slice, Counts::Statements, "foreground", Some(22_500.0));
    check(&slice, Counts::Rows, "client", Some(800.0));
    // Nobody counted the other tasks of the server.
    check(&slice, Counts::Operations, "server", None);
    check(&slice, Counts::Operations, "background", None);
    // Syncs are those of all tasks, as far as all were counted.
    let syncs = |slice: &SliceRecord| value(slice, &facts(Counts::Operations), "fsyncs_per_op");
    let mut synced = slice.clone();
    synced.readings.push(reading(Scope::Foreground, "emulated_fsyncs", 20.0));
    assert_eq!(syncs(&synced), None);
    synced.readings.push(reading(Scope::Background, "emulated_fsyncs", 5.0));
    synced.readings.push(reading(Scope::Background, "emulated_operations", 20.0));
    assert_eq!(syncs(&synced), Some(1.25));
    synced.readings.push(reading(Scope::Server, "fsyncs", 1_500.0));
    assert_eq!(syncs(&synced), Some(1.5));
    let mut uncounted = slice.clone();
    uncounted.block = 1;
    uncounted.readings.retain(|reading| reading.counter == "cpu_ns");
    let found = compared(&[slice.clone(), uncounted]);
    let cell = found.cell("point-query", "old", "foreground_user_instructions_per_op").unwrap();
    assert_eq!(cell.marks, [mark::NO_HARDWARE_BUT_EMULATED, "not calm", mark::EMULATED]);
    let emulated = format!("`old`: {} (`point-query`)", mark::EMULATED);
    assert!(found.warnings.contains(&emulated), "{:?}", found.warnings);
    assert!(!found.warnings.iter().any(|warning| warning.contains(mark::NO_HARDWARE)));
    let mut many = slice.clone();
    many.clients = 8;
    let cell = compared(&[many]);
    let cell = cell.cell("point-query", "old", "foreground_user_instructions_per_op").unwrap();
    assert!(cell.marks.iter().any(|mark| *mark == mark::EMULATED_ALONE), "{:?}", cell.marks);
    // What the processor counted is better.
    slice.readings.push(reading(Scope::Foreground, "user_instructions", 44e6));
    slice.readings.push(reading(Scope::Client, "user_instructions", 3e6));
    check(&slice, Counts::Operations, "foreground", Some(44_000.0));
    check(&slice, Counts::Operations, "client", Some(3_000.0));
    let found = compared(&[slice]);
    let cell = found.cell("point-query", "old", "foreground_user_instructions_per_op").unwrap();
    assert_eq!(cell.marks, [mark::NO_HARDWARE, "not calm"]);
}

#[test]
fn emulation_tells_instructions_of_an_embedded_engine() {
    let mut slice = slice("old", 0, 0);
    slice.readings = vec![
        reading(Scope::Client, "cpu_ns", 1e5),
        reading(Scope::Client, "emulated_user_instructions", 60_000.0),
        reading(Scope::Client, "emulated_operations", 10.0),
    ];
    let null = |counter: &str, per_op| Reading {
        scope: Scope::Client,
        counter: format!("null_{counter}_per_op"),
        start: 0.0,
        end: per_op,
    };
    let check = |slice: &SliceRecord, expected: [Option<f64>; 4]| {
        let parts = ["server", "foreground", "background", "client"];
        let found = parts.map(|part| {
            let metric = format!("{part}_user_instructions_per_op");
            value(slice, &facts(Counts::Statements), &metric)
        });
        assert_eq!(found, expected);
    };
    slice.readings.push(null("cpu_ns", 150.0));
    // Without the null client's instructions, engine and driver cannot be told apart.
    check(&slice, [None; 4]);
    slice.readings.push(null("emulated_user_instructions", 1_000.0));
    check(&slice, [Some(2_500.0), Some(2_500.0), None, Some(500.0)]);
    let found = compared(&[slice.clone()]);
    let cell = found.cell("point-query", "old", "server_user_instructions_per_op").unwrap();
    assert_eq!(cell.marks, [mark::EMULATED, "client overhead subtracted"]);
    // No operation was counted to its end.
    slice.readings[2].end = slice.readings[2].start;
    check(&slice, [None, None, None, Some(500.0)]);
}

#[test]
fn costs_of_the_lead_role_are_those_of_one_role() {
    let mut slice = slice("old", 0, 0);
    let op = |name: &str, role: &str| OpReport {
        name: name.into(),
        role: role.into(),
        count: 500,
        ..OpReport::default()
    };
    work(&mut slice).ops = vec![op("point", "query"), op("insert", "insert")];
    slice.readings = vec![
        reading(Scope::Foreground, "query.cpu_ns", 1e7),
        reading(Scope::Foreground, "insert.cpu_ns", 9e7),
    ];
    let check = |lead: &[&str], expected| {
        let lead = lead.iter().map(|name| (*name).to_owned()).collect();
        let roles = Some(RoleFacts { lead, ..RoleFacts::default() });
        let facts = PhaseFacts { roles, ..PhaseFacts::default() };
        assert_eq!(value(&slice, &facts, "lead_cpu_us_per_op"), expected, "{facts:?}");
    };
    check(&["point"], Some(20.0));
    check(&["insert"], Some(180.0));
    // Where all roles lead, the costs of the first one per operation of all are nothing's.
    check(&["point", "insert"], None);
}
