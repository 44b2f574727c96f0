//! Vectors of a file in the layout of ann-benchmarks
//! (<https://github.com/erikbern/ann-benchmarks>): HDF5 with the datasets `train` (what is loaded),
//! `test` (the queries), and, of each query, `neighbors` and `distances` of the nearest rows,
//! nearest first.

use hdf5_reader::{
    Dataset, Hdf5File, SliceInfo, SliceInfoElem, error::Error, storage::FileStorage,
};
use serde::{Deserialize, Serialize};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

/// A file of vectors, as it was when it was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VectorFile {
    /// Where it is.
    pub path: PathBuf,
    /// Its length \[bytes\]: one that differs is another file.
    pub bytes: u64,
    /// Vectors to load.
    pub rows: u64,
    /// Vectors to search for.
    pub queries: u64,
    /// Numbers of a vector.
    pub dimensions: u64,
    /// Whether angles are compared instead of distances. All vectors get a length of 1 then, so
    /// that those with the least angle are the nearest.
    pub is_angular: bool,
}

/// Why a file of vectors cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{}` cannot be used as vectors: {reason}", path.display())]
pub struct Unreadable {
    /// The file.
    pub path: PathBuf,
    /// What is wrong with it.
    pub reason: String,
}

impl VectorFile {
    /// What a file holds. Its vectors are not read yet.
    ///
    /// # Errors
    /// It cannot be read, is not HDF5 or has another layout.
    pub fn look(path: &Path) -> Result<Self, Unreadable> {
        let refused = |reason: String| Unreadable { path: path.to_owned(), reason };
        let failed = |error: Error| refused(error.to_string());
        let bytes = path.metadata().map_err(|error| refused(error.to_string()))?.len();
        let file = open(path).map_err(failed)?;
        let shape = |name: &str| {
            let dataset = file.dataset(name).map_err(failed)?;
            match *dataset.shape() {
                [rows, dimensions] if rows > 0 && dimensions > 0 => Ok((rows, dimensions)),
                _ => Err(refused(format!("`{name}` is not a table of vectors"))),
            }
        };
        let (rows, dimensions) = shape("train")?;
        let (queries, other) = shape("test")?;
        if other != dimensions {
            let reason = format!("`train` has {dimensions} dimensions and `test` has {other}");
            return Err(refused(reason));
        }
        let distance = file.root_group().and_then(|root| root.attribute("distance"));
        let distance = match distance {
            // What is there and cannot be read may say anything.
            Err(Error::AttributeNotFound(_)) => "euclidean".to_owned(),
            found => found.and_then(|distance| distance.read_string()).map_err(|error| {
                refused(format!("its attribute `distance` cannot be read: {error}"))
            })?,
        };
        let is_angular = match distance.as_str() {
            "angular" => true,
            "euclidean" => false,
            other => {
                let reason = format!(
                    "its distance is `{other}`; searches are by `euclidean` or `angular` distance"
                );
                return Err(refused(reason));
            }
        };
        Ok(Self { path: path.to_owned(), bytes, rows, queries, dimensions, is_angular })
    }

    /// The first `count` vectors to load, one behind the other.
    ///
    /// # Errors
    /// It cannot be read, or is not the file any more that it was.
    pub fn loaded(&self, count: u64) -> Result<Vec<f32>, Unreadable> {
        self.vectors("train", count)
    }

    /// The first `count` vectors to search for.
    ///
    /// # Errors
    /// As [`VectorFile::loaded`].
    pub fn searched(&self, count: u64) -> Result<Vec<f32>, Unreadable> {
        self.vectors("test", count)
    }

