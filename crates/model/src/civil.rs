//! Seconds since 1970 as a date and a time of day, UTC.

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

#[cfg(test)]
mod tests {
    use super::*;

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
