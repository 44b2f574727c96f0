//! The values of a row, as text or by the types of its columns.

use super::reply::next_text;
use crate::wire::{Row, Value};

/// How a column is written in the binary protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Column {
    /// An integer of so many bytes.
    Integer { width: usize, unsigned: bool },
    /// A floating-point number of so many bytes.
    Real { width: usize },
    /// A text, or anything else that begins with its length.
    Bytes,
    /// A date or a time, which begins with its length as well, with so many digits of a second.
    Moment { kind: Moment, digits: usize },
    /// Its definition makes no sense.
    Unknown,
}

/// What a date or a time tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Moment {
    Date,
    DateAndTime,
    Time,
}

impl Column {
    /// The column of a definition that has so many texts at its head.
    pub(super) fn of(definition: &[u8], texts: usize) -> Self {
        let mut rest = definition;
        for _ in 0..texts {
            let Some((_, behind)) = next_text(rest) else { return Self::Unknown };
            rest = behind;
        }
        // Length of what follows, character set, width; then type, flags and decimals.
        let Some(&[kind, flags, _, decimals, ..]) = rest.get(7..) else { return Self::Unknown };
        let integer = |width| Self::Integer { width, unsigned: flags & 0x20 != 0 };
        // 31 says that there is no fixed number of them.
        let digits = if decimals <= 6 { usize::from(decimals) } else { 0 };
        let moment = |kind| Self::Moment { kind, digits };
        match kind {
            1 => integer(1),
            2 | 13 => integer(2),
            3 | 9 => integer(4),
            8 => integer(8),
            4 => Self::Real { width: 4 },
            5 => Self::Real { width: 8 },
            7 | 12 => moment(Moment::DateAndTime),
            10 => moment(Moment::Date),
            11 => moment(Moment::Time),
            _ => Self::Bytes,
        }
    }
}

impl Moment {
    /// The text that the server gives for bytes of the binary protocol, whose zeros at the end are
    /// left out.
    fn text(self, bytes: &[u8], digits: usize) -> Option<String> {
        let at = |place: usize| u32::from(bytes.get(place).copied().unwrap_or_default());
        let wide = |place: usize| (0..4).map(|byte| at(place + byte) << (8 * byte)).sum::<u32>();
        let (date, clock) = match self {
            Self::Time => (String::new(), 5),
            _ => (format!("{:04}-{:02}-{:02}", at(0) + (at(1) << 8), at(2), at(3)), 4),
        };
        if self == Self::Date {
            return Some(date);
        }
        let (sign, hours, gap) = match self {
            Self::Time if at(0) != 0 => ("-", wide(1).checked_mul(24)?.checked_add(at(5))?, ""),
            Self::Time => ("", wide(1).checked_mul(24)?.checked_add(at(5))?, ""),
            _ => ("", at(4), " "),
        };
        let mut text =
            format!("{date}{gap}{sign}{hours:02}:{:02}:{:02}", at(clock + 1), at(clock + 2));
        if digits > 0 {
            let fraction = format!("{:06}", wide(clock + 3));
            text.push('.');
            text.push_str(fraction.get(..digits)?);
        }
        Some(text)
    }
}

/// The columns of a prepared statement's result. Each execution tells them anew: their types follow
/// those of the arguments. A server that leaves them out means those of the execution before.
pub(super) struct Described<'c> {
    pub(super) columns: &'c mut Vec<Column>,
    /// Texts at the head of a definition.
    pub(super) texts: usize,
}

impl Described<'_> {
    /// Definitions of columns follow.
    pub(super) fn begin(&mut self) {
        self.columns.clear();
    }

    /// Takes one of them.
    pub(super) fn add(&mut self, definition: &[u8]) {
        self.columns.push(Column::of(definition, self.texts));
    }
}

/// A row whose values are texts.
pub(super) struct TextRow<'a>(pub(super) &'a [u8]);

impl Row for TextRow<'_> {
    fn next(&mut self) -> Option<Value<'_>> {
        if let [0xfb, rest @ ..] = self.0 {
            self.0 = rest;
            return Some(Value::Null);
        }
        let (text, rest) = next_text(self.0)?;
        self.0 = rest;
        Some(Value::Bytes(text))
    }
}

/// A row of the binary protocol.
pub(super) struct BinaryRow<'a> {
    columns: &'a [Column],
    /// The bitmap of NULLs behind the packet's first byte, then the values.
    nulls: &'a [u8],
    values: &'a [u8],
    /// The next column.
    at: usize,
    /// Of the last date or time.
    moment: String,
}

impl<'a> BinaryRow<'a> {
    pub(super) fn new(columns: &'a [Column], packet: &'a [u8]) -> Self {
        // The first two bits of the bitmap are reserved.
        let bitmap = (columns.len() + 9) / 8;
        let parts = packet.get(1..).and_then(|packet| packet.split_at_checked(bitmap));
        let (nulls, values) = parts.unwrap_or_default();
        Self { columns, nulls, values, at: 0, moment: String::new() }
    }

    fn take<const N: usize>(&mut self, width: usize) -> Option<[u8; N]> {
        let (taken, rest) = self.values.split_at_checked(width)?;
        self.values = rest;
        let mut bytes = [0; N];
        bytes.get_mut(..width)?.copy_from_slice(taken);
        Some(bytes)
    }
}

