//! Fewer points where a curve has more than a chart can show: what stands out stays.

/// Points of all curves over time in one report, at most, as long as each has [`LEAST`]: a point
/// takes about a dozen bytes.
const POINTS: usize = 50_000;

/// Points of one curve, within which its number depends on how many others there are.
const LEAST: usize = 40;
const MOST: usize = 360;

/// How many points a curve may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Budget(usize);

impl Budget {
    /// The budget of each of so many curves.
    pub(crate) fn of(curves: usize) -> Self {
        Self((POINTS / curves.max(1)).clamp(LEAST, MOST))
    }
}

/// At most as many points as the budget has: of each stretch the lowest and the highest, in their
/// order. A curve within the budget stays as it is.
pub(crate) fn thinned(segments: &[Vec<(f64, f64)>], budget: Budget) -> Vec<Vec<(f64, f64)>> {
    let all: usize = segments.iter().map(Vec::len).sum();
    if all <= budget.0 {
        return segments.to_vec();
    }
    let stretch = (2 * all).div_ceil(budget.0).max(2);
    segments.iter().map(|points| points.chunks(stretch).flat_map(ends).collect()).collect()
}

/// The lowest and the highest point of a stretch, in their order; one if they are the same.
fn ends(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let order = |a: &&(f64, f64), b: &&(f64, f64)| a.1.total_cmp(&b.1);
    let mut ends: Vec<(f64, f64)> = Vec::with_capacity(2);
    ends.extend(points.iter().min_by(order));
    ends.extend(points.iter().max_by(order));
    ends.sort_by(|a, b| a.0.total_cmp(&b.0));
    ends.dedup();
    ends
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stall_of_one_second_in_half_an_hour_stays() {
        let mut points: Vec<(f64, f64)> = (0..1800).map(|n| (f64::from(n), 1000.0)).collect();
        points[1234].1 = 0.0;
        points[77].1 = 5000.0;
        let thin = thinned(&[points.clone()], Budget::of(1));
        assert!(thin[0].len() <= 360, "{}", thin[0].len());
        assert!(thin[0].contains(&(1234.0, 0.0)) && thin[0].contains(&(77.0, 5000.0)));
        assert!(thin[0].is_sorted_by(|a, b| a.0 < b.0));
        assert_eq!(thinned(&[points[..300].to_vec()], Budget::of(1)), [points[..300].to_vec()]);
    }

    #[test]
    fn many_curves_share_the_room() {
        assert_eq!(Budget::of(0), Budget(360));
        assert_eq!(Budget::of(500), Budget(100));
        assert_eq!(Budget::of(100_000), Budget(40));
    }
}
