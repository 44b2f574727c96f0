//! Means of positive quantities.

/// Geometric mean: the exponential of the mean of the logarithms. `None` without values.
///
/// Quantities such as KiB per operation may be exactly zero, where no logarithm exists; then the
/// arithmetic mean is taken, so that one zero does not erase the others.
pub fn geometric_mean(values: &[f64]) -> Option<f64> {
    match values {
        [] => return None,
        // Exactly itself, not its logarithm's exponential.
        [value] => return Some(*value),
        _ => {}
    }
    if values.iter().any(|value| *value <= 0.0) {
        return arithmetic_mean(values);
    }
    Some((values.iter().map(|value| value.ln()).sum::<f64>() / values.len() as f64).exp())
}

/// The mean over tests, and of how many it is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TestsMean {
    /// Geometric mean of the ratios above 0: the others have no logarithm.
    pub ratio: f64,
    /// Tests with such a ratio.
    pub tests: usize,
}

/// The mean of the ratios of tests. `None` where none is above 0.
pub fn mean_of_tests(ratios: &[f64]) -> Option<TestsMean> {
    let positive: Vec<f64> = ratios.iter().copied().filter(|ratio| *ratio > 0.0).collect();
    Some(TestsMean { ratio: geometric_mean(&positive)?, tests: positive.len() })
}

/// Mean ratio of pairs `(base, value)`: the geometric mean of their ratios, or the ratio of their
/// sums where a value is zero. `None` without pairs, or if the base is zero throughout.
pub(crate) fn mean_of_ratios(pairs: &[(f64, f64)]) -> Option<f64> {
    if pairs.iter().all(|(base, value)| *base > 0.0 && *value > 0.0) {
        let ratios: Vec<f64> = pairs.iter().map(|(base, value)| value / base).collect();
        return geometric_mean(&ratios);
    }
    ratio_of_sums(pairs)
}

/// Ratio of the sums of pairs `(base, value)`; `None` if the base is zero throughout.
pub(crate) fn ratio_of_sums(pairs: &[(f64, f64)]) -> Option<f64> {
    let base: f64 = pairs.iter().map(|pair| pair.0).sum();
    let value: f64 = pairs.iter().map(|pair| pair.1).sum();
    (base > 0.0).then(|| value / base)
}

/// Arithmetic mean; `None` without values.
pub(crate) fn arithmetic_mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: Option<f64>, expected: Option<f64>) {
        match (found, expected) {
            (Some(found), Some(expected)) => {
                assert!((found / expected - 1.0).abs() < 1e-12 || found == expected, "{found}");
            }
            _ => assert_eq!(found, expected),
        }
    }

    #[test]
    fn geometric_means() {
        near(geometric_mean(&[]), None);
        near(geometric_mean(&[2.0, 8.0]), Some(4.0));
        near(geometric_mean(&[1.0, 10.0, 100.0]), Some(10.0));
        near(geometric_mean(&[0.0, 4.0]), Some(2.0));
        near(geometric_mean(&[0.0]), Some(0.0));
        assert_eq!(geometric_mean(&[1000.1]), Some(1000.1));
    }

    #[test]
    fn a_test_that_did_nothing_is_in_no_mean_of_tests() {
        let mean = mean_of_tests(&[2.0, 0.0, 8.0]).unwrap();
        near(Some(mean.ratio), Some(4.0));
        assert_eq!(mean.tests, 2);
        assert_eq!(mean_of_tests(&[0.0]), None);
    }

    #[test]
    fn ratios_of_pairs() {
        near(mean_of_ratios(&[]), None);
        near(mean_of_ratios(&[(1.0, 2.0), (2.0, 1.0)]), Some(1.0));
        near(mean_of_ratios(&[(10.0, 9.0), (100.0, 90.0)]), Some(0.9));
        near(mean_of_ratios(&[(0.0, 1.0), (1.0, 1.0)]), Some(2.0));
        near(mean_of_ratios(&[(0.0, 1.0)]), None);
        near(mean_of_ratios(&[(0.0, 0.0)]), None);
        near(mean_of_ratios(&[(5.0, 0.0)]), Some(0.0));
    }
}
