//! The content of a file: unpacked, and checked to be text.

use crate::Fault;
use flate2::bufread::GzDecoder;
use std::io::{self, BufRead, BufReader, Read};

/// A file larger than this is no result file of a known format.
const BYTES_MAX: u64 = 256 << 20;

/// What could be read of a file.
#[derive(Debug, Default)]
pub(crate) struct Content {
    bytes: Vec<u8>,
    /// How many of the bytes are not damaged.
    sound: usize,
    /// Why there is no more.
    failure: Option<io::Error>,
}

/// The text of a file.
#[derive(Debug, Default)]
pub(crate) struct Text {
    pub(crate) bytes: Vec<u8>,
    /// Why the file holds more than these lines.
    pub(crate) damage: Option<Fault>,
}

/// How a file is packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Packing {
    None,
    Gzip,
}

impl Packing {
    /// The packing that the ending of a path tells.
    pub(crate) fn of(path: &str) -> Self {
        if path.ends_with(".gz") { Self::Gzip } else { Self::None }
    }
}

impl Content {
    /// At most `limit` bytes, and one more of a file that has more.
    pub(crate) fn read(from: impl Read, packing: Packing, limit: u64) -> Self {
        let mut content = Self::default();
        let limit = limit.min(BYTES_MAX).saturating_add(1);
        let outcome = match packing {
            Packing::Gzip => content.unpack(from, limit),
            Packing::None => {
                let outcome = from.take(limit).read_to_end(&mut content.bytes);
                content.sound = content.bytes.len();
                outcome.map(drop)
            }
        };
        content.failure = outcome.err();
        content.decode(limit);
        content
    }

    /// UTF-16 with a mark of byte order, as PowerShell redirects output, becomes UTF-8. What is not
    /// whole stays as it is, and is no text.
    fn decode(&mut self, limit: u64) {
        let unit = match self.bytes.get(..2) {
            Some([0xff, 0xfe]) => u16::from_le_bytes,
            Some([0xfe, 0xff]) => u16::from_be_bytes,
            _ => return,
        };
        let length = self.bytes.len() as u64;
        let pairs = self.bytes[2..].chunks_exact(2);
        // Only a beginning may end within a character.
        let is_whole = pairs.remainder().is_empty() || length == limit;
        if self.failure.is_some() || length > BYTES_MAX || !is_whole {
            return;
        }
        let units: Vec<u16> = pairs.map(|pair| unit([pair[0], pair[1]])).collect();
        if let Ok(text) = String::from_utf16(&units) {
            self.bytes = text.into_bytes();
            self.sound = self.bytes.len();
        }
    }

    /// Unpacks one member after the other. One that is cut is sound as far as it goes; one that is
    /// corrupt may be so from its start.
    fn unpack(&mut self, from: impl Read, limit: u64) -> io::Result<()> {
        let mut from = BufReader::new(from);
        loop {
            let left = limit.saturating_sub(self.bytes.len() as u64);
            if left == 0 || from.fill_buf()?.is_empty() {
                return Ok(());
            }
            let outcome = GzDecoder::new(&mut from).take(left).read_to_end(&mut self.bytes);
            let is_cut = |error: &io::Error| error.kind() == io::ErrorKind::UnexpectedEof;
            if outcome.as_ref().err().is_none_or(is_cut) {
                self.sound = self.bytes.len();
            }
            outcome?;
        }
    }

    /// A whole file, as far as files are read.
    pub(crate) fn whole(from: impl Read, packing: Packing) -> Self {
        Self::read(from, packing, BYTES_MAX)
    }

    /// Nothing, because of a failure.
    pub(crate) fn unreadable(failure: io::Error) -> Self {
        Self { failure: Some(failure), ..Self::default() }
    }

    /// The beginning, at most `count` bytes, whatever it holds.
    pub(crate) fn start(&self, count: usize) -> &[u8] {
        &self.bytes[..self.bytes.len().min(count)]
    }

