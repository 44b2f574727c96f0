//! The nearest rows of every query, by looking at all of them.
//!
//! Queries are those of a file, or the vectors behind the loaded ones, of the same stream, so that
//! none of them is in a table. Numbers are those that servers have, with 32 bits; sums have 64.

use crate::keys::{latent::Latent, read};
use model::coded::NEAREST;
use std::{
    num::NonZero,
    ops::Range,
    sync::{Arc, Mutex, OnceLock, PoisonError},
    thread,
};
use values::VectorFile;

/// What vectors and queries are made from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Set {
    pub(super) seed: u64,
    /// Loaded vectors.
    pub(super) vectors: u64,
    pub(super) queries: u64,
    pub(super) dimensions: usize,
    /// Where they come from, if not from the seed.
    pub(super) file: Option<VectorFile>,
}

/// Queries and their nearest rows.
#[derive(Debug)]
pub(super) struct Truth {
    dimensions: usize,
    queries: Vec<f32>,
    /// Of each query, the ids of the rows that are not farther away than the tenth.
    nearest: Vec<Vec<i64>>,
}

/// Part by which a row may be farther away than the tenth and still count as one of the nearest:
/// servers add up in another order, with 32 bits.
const TOLERANCE: f64 = 1e-6;

/// The truth of a set, made once per process. It depends on the set alone, so it does not matter
/// who makes it. Errors: why its file cannot be read.
pub(super) fn of(set: &Set) -> Result<Arc<Truth>, String> {
    type Entry = (Set, Arc<OnceLock<Result<Arc<Truth>, String>>>);
    static KNOWN: Mutex<Vec<Entry>> = Mutex::new(Vec::new());
    /// Sets that are kept; phases of a run have one.
    const KEPT: usize = 2;
    let place = {
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        match known.iter().find(|(other, _)| other == set) {
            Some((_, place)) => Arc::clone(place),
            None => {
                if known.len() >= KEPT {
                    known.remove(0);
                }
                let place = Arc::new(OnceLock::new());
                known.push((set.clone(), Arc::clone(&place)));
                place
            }
        }
    };
    place.get_or_init(|| Truth::new(set).map(Arc::new)).clone()
}

impl Truth {
    fn new(set: &Set) -> Result<Self, String> {
        let dimensions = set.dimensions;
        let Some(file) = &set.file else {
            let latent = Latent::new(set.seed, dimensions);
            let items = vectors(&latent, dimensions, 0..set.vectors);
            let queries = vectors(&latent, dimensions, set.vectors..set.vectors + set.queries);
            let nearest = nearest_of_all(&queries, &items, dimensions);
            return Ok(Self { dimensions, queries, nearest });
        };
        let unreadable = |error: values::vector_file::Unreadable| error.to_string();
        let queries = file.searched(set.queries).map_err(unreadable)?;
        // The file knows the nearest of all its rows.
        let known = match file.rows == set.vectors {
            true => file.nearest(set.queries, NEAREST, TOLERANCE).map_err(unreadable)?,
            false => None,
        };
        let nearest = match known {
            Some(known) => {
                let ids = |rows: Vec<u64>| rows.into_iter().map(|row| row as i64 + 1).collect();
                known.into_iter().map(ids).collect()
            }
            None => nearest_of_all(&queries, &read::loaded(file, set.vectors)?, dimensions),
        };
        Ok(Self { dimensions, queries, nearest })
    }

    /// A query, from 0.
    #[inline]
    pub(super) fn query(&self, number: usize) -> &[f32] {
        let first = number * self.dimensions;
        self.queries.get(first..first + self.dimensions).unwrap_or_default()
    }

    /// The ids of its nearest rows.
    #[inline]
    pub(super) fn nearest(&self, number: usize) -> &[i64] {
        self.nearest.get(number).map(Vec::as_slice).unwrap_or_default()
    }
}

/// Of each query, the ids of the items that are not farther away than the tenth.
fn nearest_of_all(queries: &[f32], items: &[f32], dimensions: usize) -> Vec<Vec<i64>> {
    let mut nearest = vec![Vec::new(); queries.len() / dimensions.max(1)];
    let each = nearest.len().div_ceil(processors()).max(1);
    thread::scope(|scope| {
        for (nearest, queries) in nearest.chunks_mut(each).zip(queries.chunks(each * dimensions)) {
            scope.spawn(move || {
                let mut distances = Vec::with_capacity(items.len() / dimensions);
                for (nearest, query) in nearest.iter_mut().zip(queries.chunks_exact(dimensions)) {
                    *nearest = nearest_of(query, items, &mut distances);
                }
            });
        }
    });
    nearest
}

