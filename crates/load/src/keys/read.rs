//! Vectors of a file that are loaded, read once for all who need them at the same time.

use std::sync::{Arc, Mutex, PoisonError, Weak};
use values::VectorFile;

/// The first `count` vectors of a file, one behind the other; forgotten when nobody has them any
/// more. Errors: why they cannot be read.
pub(crate) fn loaded(file: &VectorFile, count: u64) -> Result<Arc<Vec<f32>>, String> {
    type Last = Option<(VectorFile, u64, Weak<Vec<f32>>)>;
    static LAST: Mutex<Last> = Mutex::new(None);
    // Others wait instead of reading the same.
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((known, all, vectors)) = &*last
        && known == file
        && *all == count
        && let Some(vectors) = vectors.upgrade()
    {
        return Ok(vectors);
    }
    let vectors = Arc::new(file.loaded(count).map_err(|error| error.to_string())?);
    *last = Some((file.clone(), count, Arc::downgrade(&vectors)));
    Ok(vectors)
}
