//! What a MySQL server answers to a text statement.

use super::packet::PacketStream;
use crate::session::{Rows, SqlError};

/// Status flag: another result follows.
const MORE_RESULTS: u16 = 0x0008;

/// Error number under which MariaDB reports progress instead of an error.
const PROGRESS: u16 = 0xffff;

/// First byte of a packet that asks for the content of a local file.
const LOCAL_INFILE: u8 = 0xfb;

/// What the first packet of an answer says.
pub(super) enum Answer {
    /// The statement is done.
    Done(Rows),
    /// The server waits for the content of the file that the statement names.
    WantsFile,
}

/// Reads the whole answer to a statement, or up to the point where the server wants a file. Of
/// several results the first with columns is kept, and the changed rows are added up.
pub(super) fn read(stream: &mut PacketStream) -> Result<Answer, SqlError> {
    let mut all = Rows::default();
    loop {
        let first = read_packet(stream)?;
        let status = match first.first() {
            Some(0x00) => {
                let (changed, status) = ok(&first).ok_or_else(malformed)?;
                all.changed += changed;
                status
            }
            Some(&LOCAL_INFILE) => return Ok(Answer::WantsFile),
            _ => {
                let mut columns = Cursor(&first).integer().ok_or_else(malformed)?;
                let (rows, status) = result_set(stream, &mut columns)?;
                if all.columns.is_empty() {
                    let changed = all.changed;
                    all = Rows { changed, ..rows };
                }
                status
            }
        };
        if status & MORE_RESULTS == 0 {
            return Ok(Answer::Done(all));
        }
    }
}

/// The error that an ERR packet says.
pub(super) fn error(packet: &[u8]) -> SqlError {
    let Some((code, rest)) = packet.get(1..3).zip(packet.get(3..)) else { return malformed() };
    let code = u16::from_le_bytes([code[0], code[1]]);
    let text = match rest {
        [b'#', _, _, _, _, _, text @ ..] => text,
        text => text,
    };
    // Too many connections, shutdown in progress, killed, host blocked: nothing follows.
    let lost = matches!(code, 1040 | 1053 | 1129 | 1130 | 1927 | 3169);
    SqlError {
        code: code.to_string(),
        message: String::from_utf8_lossy(text).trim_end().to_owned(),
        lost,
    }
}

/// Reads the answer to a prepared INSERT; the number of rows stored.
pub(super) fn read_changed(stream: &mut PacketStream) -> Result<u64, SqlError> {
    Ok(ok(&read_packet(stream)?).ok_or_else(malformed)?.0)
}

/// Reads the answer to a PREPARE of a statement without result columns; the number of the
/// statement.
pub(super) fn read_prepared(stream: &mut PacketStream) -> Result<u32, SqlError> {
    let packet = read_packet(stream)?;
    let [0x00, id @ .., _, _, _, _, _, _, _] = &packet[..packet.len().min(12)] else {
        return Err(malformed());
    };
    let id = u32::from_le_bytes(id.try_into().map_err(|_| malformed())?);
    let parameters = packet.get(7..9).map(|n| u16::from_le_bytes([n[0], n[1]]));
    // One definition for each parameter, then an EOF packet.
    let packets = parameters.filter(|n| *n > 0).map_or(0, |n| u32::from(n) + 1);
    for _ in 0..packets {
        read_packet(stream)?;
    }
    Ok(id)
}

/// The next packet that is neither an error nor a report of progress.
fn read_packet(stream: &mut PacketStream) -> Result<Vec<u8>, SqlError> {
    loop {
        let packet = stream.read()?;
        match packet.as_slice() {
            [] => return Err(malformed()),
            [0xff, low, high, ..] if u16::from_le_bytes([*low, *high]) == PROGRESS => {}
            [0xff, ..] => return Err(error(&packet)),
            _ => return Ok(packet),
        }
    }
}

/// Column definitions and rows, each closed by an EOF packet.
fn result_set(stream: &mut PacketStream, columns: &mut u64) -> Result<(Rows, u16), SqlError> {
    let mut set = Rows::default();
    loop {
        let packet = read_packet(stream)?;
        if is_eof(&packet) {
            break;
        }
        let mut cursor = Cursor(&packet);
        // Catalog, schema, table, original table; then the name that the statement gave.
        let name = (0..5).map(|_| cursor.text()).last().flatten().flatten();
        set.columns.push(name.ok_or_else(malformed)?);
    }
    if u64::try_from(set.columns.len()).ok() != Some(*columns) {
        return Err(malformed());
    }
    loop {
        let packet = read_packet(stream)?;
        if is_eof(&packet) {
            let status = packet.get(3..5).map(|s| u16::from_le_bytes([s[0], s[1]]));
            return Ok((set, status.ok_or_else(malformed)?));
        }
        let mut cursor = Cursor(&packet);
        let row: Option<Vec<_>> = set.columns.iter().map(|_| cursor.text()).collect();
        set.rows.push(row.ok_or_else(malformed)?);
    }
}

fn is_eof(packet: &[u8]) -> bool {
    packet.first() == Some(&0xfe) && packet.len() < 9
}

/// Changed rows and status of an OK packet.
fn ok(packet: &[u8]) -> Option<(u64, u16)> {
    let mut cursor = Cursor(packet.get(1..)?);
    let changed = cursor.integer()?;
    let _last_insert_id = cursor.integer()?;
    let status = cursor.take(2)?;
    Some((changed, u16::from_le_bytes([status[0], status[1]])))
}

fn malformed() -> SqlError {
    SqlError::lost("the server sent a packet that is not of the MySQL protocol")
}

/// Takes length-encoded values off the front of a packet.
struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    fn integer(&mut self) -> Option<u64> {
        let width = match self.take(1)?[0] {
            small @ 0..=0xfa => return Some(u64::from(small)),
            0xfc => 2,
            0xfd => 3,
            0xfe => 8,
            0xfb | 0xff => return None,
        };
        let mut bytes = [0; 8];
        bytes[..width].copy_from_slice(self.take(width)?);
        Some(u64::from_le_bytes(bytes))
    }

    /// A text; the inner `None` is NULL.
    fn text(&mut self) -> Option<Option<String>> {
        if self.0.first() == Some(&0xfb) {
            self.0 = &self.0[1..];
            return Some(None);
        }
        let length = usize::try_from(self.integer()?).ok()?;
        Some(Some(String::from_utf8_lossy(self.take(length)?).into_owned()))
    }
}

#[cfg(test)]
mod tests;
