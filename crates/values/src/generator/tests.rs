use super::*;
use std::{collections::BTreeMap, ops::RangeInclusive};

/// What a file gives, without expressions.
#[derive(Default)]
struct Given {
    integers: BTreeMap<&'static str, Vec<i64>>,
    reals: BTreeMap<&'static str, f64>,
    texts: BTreeMap<&'static str, Vec<&'static str>>,
}

impl Given {
    fn texts(key: &'static str, texts: &[&'static str]) -> Self {
        Self { texts: BTreeMap::from([(key, texts.to_vec())]), ..Self::default() }
    }

    fn integers<const N: usize>(integers: [(&'static str, &[i64]); N]) -> Self {
        let integers = integers.map(|(key, values)| (key, values.to_vec())).into();
        Self { integers, ..Self::default() }
    }
}

impl Keys for Given {
    type Fault = String;

    fn integer(
        &self,
        key: &'static str,
        allowed: RangeInclusive<i64>,
    ) -> Result<Option<i64>, String> {
        let value = self.integers.get(key).map(|values| values[0]);
        match value.filter(|value| !allowed.contains(value)) {
            Some(value) => Err(format!("`{key}` is {value}")),
            None => Ok(value),
        }
    }

    fn interval(
        &self,
        key: &'static str,
        allowed: RangeInclusive<i64>,
    ) -> Result<[i64; 2], String> {
        let ends = <[i64; 2]>::try_from(self.integers[key].as_slice()).unwrap();
        match ends[0] <= ends[1] && ends.iter().all(|end| allowed.contains(end)) {
            true => Ok(ends),
            false => Err(format!("`{key}` is {ends:?}")),
        }
    }

    fn real(&self, key: &'static str) -> Option<f64> {
        self.reals.get(key).copied()
    }

    fn text(&self, key: &'static str) -> &str {
        self.texts[key][0]
    }

    fn pair(&self, key: &'static str) -> [&str; 2] {
        <[&str; 2]>::try_from(self.texts[key].as_slice()).unwrap()
    }

    fn wrong(&self, _: &'static str, reason: String) -> String {
        reason
    }
}

/// A moment in 2009.
const NOW: u64 = 1_234_567_890;

fn read(kind: &str, given: &Given) -> Result<Generator, String> {
    Generator::read(kind, given).unwrap()
}

/// Some values of a generator.
fn drawn(generator: &Generator) -> Vec<String> {
    let mut random = Random::new(5, 0);
    let mut text = Vec::new();
    let mut one = || match generator.sampler(NOW) {
        Sampler::Fixed(value) => value.to_string(),
        Sampler::Uniform { low, span } => low.wrapping_add(random.below(span) as i64).to_string(),
        Sampler::Integers(draws) => draws.draw(&mut random).to_string(),
        Sampler::Template(template) => {
            let mut text = template.text().to_vec();
            template.fill(&mut random, &mut text);
            String::from_utf8(text).unwrap()
        }
        Sampler::Filler(filler) => {
            let mut letters = Letters::default();
            let (plain, varied) = filler.cut(&mut random, &mut letters);
            String::from_utf8([plain, varied].concat()).unwrap()
        }
        Sampler::Texts(draws) => {
            text.clear();
            draws.draw(&mut random, &mut text);
            assert!(text.len() <= draws.length_max());
            String::from_utf8(text.clone()).unwrap()
        }
    };
    (0..300).map(|_| one()).collect()
}

#[test]
fn kinds_and_keys_have_one_name_each() {
    let kinds: Vec<&str> = Generator::KEYS.iter().map(|keys| keys[0].name).collect();
    let all: std::collections::BTreeSet<&str> =
        Generator::KEYS.iter().copied().flatten().map(|key| key.name).collect();
    assert_eq!(all.len(), Generator::KEYS.iter().map(|keys| keys.len()).sum::<usize>());
    assert!(kinds.iter().all(|kind| all.contains(kind)));
    assert!(Generator::read("nothing", &Given::default()).is_none());
}

#[test]
fn integers_stay_between_their_ends() {
    for kind in ["uniform", "zipf"] {
        for ends in [[1, 9], [5, 5], [-3, 2]] {
            let generator = read(kind, &Given::integers([(kind, &ends)])).unwrap();
            let values: Vec<i64> =
                drawn(&generator).iter().map(|value| value.parse().unwrap()).collect();
            let seen = [values.iter().min().unwrap(), values.iter().max().unwrap()];
            assert_eq!(seen.map(|value| *value), ends, "{kind}");
        }
        assert!(read(kind, &Given::integers([(kind, &[2, 1])])).is_err());
    }
    let fixed = read("integer", &Given::integers([("integer", &[-7])])).unwrap();
    assert!(drawn(&fixed).iter().all(|value| value == "-7"));
    let all = [i64::MIN, i64::MAX];
    assert!(read("uniform", &Given::integers([("uniform", &all)])).is_ok());
    let wide = read("zipf", &Given::integers([("zipf", &all)])).unwrap_err();
    assert_eq!(wide, "the interval of `zipf` is wider than 64 bits");
    for exponent in [0.0, -1.0, f64::INFINITY, f64::NAN] {
        let mut given = Given::integers([("zipf", &[1, 9])]);
        given.reals.insert("exponent", exponent);
        let reason = format!("`exponent` is {exponent}; it must be above 0");
        assert_eq!(read("zipf", &given).unwrap_err(), reason);
    }
}

#[test]
fn texts_are_what_their_keys_say() {
    let text = read("text", &Given::texts("text", &["a#ü"])).unwrap();
    assert!(drawn(&text).iter().all(|value| value == "a#ü"));
    let template = read("template", &Given::texts("template", &["a#@"])).unwrap();
    let values = drawn(&template);
    assert!(values.iter().all(|value| value.len() == 3 && value.starts_with('a')), "{values:?}");
    let reason = read("template", &Given::texts("template", &["ü#"])).unwrap_err();
    assert_eq!(reason, "a template must be ASCII");
    let filler = Given::integers([("filler", &[10, 20]), ("random_percent", &[0])]);
    let values = drawn(&read("filler", &filler).unwrap());
    assert!(values.iter().all(|value| value.bytes().all(|byte| byte == b'a')));
    assert_eq!(values.iter().map(String::len).max(), Some(20));
    for given in [
        Given::integers([("filler", &[-1, 20])]),
        Given::integers([("filler", &[1, 65_536])]),
        Given::integers([("filler", &[1, 2]), ("random_percent", &[101])]),
    ] {
        assert!(read("filler", &given).is_err());
    }
}

#[test]
fn moments_lie_between_two_or_are_now() {
    let of = |low, high| read("timestamp", &Given::texts("timestamp", &[low, high]));
    let values = drawn(&of("2026-01-31 23:59:58", "2026-02-01").unwrap());
    let seen: std::collections::BTreeSet<&str> = values.iter().map(String::as_str).collect();
    let all = ["2026-01-31 23:59:58", "2026-01-31 23:59:59", "2026-02-01 00:00:00"];
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), all);
    for ends in [["now", "now"], ["2009-02-13 23:31:30", "now"]] {
        let values = drawn(&of(ends[0], ends[1]).unwrap());
        assert!(values.iter().all(|value| value == "2009-02-13 23:31:30"), "{values:?}");
    }
    // The time of the load is before the earliest one.
    assert_eq!(drawn(&of("2026-01-01", "now").unwrap())[0], "2026-01-01 00:00:00");
    let reason = of("2026-02-01", "2026-01-31").unwrap_err();
    assert_eq!(reason, "the first date must not be after the second");
    let reason = of("yesterday\u{1b}", "now").unwrap_err();
    assert!(reason.starts_with("`yesterday\\u{1b}` is not a date such as"), "{reason}");
}

