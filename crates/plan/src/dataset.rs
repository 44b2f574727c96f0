//! A file of vectors: how many it has becomes parameters, where it is goes to the tables.

use crate::{error::Error, layers::Layers};
use model::{coded::VECTOR_ROWS, schema::Schema};
use std::path;
use values::VectorFile;

/// Looks at the file that an experiment names, and takes what it does not say of numbers from it.
/// Fails where the file cannot be used or has not so many.
pub(crate) fn look(layers: &mut Layers) -> Result<Option<VectorFile>, Error> {
    let Some(named) = &layers.wire.dataset else { return Ok(None) };
    let invalid =
        |keys: &[&str], reason: String| Error::Invalid { place: layers.place(keys), reason };
    let unusable = |reason: String| invalid(&["dataset"], reason);
    let absolute = path::absolute(named).map_err(|error| unusable(error.to_string()))?;
    let file = VectorFile::look(&absolute).map_err(|error| unusable(error.to_string()))?;
    let has = [("vectors", file.rows), ("queries", file.queries), ("dimensions", file.dimensions)];
    let mut parameters = layers.wire.parameters.clone();
    for (name, has) in has {
        let has = i64::try_from(has).unwrap_or(i64::MAX);
        let given = *parameters.entry(name.to_owned()).or_insert(has);
        if given > has || (name == "dimensions" && given != has) {
            let shown = named.display();
            let reason = format!(
                "`{name}` is {given}, and `{shown}` has {has}; leave it out to take what the file \
                 has"
            );
            return Err(invalid(&["parameters", name], reason));
        }
    }
    layers.wire.parameters = parameters;
    Ok(Some(file))
}

/// Gives the file to the tables of vectors. Fails where there are none.
pub(crate) fn give(
    file: Option<VectorFile>,
    schemas: &mut [Schema],
    layers: &Layers,
) -> Result<(), Error> {
    let Some(file) = file else { return Ok(()) };
    let tables = schemas.iter_mut().flat_map(|schema| &mut schema.tables);
    let coded = tables.filter_map(|table| table.coded.as_mut());
    let mut taken = false;
    for rows in coded.filter(|rows| rows.name == VECTOR_ROWS) {
        rows.dataset = Some(file.clone());
        taken = true;
    }
    if taken {
        return Ok(());
    }
    let reason = "nothing here searches vectors; remove `dataset`, or use `suite = \"vectors\"`";
    Err(Error::Invalid { place: layers.place(&["dataset"]), reason: reason.to_owned() })
}
