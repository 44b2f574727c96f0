//! The Universal Scalability Law: how throughput follows the number of clients.
//!
//! N. J. Gunther, "Guerrilla Capacity Planning", Springer 2007, chapter 4:
//! X(N) = λN / (1 + σ(N - 1) + κN(N - 1)).

/// A curve of throughput over clients, fitted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scalability {
    /// λ: throughput of one client [1/s].
    pub one: f64,
    /// σ: the share of an operation in which the clients wait for each other; from 0 on.
    pub contention: f64,
    /// κ: what each pair of clients costs each other, relative to an operation; from 0 on.
    pub coherency: f64,
    /// The largest deviation of a point from the curve, relative to the curve.
    pub residual: f64,
}

/// Points from which on a fit tells more than the points.
const LEAST: usize = 4;

/// What of the largest throughput a number of clients must reach to be the knee of a curve.
pub const KNEE_SHARE: f64 = 0.9;

/// Where a measured curve of throughput over clients is highest, and where it stops to rise.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bend {
    /// The number of clients with the largest throughput; the least of several.
    pub peak: f64,
    /// The least number of clients with [`KNEE_SHARE`] of it: more clients mostly wait.
    pub knee: f64,
}

impl Bend {
    /// That of points of clients and throughput; none for fewer than two points above zero.
    pub fn of(points: &[(f64, f64)]) -> Option<Self> {
        let mut points: Vec<_> = points.iter().copied().filter(|(_, rate)| *rate > 0.0).collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        let most = points.iter().map(|(_, rate)| *rate).fold(0.0, f64::max);
        let from = |share: f64| points.iter().find(|(_, rate)| *rate >= share * most);
        let (peak, knee) = (from(1.0)?.0, from(KNEE_SHARE)?.0);
        (points.len() > 1).then_some(Self { peak, knee })
    }
}

impl Scalability {
    /// Fits points of clients and throughput by least squares of N / X, which is linear in the
    /// coefficients, relative to its values. Coefficients below zero, which mean nothing, are set
    /// to zero and the others fitted again. None for fewer than four points above zero.
    pub fn fit(points: &[(f64, f64)]) -> Option<Self> {
        let good = |(clients, rate): &&(f64, f64)| *clients >= 1.0 && *rate > 0.0;
        let points: Vec<(f64, f64)> = points.iter().filter(good).copied().collect();
        if points.len() < LEAST {
            return None;
        }
        let columns: [fn(f64) -> f64; 3] = [|_| 1.0, |n| n - 1.0, |n| n * (n - 1.0)];
        let mut used = vec![0, 1, 2];
        loop {
            let chosen: Vec<fn(f64) -> f64> = used.iter().map(|column| columns[*column]).collect();
            let found = least_squares(&points, &chosen)?;
            // The most negative one goes first.
            let below = (1..used.len()).filter(|place| found[*place] < 0.0);
            match below.min_by(|a, b| found[*a].total_cmp(&found[*b])) {
                Some(place) => drop(used.remove(place)),
                None => return Self::of(&points, &used, &found),
            }
        }
    }

    fn of(points: &[(f64, f64)], used: &[usize], found: &[f64]) -> Option<Self> {
        let coefficient = |column: usize| {
            used.iter().position(|known| *known == column).map_or(0.0, |place| found[place])
        };
        let base = Some(coefficient(0)).filter(|base| *base > 0.0)?;
        let fitted = Self {
            one: 1.0 / base,
            contention: coefficient(1) / base,
            coherency: coefficient(2) / base,
            residual: 0.0,
        };
        let deviation = |(clients, rate): &(f64, f64)| (rate / fitted.at(*clients) - 1.0).abs();
        let residual = points.iter().map(deviation).fold(0.0, f64::max);
        Some(Self { residual, ..fitted })
    }

    /// Throughput of so many clients [1/s].
    pub fn at(&self, clients: f64) -> f64 {
        let others = clients - 1.0;
        self.one * clients / (1.0 + self.contention * others + self.coherency * clients * others)
    }

    /// The number of clients with the largest throughput; none where more clients never cost any.
    pub fn peak(&self) -> Option<f64> {
        let squared = (1.0 - self.contention) / self.coherency;
        (self.coherency > 0.0).then(|| squared.max(1.0).sqrt())
    }
}

