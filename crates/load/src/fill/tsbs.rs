//! The loaded rows of the time series benchmark suite (cpu-only): hosts with their tags, and ten
//! values of each host for every ten seconds, in the order of time.

use super::coded::{CodedTable, Maker, RowNumber};
use crate::wire::RowSink;
use values::Random;
use values::civil::Civil;

/// Values of a host at a time.
const FIELDS: usize = 10;
/// Seconds between the rows of a host.
const INTERVAL: u64 = 10;
/// 2016-01-01 00:00:00 UTC, seconds since 1970: the suite's default.
const START: u64 = 1_451_606_400;
/// Values are kept in quarters.
const QUARTERS: i64 = 4;
/// Largest value, in quarters; the smallest is 0.
const LARGEST: i64 = 100 * QUARTERS;

/// The hosts, and their values over time.
pub(super) const TABLES: &[CodedTable] = &[
    CodedTable {
        name: "tsbs.tags",
        columns: &[
            "id",
            "hostname",
            "region",
            "datacenter",
            "rack",
            "os",
            "arch",
            "team",
            "service",
            "service_version",
            "service_environment",
        ],
        rows_per_unit: 1,
        make: tags,
    },
    CodedTable {
        name: "tsbs.cpu",
        columns: &[
            "time",
            "tags_id",
            "usage_user",
            "usage_system",
            "usage_idle",
            "usage_nice",
            "usage_iowait",
            "usage_irq",
            "usage_softirq",
            "usage_steal",
            "usage_guest",
            "usage_guest_nice",
        ],
        rows_per_unit: 1,
        make: cpu,
    },
];

/// Regions, each with the letters of its datacenters.
const REGIONS: [(&str, &[u8]); 9] = [
    ("us-east-1", b"abce"),
    ("us-west-1", b"ab"),
    ("us-west-2", b"abc"),
    ("eu-west-1", b"abc"),
    ("eu-central-1", b"ab"),
    ("ap-southeast-1", b"ab"),
    ("ap-southeast-2", b"ab"),
    ("ap-northeast-1", b"ac"),
    ("sa-east-1", b"abc"),
];
const RACKS: u64 = 100;
const SYSTEMS: [&str; 3] = ["Ubuntu16.10", "Ubuntu16.04LTS", "Ubuntu15.10"];
const ARCHITECTURES: [&str; 2] = ["x64", "x86"];
const TEAMS: [&str; 4] = ["SF", "NYC", "LON", "CHI"];
const SERVICES: u64 = 20;
const VERSIONS: u64 = 2;
const ENVIRONMENTS: [&str; 3] = ["production", "staging", "test"];

fn tags(maker: &mut Maker, number: RowNumber, sink: &mut dyn RowSink) -> bool {
    let random = &mut maker.random;
    let (region, letters) = one_of(random, &REGIONS);
    let letter = char::from(*one_of(random, letters));
    sink.integer(number.unit as i64 + 1);
    sink.text(format!("host_{}", number.unit).as_bytes());
    sink.text(region.as_bytes());
    sink.text(format!("{region}{letter}").as_bytes());
    sink.text(random.below(RACKS).to_string().as_bytes());
    sink.text(one_of(random, &SYSTEMS).as_bytes());
    sink.text(one_of(random, &ARCHITECTURES).as_bytes());
    sink.text(one_of(random, &TEAMS).as_bytes());
    sink.text(random.below(SERVICES).to_string().as_bytes());
    sink.text(random.below(VERSIONS).to_string().as_bytes());
    sink.text(one_of(random, &ENVIRONMENTS).as_bytes());
    false
}

fn one_of<'a, T>(random: &mut Random, list: &'a [T]) -> &'a T {
    &list[random.below(list.len() as u64) as usize]
}

fn cpu(maker: &mut Maker, number: RowNumber, sink: &mut dyn RowSink) -> bool {
    let hosts = maker.first_rows.max(1);
    let (tick, host) = (number.unit / hosts, number.unit % hosts);
    if maker.walks.next_tick != tick + 1 {
        maker.walks.go_to(maker.seed, hosts, tick);
        maker.text.clear();
        let moment = Civil::of(START + tick * INTERVAL).to_string();
        maker.text.extend_from_slice(moment.as_bytes());
    }
    sink.text(&maker.text);
    sink.integer(host as i64 + 1);
    for value in maker.walks.of_host(host) {
        sink.integer(value / QUARTERS);
    }
    false
}

/// Where the values of all hosts are at a time: each is a random walk that stays from 0 to 100.
#[derive(Debug, Clone, Default)]
pub(super) struct Walks {
    /// Ticks of the clock that were walked; 0 before the first.
    next_tick: u64,
    /// In quarters, host after host.
    values: Vec<i64>,
}

impl Walks {
    /// Walks up to a tick, from the first one where that is behind: any number of threads makes
    /// the same rows.
    fn go_to(&mut self, seed: u64, hosts: u64, tick: u64) {
        if self.values.is_empty() || self.next_tick > tick {
            let mut random = Random::new(seed, 0);
            let begin = |_| random.below(LARGEST as u64 + 1) as i64;
            self.values = (0..hosts as usize * FIELDS).map(begin).collect();
            self.next_tick = 1;
        }
        while self.next_tick <= tick {
            let mut random = Random::new(seed, self.next_tick);
            for value in &mut self.values {
                *value = (*value + step(&mut random)).clamp(0, LARGEST);
            }
            self.next_tick += 1;
        }
    }

    fn of_host(&self, host: u64) -> &[i64] {
        let first = host as usize * FIELDS;
        self.values.get(first..first + FIELDS).unwrap_or_default()
    }
}

/// A step of mean 0 and deviation 1, in quarters: of 64 random bits 32 are set in the mean, with a
/// deviation of 4. The suite's steps are normal; values are whole numbers.
fn step(random: &mut Random) -> i64 {
    i64::from(random.bits().count_ones()) - 32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_walk_is_the_same_from_anywhere_and_stays_inside() {
        let mut far = Walks::default();
        far.go_to(7, 3, 5_000);
        let mut near = Walks::default();
        for tick in [0, 1, 2, 4_999, 5_000] {
            near.go_to(7, 3, tick);
        }
        assert_eq!(far.values, near.values);
        assert_eq!(far.values.len(), 3 * FIELDS);
        near.go_to(7, 3, 10);
        let mut again = Walks::default();
        again.go_to(7, 3, 10);
        assert_eq!(near.values, again.values, "back to an earlier tick");
        assert!(far.values.iter().all(|value| (0..=LARGEST).contains(value)));
        assert_eq!(far.of_host(2).len(), FIELDS);
    }

    #[test]
    fn steps_have_mean_0_and_deviation_1() {
        let mut random = Random::new(1, 1);
        let steps: Vec<f64> =
            (0..100_000).map(|_| step(&mut random) as f64 / QUARTERS as f64).collect();
        let mean = steps.iter().sum::<f64>() / steps.len() as f64;
        let square = steps.iter().map(|step| step * step).sum::<f64>() / steps.len() as f64;
        assert!(mean.abs() < 0.02, "{mean}");
        assert!((square - 1.0).abs() < 0.02, "{square}");
    }
}
