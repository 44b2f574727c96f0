//! Error rates and power on series whose truth is known.

use super::*;

/// What a series is made of.
struct Made<'a> {
    points: usize,
    /// Standard deviation of the logarithm of a value.
    noise: f64,
    /// Places and sizes of its steps, in logarithms.
    steps: &'a [(usize, f64)],
    /// Change of the logarithm over all points, evenly.
    slope: f64,
    /// Distance of two states between which values change at random.
    states: f64,
}

impl Default for Made<'_> {
    fn default() -> Self {
        Self { points: 500, noise: 0.01, steps: &[], slope: 0.0, states: 0.0 }
    }
}

impl Made<'_> {
    fn values(&self, random: &mut SplitMix) -> Vec<f64> {
        let value = |index: usize| {
            let levels = self.steps.iter().filter(|(at, _)| index >= *at);
            let level: f64 = levels.map(|(_, size)| size).sum();
            let state = if random.uniform() < 0.5 { 0.0 } else { self.states };
            let slope = self.slope * index as f64 / self.points as f64;
            (5.0 + level + slope + state + self.noise * random.normal()).exp()
        };
        (0..self.points).map(value).collect()
    }

    /// Confirmed and suspected steps in so many points of such series.
    fn false_steps(&self, points: usize) -> [usize; 2] {
        let mut random = SplitMix(7);
        let series = (0..points / self.points).map(|_| steps(&self.values(&mut random)));
        let found: Vec<Step> = series.flat_map(|found| found.steps).collect();
        let confirmed = found.iter().filter(|step| step.is_confirmed).count();
        [confirmed, found.len() - confirmed]
    }

    /// Shares of all steps that are found within 5 points, and false steps for each true one.
    fn found(&self, series: usize) -> (f64, f64) {
        let mut random = SplitMix(11);
        let (mut near, mut others) = (0, 0);
        for _ in 0..series {
            let found = steps(&self.values(&mut random)).steps;
            let places: Vec<usize> =
                found.iter().filter(|step| step.is_confirmed).map(|step| step.at).collect();
            let is_near = |at: usize| places.iter().filter(|place| place.abs_diff(at) <= 5).count();
            let hits: usize = self.steps.iter().map(|(at, _)| is_near(*at).min(1)).sum();
            near += hits;
            others += places.len() - hits;
        }
        let all = (series * self.steps.len()) as f64;
        (near as f64 / all, others as f64 / all)
    }
}

#[test]
fn at_most_one_step_in_a_thousand_points_is_false() {
    let check = |made: &Made<'_>, what: &str| {
        let [found, suspected] = made.false_steps(20_000);
        println!("{what}: {found} confirmed, {suspected} suspected of 20,000 points");
        assert!(found <= 20, "{what}: {found} of 20,000 points");
    };
    check(&Made::default(), "noise");
    check(&Made { points: 40, ..Made::default() }, "short series");
    check(&Made { states: 0.06, ..Made::default() }, "two states");
    check(&Made { slope: 0.05, ..Made::default() }, "a drift of 5 %");
    check(&Made { slope: 0.2, ..Made::default() }, "a drift of 20 %");
}

#[test]
fn steps_of_two_deviations_are_found_within_five_points() {
    let check = |made: &Made<'_>, what: &str| {
        let (near, others) = made.found(60);
        println!("{what}: {:.1} % within 5 points, {others:.3} others each", 100.0 * near);
        assert!(near >= 0.9, "{what}: {near}");
        assert!(others <= 0.12, "{what}: {others}");
    };
    let one = |size: f64| Made {
        points: 200,
        steps: &[(100, 1.0)],
        noise: 0.5 / size,
        ..Made::default()
    };
    // A step of 1 in logarithms would be no step of 1 to 5 %; only the ratio to the noise counts.
    check(&one(1.0), "one step of 2 sd");
    let small = Made { points: 200, steps: &[(120, 0.01)], noise: 0.005, ..Made::default() };
    check(&small, "1 %, sd 0.5 %");
    let three = &[(60, 0.05), (150, -0.03), (240, 0.04)];
    check(
        &Made { points: 300, steps: three, noise: 0.015, ..Made::default() },
        "three of 3 to 5 %",
    );
    let late = Made { points: 60, steps: &[(50, 0.02)], ..Made::default() };
    check(&late, "ten points before the end");
}

#[test]
fn a_step_has_its_size_with_an_interval() {
    let mut random = SplitMix(3);
    let made = Made { points: 120, steps: &[(70, 0.03)], noise: 0.004, ..Made::default() };
    let (mut held, mut all) = (0, 0);
    for _ in 0..60 {
        for step in steps(&made.values(&mut random)).steps {
            let (low, high) = step.interval;
            assert!((step.ratio / (step.levels[1] / step.levels[0]) - 1.0).abs() < 1e-12);
            held += usize::from((low..=high).contains(&0.03_f64.exp()));
            all += 1;
        }
    }
    assert!(all >= 60 && held * 100 >= all * 88, "{held} of {all}");
}

#[test]
fn exact_counts_and_odd_values_are_survived() {
    let counts: Vec<f64> = (0..40).map(|n| if n < 25 { 4362.0 } else { 4375.0 }).collect();
    let found = steps(&counts).steps;
    assert_eq!(
        found.iter().map(|step| (step.at, step.is_confirmed)).collect::<Vec<_>>(),
        [(25, true)]
    );
    assert_eq!(steps(&[4362.0; 100]), Steps::default());
    for odd in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert_eq!(steps(&[1.0, odd, 2.0]), Steps::default());
    }
    assert_eq!(steps(&[]), Steps::default());
    // An outlier is no step.
    let mut spike = vec![100.0; 50];
    spike[20] = 500.0;
    assert_eq!(steps(&spike).steps, []);
}

#[test]
fn a_slope_is_a_drift_and_no_step() {
    let mut random = SplitMix(5);
    let made = Made { points: 200, slope: 0.2, ..Made::default() };
    let found = steps(&made.values(&mut random));
    assert!(found.steps.len() <= 1 && !found.drifts.is_empty(), "{found:?}");
}
