use super::*;
use crate::testing::*;
use model::drive::{Endpoint, OpInterval, Percentiles, StretchEnd};
use model::script::{End, Expect, Op, Pairing, Role};
use model::workload::{Arrival, Class};

fn null(clients: u32) -> Engine {
    let target = target("null");
    Engine::connect(&target, clients).unwrap()
}

fn target(protocol: &str) -> Target {
    Target { protocol: protocol.to_owned(), ..Target::null() }
}

#[test]
fn the_null_client_executes_exact_counts_on_every_connection() {
    let mut engine = null(4);
    let tasks: std::collections::BTreeSet<u32> =
        engine.connections().iter().map(|connection| connection.driver_task).collect();
    assert_eq!(tasks.len(), 4);
    engine.compile(&point_query()).unwrap();
    let report = engine.run(&closed(1000)).unwrap();
    assert_eq!((report.scheduled, report.succeeded, report.reads), (4000, 4000, 4000));
    assert_eq!((report.rows_read, report.unexpected, report.failed), (4000, 0, 0));
    assert_eq!((report.ops[0].name.as_str(), report.ops[0].count), ("point", 4000));
    assert_eq!(report.ops[0].response, "");
    assert_eq!(report.service_us, report.ops[0].service_us);
    assert_eq!(report.response_us, report.service_us);
    assert!(report.end_ns >= report.start_ns);
    assert_eq!(report.series.iter().map(|interval| interval.statements).sum::<u64>(), 4000);
    // A second stretch of the same program starts from zero.
    assert_eq!(engine.run(&closed(10)).unwrap().succeeded, 40);
}

#[test]
fn histograms_travel_in_the_exchange_format() {
    let mut engine = null(2);
    engine.compile(&paced(point_query(), 1e6)).unwrap();
    let report = engine.run(&closed(50)).unwrap();
    for text in [&report.ops[0].service, &report.ops[0].response] {
        use base64::Engine as _;
        let bytes = base64::engine::general_purpose::STANDARD.decode(text).unwrap();
        let histogram: hdrhistogram::Histogram<u64> =
            hdrhistogram::serialization::Deserializer::new()
                .deserialize(&mut bytes.as_slice())
                .unwrap();
        assert_eq!(histogram.len(), 100);
    }
    assert_ne!(report.response_us, Percentiles::default());
    assert_eq!(report.response_us, report.ops[0].response_us);
}

#[test]
fn times_of_several_operations_are_told_together() {
    let mut engine = null(1);
    let mut two = point_query();
    let ops = &mut two.script.roles[0].ops;
    ops.push(Op { name: "other".to_owned(), ..ops[0].clone() });
    engine.compile(&two).unwrap();
    let report = engine.run(&closed(1000)).unwrap();
    let longest = report.ops.iter().map(|op| op.service_us.max).fold(0.0, f64::max);
    assert_eq!(report.service_us.max, longest);
    assert_eq!(report.response_us, report.service_us);
    engine.compile(&paced(two, 1e6)).unwrap();
    let report = engine.run(&closed(1000)).unwrap();
    assert!(report.response_us.max >= report.service_us.max, "{report:?}");
}

#[test]
fn misuse_is_told_in_a_sentence() {
    let message = |result: Result<StretchReport, Error>| result.unwrap_err().to_string();
    let mut engine = null(1);
    assert_eq!(message(engine.run(&closed(1))), "no workload is compiled; send `compile` first");
    let error = engine.burst(7, 1).unwrap_err().to_string();
    assert_eq!(error, "there is no connection 7; 1 are open, counted from 0");
    engine.burst(0, 10).unwrap();
    let unknown = Engine::connect(&target("oracle"), 1).err().unwrap().to_string();
    let known = "known: `mysql`, `postgres`, `sqlite`, `null`";
    assert_eq!(unknown, format!("there is no protocol `oracle` ({known})"));
    let mut broken = point_query();
    broken.script.roles[0].ops.clear();
    engine.compile(&point_query()).unwrap();
    assert!(engine.compile(&broken).is_err());
    assert!(message(engine.run(&closed(1))).contains("no workload"));
}

