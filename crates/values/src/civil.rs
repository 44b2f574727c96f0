//! Seconds since 1970 as a date and a time of day, UTC.

use std::fmt;

/// A date of the Gregorian calendar with its time of day, UTC, without leap seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Civil {
    /// Year, from 1970.
    pub year: u64,
    /// Month, 1 to 12.
    pub month: u64,
    /// Day of the month, 1 to 31.
    pub day: u64,
    /// Hour, 0 to 23.
    pub hour: u64,
    /// Minute, 0 to 59.
    pub minute: u64,
    /// Second, 0 to 59.
    pub second: u64,
}

impl Civil {
    /// The moment so many seconds after the start of 1970. Pure arithmetic, so that a worker of the
    /// load engine may use it. Days to dates after Howard Hinnant, "chrono-compatible low-level
    /// date algorithms", `civil_from_days`: its year begins in March, so that the leap day is last.
    pub fn of(seconds: u64) -> Self {
        let days = seconds / 86_400 + 719_468;
        let (era, day_of_era) = (days / 146_097, days % 146_097);
        let year_of_era =
            (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let shifted = (5 * day_of_year + 2) / 153;
        let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
        Self {
            year: year_of_era + era * 400 + u64::from(month <= 2),
            month,
            day: day_of_year - (153 * shifted + 2) / 5 + 1,
            hour: seconds / 3600 % 24,
            minute: seconds / 60 % 60,
            second: seconds % 60,
        }
    }
}

impl Civil {
    /// Seconds since the start of 1970: the other way round, `days_from_civil` of the same source.
    pub fn seconds(self) -> u64 {
        let year = self.year - u64::from(self.month <= 2);
        let (era, year_of_era) = (year / 400, year % 400);
        let shifted = (self.month + 9) % 12;
        let day_of_year = (153 * shifted + 2) / 5 + self.day - 1;
        let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
        let days = era * 146_097 + day_of_era - 719_468;
        days * 86_400 + self.hour * 3600 + self.minute * 60 + self.second
    }

    /// A moment written `YYYY-MM-DD` or `YYYY-MM-DD HH:MM:SS`, from 1970 to 9999, or none.
    pub fn parse(text: &str) -> Option<Self> {
        let (date, time) = text.split_once([' ', 'T']).unwrap_or((text, "00:00:00"));
        let [year, month, day] = parts(date, '-', [4, 2, 2])?;
        let [hour, minute, second] = parts(time, ':', [2, 2, 2])?;
        let civil = Self { year, month, day, hour, minute, second };
        // A date that does not exist, such as the 30th of February, is another one when read back.
        let good = year >= 1970 && (1..=12).contains(&month) && day >= 1 && hour < 24;
        let good = good && minute < 60 && second < 60;
        (good && Self::of(civil.seconds()) == civil).then_some(civil)
    }
}

impl fmt::Display for Civil {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { year, month, day, hour, minute, second } = self;
        write!(f, "{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}")
    }
}

/// Three numbers of so many digits.
fn parts(text: &str, mark: char, digits: [usize; 3]) -> Option<[u64; 3]> {
    let mut numbers = [0; 3];
    let mut texts = text.split(mark);
    for (number, digits) in numbers.iter_mut().zip(digits) {
        let text = texts.next()?;
        if text.len() != digits || !text.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        *number = text.parse().ok()?;
    }
    texts.next().is_none().then_some(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_read_and_written() {
        for seconds in [0, 951_782_400, 951_868_800, 1_234_567_890, 4_107_542_400] {
            let civil = Civil::of(seconds);
            assert_eq!(civil.seconds(), seconds);
            assert_eq!(Civil::parse(&civil.to_string()), Some(civil));
        }
        assert_eq!(Civil::parse("2009-02-13 23:31:30").unwrap().seconds(), 1_234_567_890);
        assert_eq!(Civil::parse("2000-02-29").unwrap().to_string(), "2000-02-29 00:00:00");
        for wrong in [
            "",
            "2001-02-29",
            "2000-13-01",
            "1969-12-31",
            "2000-1-1",
            "20000101",
            "2000-01-01 24:00:00",
            "2000-01-01 00:00",
            "2000-01-01-01",
            "+200-01-01",
        ] {
            assert_eq!(Civil::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn seconds_become_dates() {
        let check = |seconds: u64, date: [u64; 3], time: [u64; 3]| {
            let [year, month, day] = date;
            let [hour, minute, second] = time;
            let expected = Civil { year, month, day, hour, minute, second };
            assert_eq!(Civil::of(seconds), expected, "{seconds}");
        };
        check(0, [1970, 1, 1], [0, 0, 0]);
        check(951_782_399, [2000, 2, 28], [23, 59, 59]);
        check(951_782_400, [2000, 2, 29], [0, 0, 0]);
        check(59 * 86_400, [1970, 3, 1], [0, 0, 0]);
        check(20_453 * 86_400, [2025, 12, 31], [0, 0, 0]);
        check(20_454 * 86_400, [2026, 1, 1], [0, 0, 0]);
        check(951_868_800, [2000, 3, 1], [0, 0, 0]);
        check(1_234_567_890, [2009, 2, 13], [23, 31, 30]);
        check(4_102_444_799, [2099, 12, 31], [23, 59, 59]);
        check(4_107_542_400, [2100, 3, 1], [0, 0, 0]);
    }
}
