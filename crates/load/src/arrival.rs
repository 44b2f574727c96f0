//! When operations are due: at once in a closed loop, or after pauses, and at intended times in an
//! open one.
//!
//! Nothing aborts at overload: operations whose turn never comes before the end are counted as
//! dropped, and the wait of all others is part of their response time.

use model::{
    drive::StretchEnd,
    workload::{Arrival, Spacing},
};
use values::Random;

/// Stream of the arrival times, apart from those of the values (which count up from 0): operations
/// are the same whatever the arrival is.
const ARRIVAL_STREAM: u64 = 1 << 63;

/// The longest time to think, in means: that of TPC-C.
const THINK_MEANS_MAX: f64 = 10.0;

/// Which connection of a role it is.
#[derive(Debug, Clone, Copy)]
pub struct Member {
    /// Index among the connections of the role.
    pub index: u32,
    /// Connections of the role.
    pub clients: u32,
}

/// The intended start times of one connection.
#[derive(Debug, Clone)]
pub struct Schedule {
    pace: Pace,
    /// Time of the next operation from the barrier on, nanoseconds.
    next: f64,
}

#[derive(Debug, Clone)]
enum Pace {
    /// Every operation is due at once.
    Closed,
    /// Every operation has pauses before and after it.
    Terminal { random: Random },
    /// Nanoseconds between the operations of this connection.
    Even { gap: f64 },
    /// Exponential gaps with this mean, nanoseconds.
    Poisson { gap_mean: f64, random: Random },
}

impl Schedule {
    /// The schedule of a connection; all of its role share the rate evenly. `seed` is that of the
    /// stretch.
    pub fn new(arrival: Arrival, seed: u64, member: Member) -> Self {
        let Member { index, clients } = member;
        let Arrival::Open { per_second, spacing } = arrival else {
            return Self { pace: Pace::Closed, next: 0.0 };
        };
        let together = 1e9 / per_second;
        let gap = together * f64::from(clients);
        match spacing {
            // Connections take turns, so that the whole is even and not only each connection.
            Spacing::Even => Self { pace: Pace::Even { gap }, next: together * f64::from(index) },
            Spacing::Poisson => {
                let stream = ARRIVAL_STREAM + u64::from(index);
                let mut random = Random::new(seed, stream);
                let next = exponential(gap, &mut random);
                Self { pace: Pace::Poisson { gap_mean: gap, random }, next }
            }
        }
    }

    /// That of a connection whose operations have pauses. `seed` is that of the stretch.
    pub fn at_a_terminal(seed: u64, member: Member) -> Self {
        let random = Random::new(seed, ARRIVAL_STREAM + u64::from(member.index));
        Self { pace: Pace::Terminal { random }, next: 0.0 }
    }

    /// Whether operations have pauses.
    pub fn has_pauses(&self) -> bool {
        matches!(self.pace, Pace::Terminal { .. })
    }

    /// A time to think, nanoseconds, from an exponential distribution with this mean, milliseconds.
    pub fn think(&mut self, mean_ms: u64) -> u64 {
        let Pace::Terminal { random } = &mut self.pace else { return 0 };
        let mean = mean_ms as f64 * 1e6;
        exponential(mean, random).min(THINK_MEANS_MAX * mean) as u64
    }

    /// Whether operations have intended start times.
    pub fn is_open(&self) -> bool {
        matches!(self.pace, Pace::Even { .. } | Pace::Poisson { .. })
    }

    /// Intended start of the next operation, nanoseconds from the barrier on; 0 in a closed loop.
    #[inline(never)]
    pub fn take(&mut self) -> u64 {
        let due = self.next;
        match &mut self.pace {
            Pace::Closed | Pace::Terminal { .. } => {}
            Pace::Even { gap } => self.next += *gap,
            Pace::Poisson { gap_mean, random } => self.next += exponential(*gap_mean, random),
        }
        due as u64
    }
}

fn exponential(mean: f64, random: &mut Random) -> f64 {
    // 1 - unit() is in (0, 1], where the logarithm is finite.
    -mean * (1.0 - random.unit()).ln()
}

/// When a connection stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    /// Operations at most.
    pub operations: u64,
    /// Time from the barrier on, nanoseconds.
    pub time: u64,
}

impl Limit {
    /// No limit.
    pub const NONE: Self = Self { operations: u64::MAX, time: u64::MAX };

    /// The limit of each connection in a stretch.
    pub fn new(end: StretchEnd) -> Self {
        match end {
            StretchEnd::Operations(operations) => Self { operations, time: u64::MAX },
            StretchEnd::Seconds(seconds) => {
                Self { operations: u64::MAX, time: (seconds * 1e9) as u64 }
            }
            StretchEnd::Roles => Self::NONE,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schedule(arrival: Arrival, index: u32, clients: u32) -> Schedule {
        Schedule::new(arrival, 3, Member { index, clients })
    }

    fn open(per_second: f64, spacing: Spacing) -> Arrival {
        Arrival::Open { per_second, spacing }
    }

    #[test]
    fn even_connections_take_turns() {
        let mut times: Vec<u64> = (0..4)
            .flat_map(|index| {
                let mut schedule = schedule(open(1000.0, Spacing::Even), index, 4);
                (0..5).map(move |_| schedule.take())
            })
            .collect();
        times.sort_unstable();
        let expected: Vec<u64> = (0..20).map(|n| n * 1_000_000).collect();
        assert_eq!(times, expected);
    }

    #[test]
    fn poisson_gaps_have_their_mean_and_spread() {
        let mut schedule = schedule(open(1000.0, Spacing::Poisson), 0, 2);
        let mut last = 0;
        let gaps: Vec<f64> = (0..50_000)
            .map(|_| {
                let time = schedule.take();
                let gap = (time - last) as f64;
                last = time;
                gap
            })
            .collect();
        let mean = gaps.iter().sum::<f64>() / 50_000.0;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / 50_000.0;
        assert!((mean / 2e6 - 1.0).abs() < 0.02, "mean {mean}");
        assert!((variance.sqrt() / mean - 1.0).abs() < 0.03, "deviation {}", variance.sqrt());
    }

    #[test]
    fn a_closed_loop_is_always_due() {
        let mut schedule = schedule(Arrival::Closed, 0, 1);
        assert!(!schedule.is_open());
        assert_eq!([schedule.take(), schedule.take()], [0, 0]);
    }

    #[test]
    fn users_think_for_ten_means_at_most() {
        let mut schedule = Schedule::at_a_terminal(3, Member { index: 0, clients: 1 });
        assert!(schedule.has_pauses() && !schedule.is_open());
        let times: Vec<u64> = (0..200_000).map(|_| schedule.think(2)).collect();
        let mean = times.iter().sum::<u64>() as f64 / 200_000.0;
        assert!((mean / 2e6 - 1.0).abs() < 0.02, "mean {mean}");
        let longest = times.iter().max().unwrap();
        assert!((16_000_000..=20_000_000).contains(longest), "{longest}");
        assert_eq!(schedule.think(0), 0);
        let mut closed = self::schedule(Arrival::Closed, 0, 1);
        assert_eq!((closed.has_pauses(), closed.think(2)), (false, 0));
    }

    #[test]
    fn limits_are_in_nanoseconds() {
        let time = Limit { operations: u64::MAX, time: 1_500_000_000 };
        assert_eq!(Limit::new(StretchEnd::Seconds(1.5)), time);
        let count = Limit { operations: 7, time: u64::MAX };
        assert_eq!(Limit::new(StretchEnd::Operations(7)), count);
    }
}