/// Vectors of a range of numbers, one behind the other.
fn vectors(latent: &Latent, dimensions: usize, numbers: Range<u64>) -> Vec<f32> {
    let count = (numbers.end - numbers.start) as usize;
    let mut all = vec![0.0; count * dimensions];
    let each = count.div_ceil(processors()).max(1);
    thread::scope(|scope| {
        for (part, numbers) in all.chunks_mut(each * dimensions).zip(numbers.step_by(each)) {
            scope.spawn(move || {
                let mut vector = Vec::with_capacity(dimensions);
                for (place, number) in part.chunks_exact_mut(dimensions).zip(numbers..) {
                    latent.fill(number, &mut vector);
                    place.copy_from_slice(&vector);
                }
            });
        }
    });
    all
}

/// Ids, from 1, of the items that are not farther from `query` than the tenth, in their order.
fn nearest_of(query: &[f32], items: &[f32], distances: &mut Vec<f64>) -> Vec<i64> {
    distances.clear();
    distances.extend(items.chunks_exact(query.len()).map(|item| square(query, item)));
    let mut sorted = distances.clone();
    let last = NEAREST.min(sorted.len()).saturating_sub(1);
    if sorted.is_empty() {
        return Vec::new();
    }
    let (_, tenth, _) = sorted.select_nth_unstable_by(last, f64::total_cmp);
    // These are squares of the distances that are compared.
    let limit = *tenth * (1.0 + TOLERANCE).powi(2);
    let near = (1..).zip(distances.iter()).filter(|(_, distance)| **distance <= limit);
    near.map(|(id, _)| id).collect()
}

/// The square of a distance.
fn square(a: &[f32], b: &[f32]) -> f64 {
    /// Sums beside each other, so that the processor need not wait for one to add to it again.
    const LANES: usize = 8;
    let mut sums = [0.0; LANES];
    let (whole_a, rest_a) = a.as_chunks::<LANES>();
    let (whole_b, rest_b) = b.as_chunks::<LANES>();
    for (a, b) in whole_a.iter().zip(whole_b) {
        for lane in 0..LANES {
            let apart = f64::from(a[lane]) - f64::from(b[lane]);
            sums[lane] += apart * apart;
        }
    }
    let rest = rest_a.iter().zip(rest_b).map(|(a, b)| (f64::from(*a) - f64::from(*b)).powi(2));
    sums.iter().sum::<f64>() + rest.sum::<f64>()
}

fn processors() -> usize {
    thread::available_parallelism().map_or(1, NonZero::get)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_are_those_of_a_plain_search() {
        let set = Set { seed: 7, vectors: 500, queries: 7, dimensions: 11, file: None };
        let truth = of(&set).unwrap();
        let latent = Latent::new(7, 11);
        let vector = |number| {
            let mut vector = Vec::new();
            latent.fill(number, &mut vector);
            vector
        };
        for query in 0..7 {
            let asked = vector(500 + query as u64);
            assert_eq!(truth.query(query), asked);
            let mut all: Vec<(f64, i64)> = (0..500)
                .map(|number| {
                    let pairs = asked.iter().zip(vector(number));
                    let square = pairs.map(|(a, b)| (f64::from(*a) - f64::from(b)).powi(2)).sum();
                    (square, number as i64 + 1)
                })
                .collect();
            all.sort_by(|a, b| a.partial_cmp(b).unwrap());
            let mut expected: Vec<i64> = all[..10].iter().map(|(_, id)| *id).collect();
            expected.sort_unstable();
            assert_eq!(truth.nearest(query), expected);
        }
    }

    #[test]
    fn rows_that_are_as_far_as_the_tenth_count_too() {
        // Twelve items at a distance of 1, and one nearer.
        let mut items = vec![1.0_f32; 12];
        items.insert(3, 0.5);
        let near = nearest_of(&[0.0], &items, &mut Vec::new());
        assert_eq!(near.len(), 13);
        assert_eq!(nearest_of(&[0.0], &[3.0, 2.0], &mut Vec::new()), [1, 2], "fewer than ten");
    }
}