/// Coefficients of N / X over the columns, each point weighted by the inverse of its value: normal
/// equations by Gauss' elimination. None if the points do not determine them.
fn least_squares(points: &[(f64, f64)], columns: &[fn(f64) -> f64]) -> Option<Vec<f64>> {
    let count = columns.len();
    let mut rows = vec![vec![0.0; count + 1]; count];
    for (clients, rate) in points {
        let scale = rate / clients;
        let values: Vec<f64> = columns.iter().map(|column| column(*clients) * scale).collect();
        for (row, value) in rows.iter_mut().zip(&values) {
            for (cell, other) in row.iter_mut().zip(values.iter().chain([&1.0])) {
                *cell += value * other;
            }
        }
    }
    for pivot in 0..count {
        let best = (pivot..count)
            .max_by(|a, b| rows[*a][pivot].abs().total_cmp(&rows[*b][pivot].abs()))?;
        rows.swap(pivot, best);
        let own = rows[pivot].clone();
        if own[pivot].abs() < f64::MIN_POSITIVE {
            return None;
        }
        for (_, row) in rows.iter_mut().enumerate().filter(|(place, _)| *place != pivot) {
            let factor = row[pivot] / own[pivot];
            row.iter_mut().zip(&own).for_each(|(cell, other)| *cell -= factor * other);
        }
    }
    Some((0..count).map(|place| rows[place][count] / rows[place][place]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(one: f64, contention: f64, coherency: f64) -> Vec<(f64, f64)> {
        let law = Scalability { one, contention, coherency, residual: 0.0 };
        [1.0, 2.0, 4.0, 8.0, 16.0, 64.0, 256.0].map(|clients| (clients, law.at(clients))).to_vec()
    }

    #[test]
    fn the_law_is_found_in_its_own_points() {
        let check = |one: f64, contention: f64, coherency: f64, peak: Option<f64>| {
            let found = Scalability::fit(&points(one, contention, coherency)).unwrap();
            let near = |a: f64, b: f64| (a - b).abs() < 1e-9 * (1.0 + b.abs());
            assert!(near(found.one, one) && near(found.contention, contention), "{found:?}");
            assert!(near(found.coherency, coherency) && found.residual < 1e-9, "{found:?}");
            match (found.peak(), peak) {
                (Some(own), Some(peak)) => assert!((own / peak - 1.0).abs() < 1e-6, "{own}"),
                (own, peak) => assert_eq!(own, peak),
            }
        };
        check(1000.0, 0.02, 0.0005, Some((0.98_f64 / 0.0005).sqrt()));
        check(50_000.0, 0.9, 0.001, Some(10.0));
        check(10.0, 1.0, 0.01, Some(1.0));
    }

    #[test]
    fn what_means_nothing_is_zero() {
        // More than linear: nothing of it is contention.
        let faster: Vec<(f64, f64)> =
            [1.0, 2.0, 4.0, 8.0].map(|clients: f64| (clients, 100.0 * clients.powf(1.1))).to_vec();
        let found = Scalability::fit(&faster).unwrap();
        assert_eq!((found.contention, found.coherency, found.peak()), (0.0, 0.0, None));
        assert!(found.residual > 0.05, "{found:?}");
        assert_eq!(Scalability::fit(&faster[..3]), None);
        assert_eq!(Scalability::fit(&[(4.0, 100.0); 5]), None, "one number of clients");
        let broken = [(1.0, 0.0), (2.0, f64::NAN), (4.0, 1.0), (8.0, 2.0), (16.0, 3.0)];
        assert_eq!(Scalability::fit(&broken), None);
    }

    #[test]
    fn the_knee_is_where_more_clients_stop_to_help() {
        let check = |rates: &[f64], expected: Option<(f64, f64)>| {
            let rates = rates.iter().enumerate();
            let points: Vec<_> = rates.map(|(nth, rate)| (2_f64.powi(nth as i32), *rate)).collect();
            assert_eq!(Bend::of(&points).map(|bend| (bend.peak, bend.knee)), expected);
        };
        check(&[10.0, 19.0, 36.0, 39.0, 40.0, 30.0], Some((16.0, 4.0)));
        check(&[10.0, 20.0, 40.0], Some((4.0, 4.0)));
        check(&[40.0, 30.0, 40.0], Some((1.0, 1.0)));
        check(&[10.0], None);
        check(&[0.0, 0.0, f64::NAN], None);
    }

    #[test]
    fn noise_moves_it_little() {
        let noisy =
            points(1000.0, 0.05, 0.001).into_iter().zip([1.02, 0.98, 1.01, 0.99, 1.0, 1.02, 0.98]);
        let noisy: Vec<(f64, f64)> =
            noisy.map(|((clients, rate), noise)| (clients, rate * noise)).collect();
        let found = Scalability::fit(&noisy).unwrap();
        assert!((found.one / 1000.0 - 1.0).abs() < 0.05, "{found:?}");
        assert!((found.contention - 0.05).abs() < 0.02 && found.residual < 0.06, "{found:?}");
    }
}