#[test]
fn a_server_that_is_not_there_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let endpoint = Endpoint::Socket(folder.path().join("none"));
    let target = Target { endpoint, ..target("mysql") };
    let error = Engine::connect(&target, 1).err().unwrap();
    assert!(error.lost());
    assert!(error.to_string().starts_with("connection 0 cannot be opened"), "{error}");
}

/// Three roles over the same two connections' worth of tables: writers, their pairs, readers.
fn roles(arrival: Arrival) -> Assignment {
    let mut write = statement("INSERT", vec![]);
    write.class = Class::Write;
    write.expect = Expect::default();
    let delete = write.clone();
    let point = statement("SELECT", vec![]);
    let role = |name: &str, op: Op, end| Role { clients: 2, ..closed_role(name, &[op], end) };
    let pairing = Some(Pairing { role: 0, lead: 0 });
    let mut all = assignment(Vec::new(), 1);
    all.script.roles = vec![
        Role { arrival, ..role("writers", op("insert", vec![write]), End::Operations(1000)) },
        Role { pairing, ..role("deleters", op("delete", vec![delete]), End::With(0)) },
        Role { clients: 1, ..role("readers", op("point", vec![point]), End::Others) },
    ];
    all
}

fn by_roles() -> Stretch {
    Stretch { end: StretchEnd::Roles, ..closed(0) }
}

#[test]
fn roles_end_as_they_say_and_are_told_apart() {
    let mut engine = null(5);
    engine.compile(&roles(Arrival::Closed)).unwrap();
    let report = engine.run(&by_roles()).unwrap();
    let named: Vec<(&str, &str)> =
        report.ops.iter().map(|op| (op.role.as_str(), op.name.as_str())).collect();
    assert_eq!(named, [("writers", "insert"), ("deleters", "delete"), ("readers", "point")]);
    let [insert, delete, point] = &report.ops[..] else { panic!("three operations") };
    assert_eq!((insert.count, insert.rows_changed, insert.rows_read), (2000, 2000, 0));
    assert_eq!(delete.count, 2000);
    // On a busy machine the reader may not have begun before the others have ended.
    assert_eq!((point.rows_read, point.rows_changed), (point.count, 0));
    assert_eq!(report.succeeded, insert.count + delete.count + point.count);
    assert_eq!((report.scheduled, report.dropped, report.failed), (report.succeeded, 0, 0));
    for op in &report.ops {
        let sum = |of: fn(&OpInterval) -> u64| op.series.iter().map(of).sum::<u64>();
        assert_eq!((sum(|i| i.intended), sum(|i| i.completed)), (op.count, op.count));
        assert_eq!(sum(|i| i.rows), op.rows_read + op.rows_changed);
        assert_eq!((op.intended_per_second, op.late), (0.0, 0));
    }
    // Cut short, the writers stop and the others with them.
    let report = engine.run(&closed(30)).unwrap();
    assert_eq!(report.ops[0].count, 60);
    assert_eq!(report.ops[1].count, 60);
}

#[test]
fn a_rate_hits_every_interval_exactly() {
    let mut engine = null(5);
    engine.compile(&roles(open(2000.0))).unwrap();
    let report = engine.run(&Stretch { interval_ms: 100, ..by_roles() }).unwrap();
    let insert = &report.ops[0];
    // 2000 operations of two connections at 2000 per second: 200 in each tenth of a second.
    let intended: Vec<u64> = insert.series.iter().map(|interval| interval.intended).collect();
    assert_eq!(intended[..10], [200; 10]);
    assert_eq!(insert.intended_per_second, 2000.0);
    assert_eq!(insert.count, 2000);
    assert_ne!(insert.response, "");
    assert_eq!(insert.late, report.late);
    let seconds = (report.end_ns - report.start_ns) as f64 / 1e9;
    assert!(seconds >= 0.999, "{seconds}");
}

#[test]
fn roles_need_their_connections_and_stretches_their_roles() {
    let mut engine = null(3);
    let refused = engine.compile(&roles(Arrival::Closed)).unwrap_err().to_string();
    assert_eq!(
        refused,
        "workload `w`: its roles have 5 clients, but 3 connections are open; connect with as many \
         as it needs"
    );
    engine.compile(&point_query()).unwrap();
    let refused = engine.run(&by_roles()).unwrap_err().to_string();
    assert_eq!(
        refused,
        "workload `w` has no roles that could end the stretch; end it after operations or seconds"
    );
}
