//! Answers as bytes, read through a socket pair.

use super::*;
use crate::protocol::mysql::{packet::Packets, reply::Definitions};
use crate::wire::channel::Channel;
use std::{
    io::{Read, Write},
    os::unix::net::UnixStream,
};

/// A text of length-encoded bytes.
fn text(value: &str) -> Vec<u8> {
    [&[u8::try_from(value.len()).unwrap()], value.as_bytes()].concat()
}

fn column(name: &str) -> Vec<u8> {
    let texts = ["def", "db", "t", "t", name, name].map(text).concat();
    [texts, vec![12, 8, 0, 20, 0, 0, 0, 3, 0, 0, 0, 0, 0]].concat()
}

fn eof(status: u8) -> Vec<u8> {
    vec![0xfe, 0, 0, status, 0]
}

/// A connection that has been sent these packets, on which nothing more comes.
fn connection(packets: &[Vec<u8>]) -> Connection {
    let (client, mut server) = UnixStream::pair().unwrap();
    for (number, packet) in packets.iter().enumerate() {
        let length = u32::try_from(packet.len()).unwrap().to_le_bytes();
        let header = [length[0], length[1], length[2], number as u8];
        server.write_all(&[&header, packet.as_slice()].concat()).unwrap();
    }
    server.shutdown(std::net::Shutdown::Write).unwrap();
    // The far end takes what it is asked until the connection is gone.
    std::thread::spawn(move || std::io::copy(&mut server, &mut std::io::sink()));
    connection_on(client)
}

fn connection_on(client: UnixStream) -> Connection {
    Connection {
        packets: Packets::new(Channel::local(client)),
        definitions: Definitions::Always,
        definition_texts: 6,
        id: 0,
        server_version: String::new(),
    }
}

fn answer(packets: &[Vec<u8>]) -> Result<Rows, Failure> {
    connection(packets).query("SELECT 1")
}

fn two_rows(status: u8) -> Vec<Vec<u8>> {
    let null = [text("2"), vec![0xfb]].concat();
    let row = [text("1"), text("one")].concat();
    vec![vec![2], column("id"), column("c"), eof(2), row, null, eof(status)]
}

#[test]
fn rows_and_columns_become_text() {
    let rows = answer(&two_rows(2)).unwrap();
    assert_eq!(rows.columns, ["id", "c"]);
    assert_eq!(rows.rows[0], [Some("1".to_owned()), Some("one".to_owned())]);
    assert_eq!(rows.rows[1], [Some("2".to_owned()), None]);
}

#[test]
fn mariadbs_column_count_may_have_a_second_byte() {
    let mut packets = two_rows(2);
    packets[0] = vec![2, 1];
    assert_eq!(answer(&packets).unwrap().rows.len(), 2);
}

#[test]
fn changed_rows_of_all_results_are_added() {
    let ok = |changed: u8, status: u8| vec![0, changed, 0, status, 0, 0, 0];
    let big = vec![0, 0xfc, 0x10, 0x27, 0, 2, 0, 0, 0];
    assert_eq!(answer(&[big]).unwrap().changed, 10_000);
    let mut packets = vec![ok(3, 8)];
    packets.extend(two_rows(8));
    packets.push(ok(4, 2));
    let rows = answer(&packets).unwrap();
    assert_eq!((rows.changed, rows.rows.len()), (7, 2));
}

#[test]
fn reports_of_progress_are_no_errors() {
    let mut packets = two_rows(2);
    packets.insert(0, vec![0xff, 0xff, 0xff, 1, 1, 2, 0, 0, 0, 0]);
    assert_eq!(answer(&packets).unwrap().rows.len(), 2);
}

#[test]
fn an_error_may_come_instead_of_any_packet() {
    for place in [0, 1, 4, 6] {
        let mut packets = two_rows(2);
        packets[place] = b"\xff\xbd\x04#40001Deadlock found".to_vec();
        let error = answer(&packets[..=place]).unwrap_err();
        let expected = Failure::new(FailureKind::Retry, "1213", "Deadlock found");
        assert_eq!(error, expected, "in place of packet {place}");
    }
}

#[test]
fn an_answer_cut_anywhere_is_a_lost_connection_and_no_panic() {
    let whole = two_rows(2);
    for count in 0..whole.len() {
        let error = answer(&whole[..count]).unwrap_err();
        assert!(error.is_lost(), "{count} packets: {error}");
    }
    for (number, packet) in whole.iter().enumerate() {
        for length in 0..packet.len() {
            let mut packets = whole.clone();
            packets[number].truncate(length);
            let outcome = answer(&packets);
            let lost = outcome.as_ref().err().is_none_or(Failure::is_lost);
            assert!(lost, "packet {number} of {length} bytes: {outcome:?}");
        }
    }
}

