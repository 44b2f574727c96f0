//! Vectors with the structure of real ones: they lie near a surface of few dimensions, around
//! centers.
//!
//! A vector is `x = A z + e`: `z` is a center of the surface plus a normal step of the same size,
//! `A` spreads the surface over all dimensions, and `e` is normal noise. Vector `i` depends on the
//! seed and on `i` alone.

use values::Random;

/// Dimensions of the surface.
const SURFACE: usize = 32;
/// Centers on it.
const CENTERS: usize = 100;
/// Deviation of the noise.
const NOISE: f64 = 0.05;
/// Stream of the centers and of what spreads the surface; vectors have those from 1 on.
const FRAME: u64 = 0;

/// What all vectors of a set are made from.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Latent {
    seed: u64,
    /// Center after center.
    centers: Vec<f64>,
    /// Row after row, as many numbers in each as the surface has dimensions.
    spread: Vec<f64>,
}

impl Latent {
    /// Vectors of so many dimensions under a seed.
    pub(crate) fn new(seed: u64, dimensions: usize) -> Self {
        let mut normal = Normal::new(Random::new(seed, FRAME));
        let centers = (0..CENTERS * SURFACE).map(|_| normal.draw()).collect();
        let scale = (SURFACE as f64).sqrt().recip();
        let spread = (0..dimensions * SURFACE).map(|_| scale * normal.draw()).collect();
        Self { seed, centers, spread }
    }

    /// Writes vector `number`, from 0.
    pub(crate) fn fill(&self, number: u64, vector: &mut Vec<f32>) {
        let mut random = Random::new(self.seed, number.wrapping_add(FRAME + 1));
        let center = random.below(CENTERS as u64) as usize * SURFACE;
        let mut normal = Normal::new(random);
        let mut surface = [0.0; SURFACE];
        for (value, center) in surface.iter_mut().zip(&self.centers[center..]) {
            *value = center + normal.draw();
        }
        vector.clear();
        vector.extend(self.spread.chunks_exact(SURFACE).map(|row| {
            let sum: f64 = row.iter().zip(&surface).map(|(a, z)| a * z).sum();
            (sum + NOISE * normal.draw()) as f32
        }));
    }
}

/// Normal numbers by the polar method (Marsaglia and Bray 1964).
struct Normal {
    random: Random,
    /// The other one of a pair.
    spare: Option<f64>,
}

impl Normal {
    fn new(random: Random) -> Self {
        Self { random, spare: None }
    }

    fn draw(&mut self) -> f64 {
        if let Some(spare) = self.spare.take() {
            return spare;
        }
        loop {
            let (x, y) = (2.0 * self.random.unit() - 1.0, 2.0 * self.random.unit() - 1.0);
            let square = x * x + y * y;
            if square > 0.0 && square < 1.0 {
                let factor = (-2.0 * square.ln() / square).sqrt();
                self.spare = Some(y * factor);
                return x * factor;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vector_depends_on_its_number_and_the_seed_alone() {
        let (one, two) = (Latent::new(7, 5), Latent::new(7, 5));
        let of = |latent: &Latent, number| {
            let mut vector = Vec::new();
            latent.fill(number, &mut vector);
            vector
        };
        assert_eq!(of(&one, 3), of(&two, 3));
        assert_eq!(of(&one, 3).len(), 5);
        assert_ne!(of(&one, 3), of(&one, 4));
        assert_ne!(of(&one, 3), of(&Latent::new(8, 5), 3));
    }

    #[test]
    fn normal_numbers_have_their_moments() {
        let mut normal = Normal::new(Random::new(1, 1));
        let all: Vec<f64> = (0..200_000).map(|_| normal.draw()).collect();
        let moment = |power: i32| all.iter().map(|x| x.powi(power)).sum::<f64>() / all.len() as f64;
        for (power, expected, allowed) in [(1, 0.0, 0.01), (2, 1.0, 0.02), (4, 3.0, 0.15)] {
            let found = moment(power);
            assert!((found - expected).abs() < allowed, "moment {power}: {found}");
        }
    }

    #[test]
    fn vectors_of_a_center_are_near_each_other_and_the_variance_is_that_of_the_definition() {
        let latent = Latent::new(7, 64);
        let mut all = Vec::new();
        for number in 0..4000 {
            let mut vector = Vec::new();
            latent.fill(number, &mut vector);
            all.push(vector);
        }
        // A dimension has the sum of 32 squares of N(0, 1/32), of two steps: 2, and the noise.
        let all_values = all.iter().flatten().map(|x| f64::from(*x));
        let square = all_values.map(|x| x * x).sum::<f64>() / (4000.0 * 64.0);
        assert!((square - 2.0).abs() < 0.25, "{square}");
        // With 40 vectors around each center, the nearest one is nearer than most.
        let distance = |a: &[f32], b: &[f32]| -> f64 {
            a.iter().zip(b).map(|(a, b)| f64::from(a - b).powi(2)).sum()
        };
        let mut far: Vec<f64> = all[1..].iter().map(|other| distance(&all[0], other)).collect();
        far.sort_by(f64::total_cmp);
        assert!(far[0] < 0.6 * far[2000], "{} {}", far[0], far[2000]);
    }
}
