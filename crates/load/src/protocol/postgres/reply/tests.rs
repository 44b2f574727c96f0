use super::*;
use crate::protocol::postgres::whole;
use crate::wire::rows::Each;
use values::Random;

fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let length = (body.len() as u32 + 4).to_be_bytes();
    [&[kind][..], &length, body].concat()
}

fn messages(all: &[(u8, &[u8])]) -> Vec<u8> {
    all.iter().flat_map(|(kind, body)| message(*kind, body)).collect()
}

const READY: (u8, &[u8]) = (b'Z', b"I");
const BOUND: (u8, &[u8]) = (b'2', b"");

/// A description of one column with this type.
fn columns(oid: u32) -> Vec<u8> {
    [&b"\0\x01c\0\0\0\x40\0\0\x03"[..], &oid.to_be_bytes(), b"\xff\xff\0\0\0\0\0\x01"].concat()
}

/// A row of one value.
fn row(value: &[u8]) -> Vec<u8> {
    [&[0, 1][..], &(value.len() as u32).to_be_bytes(), value].concat()
}

/// How the first value of the first row is read, if at all; NULL is 0.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Capture {
    No,
    Text,
    Binary,
}

/// Reads an answer that arrives in two pieces, cut at `cut`, as the client's loop does; with the
/// captured value.
fn read_cut(
    capture: Capture,
    bytes: &[u8],
    cut: usize,
) -> Result<(u64, u64, Option<i64>), Failure> {
    let (mut captured, mut rows, mut types) = (None, 0, Vec::new());
    let mut take = |row: &mut dyn Row| {
        rows += 1;
        if let (1, Some(value)) = (rows, row.next()) {
            captured = if value == Value::Null { Some(0) } else { value.integer() };
        }
    };
    let mut each = Each(&mut take);
    let binary = capture == Capture::Binary;
    let taker = Taker { rows: &mut each, types: &mut types, binary };
    let mut reply = Reply::new(Some(taker).filter(|_| capture != Capture::No));
    let mut unread: Vec<u8> = Vec::new();
    for piece in [&bytes[..cut], &bytes[cut..]] {
        unread.extend_from_slice(piece);
        let used = reply.read(&unread)?;
        unread.drain(..used);
        if reply.wants_rows {
            return Err(reply.into_answer().unwrap_err());
        }
    }
    assert!(reply.is_done(), "not done when cut at {cut}");
    assert_eq!(unread, b"", "left over when cut at {cut}");
    let answer = reply.into_answer()?;
    Ok((answer.rows, answer.changed, captured))
}

/// Rows, changed rows and the captured value, or code and message.
type Expected<'a> = Result<(u64, u64, Option<i64>), (&'a str, &'a str)>;

