//! The rows that searches for the nearest vectors look at.

use super::coded::{CodedTable, Maker, RowNumber};
use crate::{keys::latent::Latent, wire::RowSink};
use std::sync::Arc;

/// The only table; a schema may have several of it.
pub(super) const TABLES: &[CodedTable] =
    &[CodedTable { name: "vectors.items", columns: &["id", "v"], rows_per_unit: 1, make: item }];

/// What vectors are made from, and room for one.
#[derive(Debug, Clone, Default)]
pub(super) struct Vectors {
    latent: Option<Arc<Latent>>,
    vector: Vec<f32>,
}

fn item(maker: &mut Maker, number: RowNumber, sink: &mut dyn RowSink) -> bool {
    let parameter = |name: &str, default| maker.parameters.get(name).copied().unwrap_or(default);
    let (seed, dimensions) = (parameter("data_seed", 7), parameter("dimensions", 64));
    let Vectors { latent, vector } = &mut maker.vectors;
    let latent = latent.get_or_insert_with(|| {
        Arc::new(Latent::new(seed as u64, usize::try_from(dimensions).unwrap_or(1)))
    });
    latent.fill(number.unit, vector);
    sink.integer(number.unit as i64 + 1);
    sink.vector(vector);
    false
}
