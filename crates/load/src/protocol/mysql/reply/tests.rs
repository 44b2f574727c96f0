use super::*;
use crate::protocol::mysql::{
    row::{Column, Described},
    whole,
};
use crate::wire::{Value, rows::Each};
use values::Random;

fn packet(body: &[u8]) -> Vec<u8> {
    let mut bytes = (body.len() as u32).to_le_bytes();
    bytes[3] = 1;
    [&bytes[..], body].concat()
}

fn packets(bodies: &[&[u8]]) -> Vec<u8> {
    bodies.iter().flat_map(|body| packet(body)).collect()
}

const COLUMN: &[u8] = b"\x03def\0\0\0\x01c\0\x0c\x2d\x00\xe0\x01\x00\x00\xfe\x01\x00\x00\x00\x00";
const EOF: &[u8] = &[0xfe, 0, 0, 2, 0];
const OK: &[u8] = &[0, 3, 0, 2, 0, 0, 0];

/// Reads an answer that arrives in two pieces, cut at `cut`, as the client's loop does.
fn read_cut(reply: &mut Reply, bytes: &[u8], cut: usize) -> Result<Answer, Failure> {
    let mut unread: Vec<u8> = Vec::new();
    for piece in [&bytes[..cut], &bytes[cut..]] {
        unread.extend_from_slice(piece);
        let used = reply.read(&unread).map_err(|(_, failure)| failure)?;
        unread.drain(..used);
    }
    assert!(reply.is_done(), "not done when cut at {cut}");
    assert_eq!(unread, b"", "left over when cut at {cut}");
    reply.answer()
}

/// How the first value of the first row is read, if at all; NULL is 0.
#[derive(Debug, Clone, Copy)]
enum Capture {
    No,
    Text,
    /// By these columns, until the answer tells others.
    Binary(Column),
}

/// Rows, changed rows and the captured value, or code and message.
type Expected<'a> = Result<(u64, u64, Option<i64>), (&'a str, &'a str)>;

/// The same answer must come out wherever the bytes are cut, and from the reader of whole answers,
/// if it takes them at all.
fn check(bytes: &[u8], capture: Capture, expected: Expected<'_>) {
    if let Some(answer) = whole::read(bytes, Definitions::Always) {
        assert_eq!(
            Ok((answer.rows, answer.changed)),
            expected.map(|(rows, changed, _)| (rows, changed))
        );
    }
    for cut in 0..=bytes.len() {
        let (mut captured, mut rows) = (None, 0);
        let got = {
            let mut take = |row: &mut dyn crate::wire::Row| {
                rows += 1;
                if let (1, Some(value)) = (rows, row.next()) {
                    captured = if value == Value::Null { Some(0) } else { value.integer() };
                }
            };
            let mut each = Each(&mut take);
            let mut column;
            let (format, take): (_, Option<&mut dyn TakeRows>) = match capture {
                Capture::No => (RowFormat::Text, None),
                Capture::Text => (RowFormat::Text, Some(&mut each)),
                Capture::Binary(one) => {
                    column = vec![one];
                    let told = Described { columns: &mut column, texts: 6 };
                    (RowFormat::Binary(told), Some(&mut each))
                }
            };
            read_cut(&mut Reply::new(Definitions::Always, format, take), bytes, cut)
        };
        let got = got.map(|answer| (answer.rows, answer.changed, captured));
        match (&got, &expected) {
            (Ok(got), Ok(expected)) => assert_eq!(got, expected, "cut at {cut}"),
            (Err(failure), Err((code, message))) => {
                assert_eq!(failure.code(), *code, "cut at {cut}");
                assert!(failure.message().contains(message), "cut at {cut}: {failure:?}");
            }
            _ => panic!("cut at {cut}: got {got:?}, expected {expected:?}"),
        }
    }
}