#[test]
fn impossible_numbers_do_not_panic() {
    let extremes = [i64::MIN, -1, 0, 1, i64::MAX];
    for low in extremes {
        for high in extremes {
            let moments = Timestamp { low: Some(low as u64 >> 20), high: Some(high as u64 >> 20) };
            for generator in [
                Uniform { low, high }.into(),
                Zipf { low, high, exponent: 0.8 }.into(),
                Filler { low, high, random_percent: u32::MAX }.into(),
                Generator::from(moments),
            ] {
                assert!(drawn(&generator).len() == 300, "{generator:?}");
                assert!(generator.bytes().mean.is_finite());
            }
        }
    }
}

#[test]
fn records_hold_the_kind_and_its_numbers() {
    let check = |text: &str, generator: Generator| {
        assert_eq!(serde_json::to_string(&generator).unwrap(), text);
        assert_eq!(serde_json::from_str::<Generator>(text).unwrap(), generator);
    };
    check(r#"{"uniform":{"low":1,"high":9}}"#, Uniform { low: 1, high: 9 }.into());
    check(r#"{"timestamp":{"low":5,"high":null}}"#, Timestamp { low: Some(5), high: None }.into());
    check(r#"{"text":{"value":"x"}}"#, Text { value: "x".to_owned() }.into());
}
