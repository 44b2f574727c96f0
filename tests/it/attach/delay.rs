//! Servers behind a network that takes its time, and that cuts what it carries anywhere.

use super::{GOOD, MYSQL_USER, POSTGRES_USER, away::Away, lab_with, run, text_of};
use crate::lab::known;
use std::{
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    thread,
    time::Duration,
};
use values::Random;

/// How long every piece takes in one direction.
const DELAY: Duration = Duration::from_micros(200);

/// Passes connections on to a port of this host; gives the port that leads there.
fn network(to: u16) -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    // Ends with the tests.
    thread::spawn(move || {
        for (stream, client) in (0..).step_by(2).zip(listener.incoming()) {
            let (client, server) =
                (client.unwrap(), TcpStream::connect(("127.0.0.1", to)).unwrap());
            let [from_client, from_server] = [&client, &server].map(|end| end.try_clone().unwrap());
            thread::spawn(move || carry(from_client, server, stream));
            thread::spawn(move || carry(from_server, client, stream + 1));
        }
    });
    port
}

/// Carries what comes, each piece in two.
fn carry(mut from: TcpStream, mut to: TcpStream, stream: u64) {
    to.set_nodelay(true).unwrap();
    let (mut random, mut bytes) = (Random::new(1, stream), vec![0; 65_536]);
    while let Ok(length @ 1..) = from.read(&mut bytes) {
        thread::sleep(DELAY);
        let (first, second) = bytes[..length].split_at(random.below(length as u64) as usize);
        if to.write_all(first).and_then(|()| to.write_all(second)).is_err() {
            break;
        }
    }
    let _ = to.shutdown(std::net::Shutdown::Write);
}

fn is_measured_behind_it(away: &Away) {
    let port = network(away.port());
    let lab = lab_with(away, &format!("host = \"127.0.0.1\", port = {port}, {GOOD}"));
    let output = run(&lab).output().unwrap();
    let said = text_of(&output);
    assert_eq!(output.status.code(), Some(0), "{said}");
    let comparison = lab.comparison();
    for workload in ["point-query", "range-covered-pk", "update-nonindex", "insert"] {
        let rate = known(&comparison, workload, "away", "ops_per_second");
        assert!(rate.is_none_or(|rate| rate > 0.0), "{workload}: {rate:?}\n{said}");
    }
    // A statement cannot be answered before the network has carried both.
    let trial = lab.of_records("trial.toml").concat();
    let round_trip = trial.lines().find_map(|line| line.strip_prefix("round_trip_us = "));
    let microseconds: f64 = round_trip.unwrap_or_else(|| panic!("{trial}")).parse().unwrap();
    assert!(microseconds >= 2.0 * DELAY.as_secs_f64() * 1e6, "{microseconds}");
    assert_eq!(away.databases(), None);
}

#[test]
fn postgres_is_measured_behind_a_slow_network() {
    let away = Away::start("postgres@18", &["shared_buffers=64MB"]);
    away.execute(POSTGRES_USER);
    is_measured_behind_it(&away);
}

#[test]
fn mysql_is_measured_behind_a_slow_network() {
    let away = Away::start("mysql@9", &["innodb_buffer_pool_size=64M"]);
    away.execute(MYSQL_USER);
    is_measured_behind_it(&away);
}