#[test]
fn answers_are_understood_wherever_they_are_cut() {
    check(&packet(OK), Capture::No, Ok((0, 3, None)));
    check(&packet(&[0, 0xfc, 1, 1, 0, 2, 0, 0, 0]), Capture::No, Ok((0, 257, None)));
    let none = packets(&[&[1], COLUMN, EOF, EOF]);
    check(&none, Capture::No, Ok((0, 0, None)));
    let long = [&[0, 0, 120][..], &[b'x'; 120]].concat();
    let rows = packets(&[&[2], COLUMN, COLUMN, EOF, &long, &long, b"\0\0\x01y", EOF]);
    check(&rows, Capture::No, Ok((3, 0, None)));
    let twice = packets(&[&[1], COLUMN, EOF, &[0, 0, 0], &[0xfe, 0, 0, 0x0a, 0], OK]);
    check(&twice, Capture::No, Ok((1, 3, None)));
}

#[test]
fn usual_answers_are_read_whole_and_all_others_are_left() {
    let whole = |bytes: &[u8]| whole::read(bytes, Definitions::Always);
    let rows = packets(&[&[1], COLUMN, EOF, &[0, 0, 0], &[0, 0, 0], EOF]);
    let answer = |rows, changed| Some(Answer { rows, changed });
    assert_eq!(whole(&rows), answer(2, 0));
    assert_eq!(whole(&packet(OK)), answer(0, 3));
    assert_eq!(whole::read(&rows, Definitions::PerhapsCached), None);
    for cut in 0..rows.len() {
        assert_eq!(whole(&rows[..cut]), None, "cut at {cut}");
    }
    let error = packets(&[&[1], COLUMN, EOF, b"\xff\x25\x05#70100interrupted"]);
    let more = packets(&[&[1], COLUMN, EOF, &[0xfe, 0, 0, 0x0a, 0], OK]);
    let wide = packets(&[&[0xfc, 0, 1]]);
    for bytes in [error, more, wide, packets(&[OK, OK])] {
        assert_eq!(whole(&bytes), None);
    }
}

#[test]
fn a_row_may_begin_with_the_byte_of_an_end() {
    // A text row whose first value is given with an eight-byte length.
    let row = [&[0xfe, 5, 0, 0, 0, 0, 0, 0, 0][..], b"12345"].concat();
    check(&packets(&[&[1], COLUMN, EOF, &row, EOF]), Capture::Text, Ok((1, 0, Some(12345))));
}

#[test]
fn errors_end_an_answer() {
    let deadlock = packet(b"\xff\xbd\x04#40001Deadlock found");
    check(&deadlock, Capture::No, Err(("1213", "Deadlock found")));
    let mid = packets(&[&[1], COLUMN, EOF, &[0, 0, 0], b"\xff\x25\x05#70100interrupted"]);
    check(&mid, Capture::No, Err(("1317", "interrupted")));
    let progress = packets(&[b"\xff\xff\xff#HY000...", OK]);
    check(&progress, Capture::No, Ok((0, 3, None)));
    check(&packet(&[0, 1]), Capture::No, Err(("lost", "a short OK")));
    check(&packet(&[0xfb, b'/']), Capture::No, Err(("lost", "local file")));
    check(&packet(&[]), Capture::No, Err(("lost", "an empty packet")));
}

#[test]
fn deadlocks_and_lock_timeouts_are_retried_and_farewells_end_the_connection() {
    let kind = |code: u16| {
        let body = [&[0xff][..], &code.to_le_bytes(), b"#HY000no"].concat();
        server_error(&body).unwrap_err().kind()
    };
    assert_eq!(
        [1213, 1205, 1020, 1062].map(kind),
        [FailureKind::Retry, FailureKind::Retry, FailureKind::Retry, FailureKind::Statement]
    );
    assert_eq!([1053, 3169, 4031].map(kind), [FailureKind::Lost; 3]);
}