/// The same answer must come out wherever the bytes are cut, and from the reader of whole answers,
/// if it takes them at all.
fn check(bytes: &[u8], capture: Capture, expected: Expected<'_>) {
    if let Some(answer) = whole::read(bytes) {
        assert_eq!(
            Ok((answer.rows, answer.changed)),
            expected.map(|(rows, changed, _)| (rows, changed))
        );
    }
    for cut in 0..=bytes.len() {
        let got = read_cut(capture, bytes, cut);
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
    let (columns, row) = (columns(1042), row(&[b'x'; 120]));
    let select =
        [BOUND, (b'T', &columns), (b'D', &row), (b'D', &row), (b'C', b"SELECT 2\0"), READY];
    check(&messages(&select), Capture::No, Ok((2, 0, None)));
    let update = [BOUND, (b'n', b""), (b'C', b"UPDATE 10\0"), READY];
    check(&messages(&update), Capture::No, Ok((0, 10, None)));
    let insert = [(b'N', &b"Vnotice\0\0"[..]), (b'C', b"INSERT 0 25\0"), READY];
    check(&messages(&insert), Capture::No, Ok((0, 25, None)));
    check(&messages(&[BOUND, (b'C', b"COMMIT\0"), READY]), Capture::No, Ok((0, 0, None)));
    check(&messages(&[(b'1', b""), READY]), Capture::No, Ok((0, 0, None)));
}

#[test]
fn usual_answers_are_read_whole_and_all_others_are_left() {
    let (columns, row) = (columns(23), row(&[0, 0, 0, 7]));
    let bytes = messages(&[BOUND, (b'T', &columns), (b'D', &row), (b'C', b"SELECT 1\0"), READY]);
    let answer = |rows, changed| Some(Answer { rows, changed });
    assert_eq!(whole::read(&bytes), answer(1, 0));
    let update = messages(&[BOUND, (b'n', b""), (b'C', b"UPDATE 10\0"), READY]);
    assert_eq!(whole::read(&update), answer(0, 10));
    for cut in 0..bytes.len() {
        assert_eq!(whole::read(&bytes[..cut]), None, "cut at {cut}");
    }
    let error = messages(&[BOUND, (b'E', b"VERROR\0C42601\0Msyntax\0\0"), READY]);
    let two = messages(&[READY, READY]);
    let several = [(b'C', &b"UPDATE 2\0"[..]), (b'C', b"SELECT 1\0"), READY];
    check(&messages(&several), Capture::No, Ok((0, 2, None)));
    for bytes in [error, two, messages(&several)] {
        assert_eq!(whole::read(&bytes), None);
    }
}

#[test]
fn an_error_comes_out_when_the_server_is_ready_again() {
    let error = (b'E', &b"SERROR\0VERROR\0C40P01\0Mdeadlock detected\0\0"[..]);
    let bytes = messages(&[BOUND, error, READY]);
    check(&bytes, Capture::No, Err(("40P01", "deadlock detected")));
    assert_eq!(read_cut(Capture::No, &bytes, 0).unwrap_err().kind(), FailureKind::Retry);
    let plain = messages(&[(b'E', b"VERROR\0C42601\0Msyntax\0\0"), READY]);
    assert_eq!(read_cut(Capture::No, &plain, 0).unwrap_err().kind(), FailureKind::Statement);
    check(&messages(&[(b'G', b"\0\0\0"), READY]), Capture::No, Err(("lost", "kind `G`")));
    check(b"Z\0\0\0\x03I", Capture::No, Err(("lost", "without length")));
}

#[test]
fn a_fatal_error_is_the_reason_of_a_lost_connection() {
    let bytes = message(b'E', b"SFATAL\0VFATAL\0C57P01\0Mshutting down\0\0");
    let mut reply = Reply::new(None);
    assert_eq!(reply.read(&bytes), Ok(bytes.len()));
    assert!(!reply.is_done());
    let failure = reply.farewell().unwrap();
    assert_eq!((failure.kind(), failure.code()), (FailureKind::Lost, "57P01"));
}

#[test]
fn captured_values_are_read_by_type() {
    let answer = |oid, value: &[u8]| {
        let (columns, row) = (columns(oid), row(value));
        messages(&[BOUND, (b'T', &columns), (b'D', &row), (b'C', b"SELECT 1\0"), READY])
    };
    let binary = Capture::Binary;
    check(&answer(20, &7_i64.to_be_bytes()), binary, Ok((1, 0, Some(7))));
    check(&answer(23, &(-7_i32).to_be_bytes()), binary, Ok((1, 0, Some(-7))));
    check(&answer(21, &[0x01, 0x00]), binary, Ok((1, 0, Some(256))));
    check(&answer(25, b"42"), binary, Ok((1, 0, Some(42))));
    check(&answer(23, b"1234"), Capture::Text, Ok((1, 0, Some(1234))));
    check(&answer(25, b"no"), binary, Ok((1, 0, None)));
    check(&answer(701, &(-5.0_f64).to_be_bytes()), binary, Ok((1, 0, Some(-5))));
    check(&answer(701, &5.5_f64.to_be_bytes()), binary, Ok((1, 0, None)));
    check(&answer(701, &1e18_f64.to_be_bytes()), binary, Ok((1, 0, None)));
    // The sum of a `bigint`.
    let sum = [0, 2, 0, 1, 0, 0, 0, 0, 0, 1, 0x09, 0x29];
    check(&answer(1700, &sum), binary, Ok((1, 0, Some(12_345))));
    let null = b"\0\x01\xff\xff\xff\xff";
    let columns = columns(20);
    let bytes = messages(&[(b'T', &columns), (b'D', null), (b'C', b"SELECT 1\0"), READY]);
    check(&bytes, binary, Ok((1, 0, Some(0))));
}

#[test]
fn garbage_never_panics() {
    let mut random = Random::new(9, 0);
    for _ in 0..20_000 {
        let length = random.below(60);
        let mut bytes: Vec<u8> = (0..length).map(|_| random.bits() as u8).collect();
        // Messages that exist and are short, or nothing beyond the first would ever be looked at.
        if let [kind, a, b, c, ..] = bytes.as_mut_slice() {
            *kind = b"DTCEZNS2"[usize::from(*kind % 8)];
            (*a, *b, *c) = (0, 0, 0);
        }
        let _ = whole::read(&bytes);
        let mut take = |row: &mut dyn Row| while row.next().is_some() {};
        let (mut each, mut types) = (Each(&mut take), vec![20, 23]);
        let taker = Taker { rows: &mut each, types: &mut types, binary: true };
        let mut reply = Reply::new(Some(taker));
        let mut unread = bytes.as_slice();
        while let Ok(used) = reply.read(unread) {
            if used == 0 || reply.is_done() {
                break;
            }
            unread = unread.get(used..).unwrap_or_default();
        }
    }
}

#[test]
fn tags_tell_the_rows_changed() {
    let check = |tag: &str, expected: u64| assert_eq!(changed(tag.as_bytes()), expected, "{tag}");
    check("INSERT 0 12", 12);
    check("COPY 1000000", 1_000_000);
    check("SELECT 5", 0);
    check("CREATE TABLE", 0);
    check("UPDATE", 0);
    check("", 0);
}