impl Row for BinaryRow<'_> {
    fn next(&mut self) -> Option<Value<'_>> {
        let column = *self.columns.get(self.at)?;
        let bit = self.at + 2;
        self.at += 1;
        if self.nulls.get(bit / 8)? >> (bit % 8) & 1 != 0 {
            return Some(Value::Null);
        }
        match column {
            Column::Integer { width, unsigned } => {
                let free = 64 - 8 * width as u32;
                let shifted = i64::from_le_bytes(self.take(width)?) << free;
                if unsigned {
                    let value = shifted as u64 >> free;
                    return Some(
                        i64::try_from(value).map_or(Value::Unsigned(value), Value::Integer),
                    );
                }
                Some(Value::Integer(shifted >> free))
            }
            // As few digits as tell it from its neighbors, as libmysqlclient has them.
            Column::Real { width: 4 } => {
                let value = f32::from_le_bytes(self.take(4)?);
                Some(Value::Real(value.to_string().parse().ok()?))
            }
            Column::Real { .. } => Some(Value::Real(f64::from_le_bytes(self.take(8)?))),
            Column::Moment { kind, digits } => {
                let (bytes, rest) = next_text(self.values)?;
                self.values = rest;
                self.moment = kind.text(bytes, digits)?;
                Some(Value::Bytes(self.moment.as_bytes()))
            }
            Column::Bytes => {
                let (text, rest) = next_text(self.values)?;
                self.values = rest;
                Some(Value::Bytes(text))
            }
            Column::Unknown => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_type_of_a_column_is_found() {
        let integer = b"\x03def\0\0\0\x01n\0\x0c\x3f\0\x15\0\0\0\x03\x20\0\0\0\0";
        let expected = Column::Integer { width: 4, unsigned: true };
        assert_eq!(Column::of(integer, 6), expected);
        assert_eq!(Column::of(&integer[..9], 6), Column::Unknown);
        let extended = b"\x03def\0\0\0\x01n\0\0\x0c\x3f\0\x15\0\0\0\x03\x20\0\0\0\0";
        assert_eq!(Column::of(extended, 7), expected);
    }

    #[test]
    fn values_follow_each_other_by_type_and_nulls_take_no_room() {
        let integer = |width| Column::Integer { width, unsigned: false };
        let columns = [integer(4), Column::Bytes, integer(8), Column::Real { width: 8 }];
        let mut packet = vec![0, 0b0001_0000];
        packet.extend_from_slice(&(-3_i32).to_le_bytes());
        packet.extend_from_slice(b"\x02ab");
        packet.extend_from_slice(&1.5_f64.to_le_bytes());
        let mut row = BinaryRow::new(&columns, &packet);
        assert_eq!(row.next(), Some(Value::Integer(-3)));
        assert_eq!(row.next(), Some(Value::Bytes(b"ab")));
        assert_eq!(row.next(), Some(Value::Null));
        assert_eq!(row.next(), Some(Value::Real(1.5)));
        assert_eq!(row.next(), None);
    }

    #[test]
    fn a_short_real_has_the_digits_that_it_was_written_with() {
        let columns = [Column::Real { width: 4 }];
        let packet = [&[0, 0], &0.1_f32.to_le_bytes()[..]].concat();
        let text = BinaryRow::new(&columns, &packet).next().and_then(|value| value.text());
        assert_eq!(text.as_deref(), Some("0.1"));
    }

    #[test]
    fn integers_without_a_sign_keep_their_last_bit() {
        let columns = [Column::Integer { width: 8, unsigned: true }; 2];
        let packet = [&[0, 0], &u64::MAX.to_le_bytes()[..], &7_u64.to_le_bytes()].concat();
        let mut row = BinaryRow::new(&columns, &packet);
        assert_eq!(row.next(), Some(Value::Unsigned(u64::MAX)));
        assert_eq!(row.next(), Some(Value::Integer(7)));
    }

    #[test]
    fn dates_and_times_are_the_texts_of_the_server() {
        use Moment::{Date, DateAndTime, Time};
        let check = |kind: Moment, digits, bytes: &[u8], expected: &str| {
            let packet = [&[0, 0, bytes.len() as u8], bytes].concat();
            let columns = [Column::Moment { kind, digits }];
            let mut row = BinaryRow::new(&columns, &packet);
            assert_eq!(row.next(), Some(Value::Bytes(expected.as_bytes())));
        };
        check(Date, 0, &[0xea, 7, 11, 27], "2026-11-27");
        check(DateAndTime, 0, &[], "0000-00-00 00:00:00");
        check(DateAndTime, 0, &[0xea, 7, 1, 2], "2026-01-02 00:00:00");
        let whole = [0xea, 7, 1, 2, 3, 4, 5, 0x40, 0xe2, 1, 0];
        check(DateAndTime, 3, &whole, "2026-01-02 03:04:05.123");
        check(Time, 0, &[], "00:00:00");
        check(Time, 6, &[1, 34, 0, 0, 0, 22, 59, 59, 1, 0, 0, 0], "-838:59:59.000001");
    }
}