#[test]
fn captured_values_are_read_by_the_types_that_the_answer_tells() {
    let check_row = |(kind, flags): (u8, u8), row: &[u8], expected: Option<i64>| {
        let head = b"\x03def\0\0\0\x01c\0\x0c\x2d\x00\xe0\x01\x00\x00";
        let definition = [&head[..], &[kind, flags, 0, 0, 0, 0]].concat();
        let row = packets(&[&[1], &definition, EOF, &[&[0], row].concat(), EOF]);
        // What was known when the statement was prepared, before its arguments had types.
        for before in [Column::Bytes, Column::Integer { width: 2, unsigned: false }] {
            check(&row, Capture::Binary(before), Ok((1, 0, expected)));
        }
    };
    let value = |bytes: &[u8]| [&[0], bytes].concat();
    check_row((8, 0), &value(&7_i64.to_le_bytes()), Some(7));
    check_row((3, 0), &value(&(-7_i32).to_le_bytes()), Some(-7));
    check_row((1, 0x20), &value(&[0xff]), Some(255));
    check_row((246, 0), &value(b"\x0242"), Some(42));
    check_row((253, 0), &value(b"\x02no"), None);
    check_row((8, 0), &value(&[]), None);
    check_row((8, 0), &[0b100], Some(0));
    let two = packets(&[&[1], COLUMN, EOF, b"\x019", b"\x018", EOF]);
    check(&two, Capture::Text, Ok((2, 0, Some(9))));
    check(&packets(&[&[1], COLUMN, EOF, &[0xfb], EOF]), Capture::Text, Ok((1, 0, Some(0))));
}

#[test]
fn cached_definitions_are_not_waited_for() {
    let cached = packets(&[&[1, 0], EOF, &[0, 0, 0], EOF]);
    let sent = packets(&[&[1, 1], COLUMN, EOF, &[0, 0, 0], EOF]);
    for bytes in [cached, sent] {
        let answer = Answer { rows: 1, changed: 0 };
        assert_eq!(whole::read(&bytes, Definitions::PerhapsCached), Some(answer));
        for cut in 0..=bytes.len() {
            let mut reply = Reply::new(Definitions::PerhapsCached, RowFormat::Text, None);
            assert_eq!(read_cut(&mut reply, &bytes, cut).unwrap().rows, 1);
        }
    }
}

#[test]
fn a_row_of_several_packets_is_one_row() {
    let part = vec![b'x'; CONTINUED];
    let bytes = packets(&[&[1], COLUMN, EOF, &part, b"tail", &[0, 0, 0], EOF]);
    for cut in [0, 100, 70_000, bytes.len() - 20, bytes.len() - 3] {
        let mut reply = Reply::new(Definitions::Always, RowFormat::Text, None);
        assert_eq!(read_cut(&mut reply, &bytes, cut).unwrap().rows, 2);
    }
}

#[test]
fn garbage_never_panics() {
    let mut random = Random::new(9, 0);
    for _ in 0..20_000 {
        let length = random.below(80);
        let mut bytes: Vec<u8> = (0..length).map(|_| random.bits() as u8).collect();
        // Short packets, or nothing beyond the first would ever be looked at.
        for at in [1, 2, 9, 10] {
            if let Some(byte) = bytes.get_mut(at) {
                *byte = 0;
            }
        }
        let _ = whole::read(&bytes, Definitions::Always);
        let width = 1 << random.below(4);
        let integer = Column::Integer { width, unsigned: true };
        let mut columns = vec![integer, Column::Bytes, Column::Unknown];
        let mut take = |row: &mut dyn crate::wire::Row| while row.next().is_some() {};
        let mut each = Each(&mut take);
        let format = RowFormat::Binary(Described { columns: &mut columns, texts: 6 });
        let mut reply = Reply::new(Definitions::PerhapsCached, format, Some(&mut each));
        let mut unread = bytes.as_slice();
        while let Ok(used) = reply.read(unread) {
            if used == 0 || reply.is_done() {
                break;
            }
            unread = unread.get(used..).unwrap_or_default();
        }
    }
}