    /// Of each of the first `count` queries the numbers of the nearest of all rows, from 0: the
    /// `nearest`, and those that are not farther away than the last of them by the part
    /// `tolerance`. None if the file has not so many of them, or names rows that it does not have.
    ///
    /// # Errors
    /// As [`VectorFile::loaded`].
    pub fn nearest(
        &self,
        count: u64,
        nearest: usize,
        tolerance: f64,
    ) -> Result<Option<Vec<Vec<u64>>>, Unreadable> {
        let file = self.open()?;
        let (Ok(rows), Ok(distances)) = (file.dataset("neighbors"), file.dataset("distances"))
        else {
            return Ok(None);
        };
        let known = match (rows.shape(), distances.shape()) {
            (&[queries, known], other) if other == [queries, known] && queries >= count => known,
            _ => return Ok(None),
        };
        let known = usize::try_from(known).unwrap_or(usize::MAX);
        if known < nearest || nearest == 0 {
            return Ok(None);
        }
        let rows = integers(&rows, count).map_err(|error| self.refused(error))?;
        // Some files say -1 where a query has fewer neighbors.
        if !rows.iter().all(|row| (0..self.rows as i64).contains(row)) {
            return Ok(None);
        }
        let distances = numbers(&distances, count).map_err(|error| self.refused(error))?;
        let of_query = |(rows, distances): (&[i64], &[f32])| {
            let limit = f64::from(distances[nearest - 1]) * (1.0 + tolerance);
            // The first ones count whatever their distance: one minus a cosine may be below zero.
            let is_near = |place: usize| place < nearest || f64::from(distances[place]) <= limit;
            let near = (0..known).filter(|place| is_near(*place));
            near.map(|place| rows[place].unsigned_abs()).collect()
        };
        let queries = rows.chunks_exact(known).zip(distances.chunks_exact(known));
        Ok(Some(queries.map(of_query).collect()))
    }

    fn vectors(&self, name: &str, count: u64) -> Result<Vec<f32>, Unreadable> {
        let dataset = self.open()?.dataset(name).map_err(|error| self.refused(error))?;
        let mut all = numbers(&dataset, count).map_err(|error| self.refused(error))?;
        if self.is_angular {
            let dimensions = usize::try_from(self.dimensions).unwrap_or(usize::MAX);
            all.chunks_exact_mut(dimensions.max(1)).for_each(normalize);
        }
        Ok(all)
    }

    fn open(&self) -> Result<Hdf5File, Unreadable> {
        let bytes = self.path.metadata().map(|found| found.len());
        if bytes.ok() != Some(self.bytes) {
            let reason = "it has changed since the experiment was planned".to_owned();
            return Err(Unreadable { path: self.path.clone(), reason });
        }
        open(&self.path).map_err(|error| self.refused(error))
    }

    fn refused(&self, error: Error) -> Unreadable {
        Unreadable { path: self.path.clone(), reason: error.to_string() }
    }
}

/// Reads by position, so that a file that is cut meanwhile is an error and no signal.
fn open(path: &Path) -> Result<Hdf5File, Error> {
    Hdf5File::from_storage(Arc::new(FileStorage::open(path)?))
}

/// The first rows of a table.
fn first(dataset: &Dataset, count: u64) -> SliceInfo {
    let mut rows = SliceInfo::all(dataset.ndim());
    if let Some(own) = rows.selections.first_mut() {
        *own = SliceInfoElem::Slice { start: 0, end: count, step: 1 };
    }
    rows
}

fn numbers(dataset: &Dataset, count: u64) -> Result<Vec<f32>, Error> {
    let rows = first(dataset, count);
    match dataset.read_slice::<f32>(&rows) {
        Ok(values) => Ok(values.into_iter().collect()),
        // A file may have 64 bits, which servers do not.
        Err(_) => Ok(dataset.read_slice::<f64>(&rows)?.into_iter().map(|x| x as f32).collect()),
    }
}

fn integers(dataset: &Dataset, count: u64) -> Result<Vec<i64>, Error> {
    let rows = first(dataset, count);
    match dataset.read_slice::<i32>(&rows) {
        Ok(values) => Ok(values.into_iter().map(i64::from).collect()),
        Err(_) => Ok(dataset.read_slice::<i64>(&rows)?.into_iter().collect()),
    }
}

/// Gives a vector a length of 1, if it has any.
fn normalize(vector: &mut [f32]) {
    let length = vector.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>().sqrt();
    if length > 0.0 {
        vector.iter_mut().for_each(|x| *x = (f64::from(*x) / length) as f32);
    }
}

#[cfg(test)]
mod tests;