    /// The content as text: UTF-8 without a mark of byte order and without zero bytes; of a damaged
    /// file the whole lines before the damage. Fails with the line at which it ends to be that.
    pub(crate) fn text(self) -> Result<Text, Fault> {
        let Self { mut bytes, sound, failure } = self;
        bytes.truncate(sound);
        let mut damage = None;
        if let Some(error) = failure {
            let from = if bytes.is_empty() { "" } else { " from here on" };
            let reason = format!("the file cannot be read{from}: {error}");
            let fault = Fault::new(line_of(&bytes, bytes.len()), reason);
            let end = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
            bytes.truncate(end);
            if bytes.is_empty() {
                return Err(fault);
            }
            damage = Some(fault);
        }
        if bytes.is_empty() {
            return Err(Fault::new(1, "the file is empty"));
        }
        if let Some(command) = unpacking(&bytes) {
            let reason = format!("the file is packed; unpack it (`{command}`), then import it");
            return Err(Fault::new(1, reason));
        }
        if bytes.len() as u64 > BYTES_MAX {
            let mib = BYTES_MAX >> 20;
            let reason = format!("the file is larger than {mib} MiB; split it");
            return Err(Fault::new(line_of(&bytes, bytes.len()), reason));
        }
        if let Some(place) = bytes.iter().position(|byte| *byte == 0) {
            let reason = "the line holds a zero byte, so this is no text; save it as UTF-8";
            return Err(Fault::new(line_of(&bytes, place), reason));
        }
        if let Err(error) = std::str::from_utf8(&bytes) {
            let place = error.valid_up_to();
            let byte = bytes.get(place).copied().unwrap_or_default();
            let reason = format!(
                "the line is not UTF-8, as it holds the byte 0x{byte:02x}; convert the file, for \
                 example with `iconv -f latin1 -t utf-8`"
            );
            return Err(Fault::new(line_of(&bytes, place), reason));
        }
        if bytes.starts_with(MARK) {
            bytes.drain(..MARK.len());
        }
        Ok(Text { bytes, damage })
    }
}

/// What some editors write at the start of UTF-8.
pub(crate) const MARK: &[u8] = "\u{feff}".as_bytes();

/// What packed files hold at a place, and the command that unpacks them.
static PACKED: [(usize, &[u8], &str); 6] = [
    (0, b"\x28\xb5\x2f\xfd", "zstd -d"),
    (0, b"\xfd7zXZ", "xz -d"),
    (0, b"\x1f\x8b", "gzip -d"),
    (0, b"PK\x03\x04", "unzip"),
    (4, b"1AY&SY", "bzip2 -d"),
    (257, b"ustar", "tar -x"),
];

/// The command that unpacks a file, where it is packed.
fn unpacking(bytes: &[u8]) -> Option<&'static str> {
    let packed = PACKED
        .iter()
        .find(|(place, magic, _)| bytes.get(*place..).is_some_and(|rest| rest.starts_with(magic)));
    packed.map(|(.., command)| *command)
}

/// The line that holds the byte at `place`, from 1.
fn line_of(bytes: &[u8], place: usize) -> u32 {
    let breaks = bytes[..place].iter().filter(|byte| **byte == b'\n').count();
    u32::try_from(breaks + 1).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_text_is_text() {
        let check = |bytes: &[u8], expected: Result<&[u8], (u32, &str)>| match (
            Content::whole(bytes, Packing::None).text(),
            expected,
        ) {
            (Ok(text), expected) => assert_eq!(Ok(text.bytes.as_slice()), expected),
            (Err(fault), Err((line, word))) => {
                assert!(fault.line == line && fault.reason.contains(word), "{fault:?}");
            }
            (Err(fault), Ok(_)) => panic!("{fault:?}"),
        };
        check(b"a\nb", Ok(b"a\nb"));
        check("\u{feff}é\n".as_bytes(), Ok("é\n".as_bytes()));
        check(b"", Err((1, "is empty")));
        check(b"a\nb\0\n", Err((2, "zero byte")));
        check(b"a\nb\nM\xfcller\n", Err((3, "0xfc")));
        check(b"a\n\xe2\x82", Err((2, "0xe2")));
        check(b"\xff\xfea\0\xe9\0\n\0", Ok("aé\n".as_bytes()));
        check(b"\xfe\xff\0a\0\n", Ok(b"a\n"));
        // Half a character, and half a pair.
        check(b"\xff\xfea\0b", Err((1, "zero byte")));
        check(b"\xff\xfea\0\0\xd8", Err((1, "zero byte")));
        let start = Content::read(b"\xff\xfea\0b\0".as_slice(), Packing::None, 4);
        assert_eq!(start.start(9), b"a");
    }

    #[test]
    fn packed_files_are_told_with_what_unpacks_them() {
        let check = |bytes: &[u8], command: &str| {
            let fault = Content::whole(bytes, Packing::None).text().unwrap_err();
            assert!(fault.line == 1 && fault.reason.contains(command), "{fault:?}");
        };
        check(b"\x28\xb5\x2f\xfd\0\0", "`zstd -d`");
        check(b"\x1f\x8b\x08\0", "`gzip -d`");
        check(b"BZh91AY&SY\xff", "`bzip2 -d`");
        check(b"PK\x03\x04\0", "`unzip`");
        let tar = [b"a.txt".as_slice(), &[0; 252], b"ustar\0", b"SQL statistics:\n"].concat();
        check(&tar, "`tar -x`");
    }

    #[test]
    fn a_file_that_cannot_be_unpacked_says_how_far_it_went() {
        let fault = Content::whole(b"no gzip".as_slice(), Packing::Gzip).text();
        let fault = fault.unwrap_err();
        assert!(fault.line == 1 && fault.reason.contains("cannot be read"), "{fault:?}");
    }
}
