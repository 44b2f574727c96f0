//! The rows that searches for the nearest vectors look at.

use super::coded::{CodedTable, Maker, RowNumber};
use crate::{
    keys::{latent::Latent, read},
    wire::RowSink,
};
use model::{coded::VECTOR_ROWS, schema::CodedRows};
use std::sync::{Arc, OnceLock};
use values::VectorFile;

/// The only table; a schema may have several of it.
pub(super) const TABLES: &[CodedTable] =
    &[CodedTable { name: VECTOR_ROWS, columns: &["id", "v"], rows_per_unit: 1, make: item }];

/// What vectors are made from, and room for one.
#[derive(Debug, Clone, Default)]
pub(super) struct Vectors {
    latent: Option<Arc<Latent>>,
    /// The file that they come from instead, and how many.
    file: Option<(VectorFile, u64)>,
    /// Those of the file, one behind the other, once somebody needs them.
    read: Arc<OnceLock<Read>>,
    vector: Vec<f32>,
}

/// The vectors of a file, or why it cannot be read.
type Read = Result<Arc<Vec<f32>>, String>;

impl Vectors {
    /// Those of the rows of a schema.
    pub(super) fn of(rows: &CodedRows) -> Self {
        let count = rows.parameters.get("vectors").map_or(0, |count| count.unsigned_abs());
        Self { file: rows.dataset.clone().map(|file| (file, count)), ..Self::default() }
    }

    /// Reads the file, if there is one. Errors: why it cannot be read.
    pub(super) fn open(&self) -> Result<(), String> {
        let Some((file, count)) = &self.file else { return Ok(()) };
        self.read.get_or_init(|| read::loaded(file, *count)).clone().map(drop)
    }
}

fn item(maker: &mut Maker, number: RowNumber, sink: &mut dyn RowSink) -> bool {
    let parameter = |name: &str, default| maker.parameters.get(name).copied().unwrap_or(default);
    let (seed, dimensions) = (parameter("data_seed", 7), parameter("dimensions", 64));
    let dimensions = usize::try_from(dimensions).unwrap_or(1);
    let Vectors { latent, read, vector, .. } = &mut maker.vectors;
    sink.integer(number.unit as i64 + 1);
    if let Some(Ok(all)) = read.get() {
        let first = number.unit as usize * dimensions;
        sink.vector(all.get(first..first + dimensions).unwrap_or_default());
        return false;
    }
    let latent = latent.get_or_insert_with(|| Arc::new(Latent::new(seed as u64, dimensions)));
    latent.fill(number.unit, vector);
    sink.vector(vector);
    false
}