#[test]
fn a_prepared_statement_is_read_with_its_definitions() {
    let prepared = vec![0, 5, 1, 0, 0, 0, 0, 2, 0, 0, 0, 0];
    let packets = [prepared.clone(), column("?"), column("?"), eof(2), vec![9]];
    let mut connection = connection(&packets);
    let found = connection.prepare("SELECT ?, ?").unwrap();
    assert_eq!((found.id, found.parameters, found.columns.len()), (261, 2, 0));
    assert_eq!(connection.packets.read().unwrap(), [9], "nothing more may be taken");
    for length in 0..9 {
        let mut cut = super::tests::connection(&[prepared[..length].to_vec()]);
        assert!(cut.prepare("SELECT ?, ?").is_err(), "{length} bytes");
    }
}

/// 771 rows of 85 columns are that many, in a statement of a load.
#[test]
fn a_statement_with_all_placeholders_that_there_can_be_is_read_to_its_end() {
    let mut packets = vec![vec![0, 5, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 0]];
    packets.resize(1 + 0xffff, vec![b'?']);
    packets.extend([eof(2), vec![9]]);
    let (client, mut server) = UnixStream::pair().unwrap();
    let framed = |packet: &Vec<u8>| [&[packet.len() as u8, 0, 0, 0], packet.as_slice()].concat();
    let bytes: Vec<u8> = packets.iter().flat_map(framed).collect();
    // More than a socket holds.
    let sender = std::thread::spawn(move || {
        server.write_all(&bytes).unwrap();
        server
    });
    let mut connection = connection_on(client);
    assert_eq!(connection.prepare("INSERT …").unwrap().parameters, 0xffff);
    assert_eq!(connection.packets.read().unwrap(), [9], "nothing more may be taken");
    sender.join().unwrap();
}

#[test]
fn rows_are_inserted_in_strict_mode_and_the_mode_is_taken_back() {
    let (client, mut server) = UnixStream::pair().unwrap();
    server.write_all(&[7_u8, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0].repeat(3)).unwrap();
    let mut connection = connection_on(client);
    let load = Loading { engine: "InnoDB", threads: 1 };
    connection.begin_load(&load).unwrap();
    connection.end_rows(&load).unwrap();
    drop(connection);
    let mut sent = Vec::new();
    server.read_to_end(&mut sent).unwrap();
    let sent = String::from_utf8_lossy(&sent);
    let statements = ["= @@SESSION.sql_mode", "'STRICT_ALL_TABLES')", "= @dbdyno_sql_mode"];
    let places: Vec<usize> = statements.iter().map(|sql| sent.find(sql).unwrap()).collect();
    assert!(places.is_sorted(), "{sent}");
}

/// Loads a file that the server has such warnings of: level, code and message.
fn load(warnings: &[[&str; 3]]) -> Result<u64, Failure> {
    struct Nothing;

    impl RowSource for Nothing {
        fn next_row(&mut self, _: &mut dyn crate::wire::RowSink) -> bool {
            false
        }
    }

    let ok = |changed: u8| vec![0, changed, 0, 2, 0, 0, 0];
    let mut packets = vec![b"\xfbrows".to_vec(), ok(7), vec![3]];
    packets.extend(["Level", "Code", "Message"].map(column));
    packets.push(eof(2));
    packets.extend(warnings.iter().map(|warning| warning.map(text).concat()));
    packets.extend([eof(2), ok(0), vec![9]]);
    let mut connection = connection(&packets);
    let into = Destination { table: "t", columns: &["c".to_owned()], ascii: true };
    let stored = connection.load_data(&into, &mut Nothing)?;
    assert_eq!(connection.packets.read().unwrap(), [9], "the answer to COMMIT is taken");
    Ok(stored)
}

#[test]
fn rows_of_a_file_are_committed() {
    assert_eq!(load(&[]), Ok(7));
}

#[test]
fn rows_of_a_file_that_were_changed_are_refused() {
    let harmless = ["Warning", "1287", "'utf8mb3' is deprecated"];
    let note = ["Note", "1265", "Data truncated for column 'c' at row 1"];
    assert_eq!(load(&[harmless, note]), Ok(7));
    let changed = ["Warning", "1264", "Out of range value for column 'c' at row 2"];
    let failure = load(&[note, changed]).unwrap_err();
    assert_eq!((failure.kind(), failure.code()), (FailureKind::Statement, "1264"));
    assert!(failure.message().starts_with("Out of range value for column 'c' at row 2; give"));
}
