//! Files as ann-benchmarks writes them, and those that it would not.

use super::*;
use hdf5_writer::{AttributeBuilder, DatasetBuilder, Hdf5Builder, WriteOptions};

/// Three vectors of two dimensions and one query, with what is nearest to it.
fn file(distance: &str, far: &[f32]) -> tempfile::NamedTempFile {
    made(AttributeBuilder::fixed_string("distance", distance), [1, 2, 0], far)
}

fn made(distance: AttributeBuilder, near: [i32; 3], far: &[f32]) -> tempfile::NamedTempFile {
    let train = [3.0_f32, 4.0, 0.0, 2.0, 1.0, 0.0];
    let dataset = |name: &str, shape: Vec<u64>, values: &[f32]| {
        DatasetBuilder::typed_data(name, shape, values).unwrap()
    };
    let builder = Hdf5Builder::new()
        .attribute(distance)
        .dataset(dataset("train", vec![3, 2], &train))
        .dataset(dataset("test", vec![1, 2], &[0.0, 1.0]))
        .dataset(DatasetBuilder::typed_data("neighbors", vec![1, 3], &near).unwrap())
        .dataset(dataset("distances", vec![1, 3], far));
    written(&builder.into_plan().unwrap().encode(WriteOptions::default()).unwrap())
}

fn written(bytes: &[u8]) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().unwrap();
    fs_err::write(file.path(), bytes).unwrap();
    file
}

#[test]
fn vectors_queries_and_their_nearest_are_read() {
    let file = file("euclidean", &[1.0, 1.0, 5.0]);
    let known = VectorFile::look(file.path()).unwrap();
    assert_eq!((known.rows, known.queries, known.dimensions), (3, 1, 2));
    assert!(!known.is_angular);
    assert_eq!(known.loaded(2).unwrap(), [3.0, 4.0, 0.0, 2.0]);
    assert_eq!(known.loaded(3).unwrap().len(), 6);
    assert_eq!(known.searched(1).unwrap(), [0.0, 1.0]);
    let nearest = |count| known.nearest(1, count, 1e-6).unwrap();
    assert_eq!(nearest(1).unwrap(), [[1, 2]], "the second is as far as the first");
    assert_eq!(nearest(3).unwrap(), [[1, 2, 0]]);
    assert_eq!(nearest(4), None, "the file knows three");
    assert_eq!(known.nearest(2, 1, 1e-6).unwrap(), None, "of one query");
}

#[test]
fn vectors_whose_angles_are_compared_are_as_long_as_each_other() {
    let file = file("angular", &[0.0, 0.5, 1.0]);
    let known = VectorFile::look(file.path()).unwrap();
    assert_eq!(known.loaded(3).unwrap(), [0.6, 0.8, 0.0, 1.0, 1.0, 0.0]);
}

#[test]
fn the_nearest_count_also_where_rounding_makes_their_distance_negative() {
    for odd in [-6e-8, f32::NAN] {
        let file = file("angular", &[odd, 0.5, 1.0]);
        let known = VectorFile::look(file.path()).unwrap();
        assert_eq!(known.nearest(1, 1, 1e-6).unwrap().unwrap(), [[1]], "{odd}");
    }
}

#[test]
fn neighbors_that_are_no_rows_of_the_file_are_not_taken() {
    for near in [[1, 2, -1], [1, 3, 0]] {
        let distance = AttributeBuilder::fixed_string("distance", "euclidean");
        let file = made(distance, near, &[1.0, 1.0, 5.0]);
        let known = VectorFile::look(file.path()).unwrap();
        assert_eq!(known.nearest(1, 1, 1e-6).unwrap(), None, "{near:?}");
    }
}

#[test]
fn what_is_no_such_file_is_refused_by_name() {
    let check = |path: &Path, part: &str| {
        let said = VectorFile::look(path).unwrap_err().to_string();
        assert!(said.contains(part) && said.contains(&path.display().to_string()), "{said}");
    };
    check(Path::new("/missing.hdf5"), "No such file");
    check(file("hamming", &[0.0, 0.5, 1.0]).path(), "its distance is `hamming`");
    let number = AttributeBuilder::scalar("distance", 1_i32).unwrap();
    check(made(number, [1, 2, 0], &[0.0; 3]).path(), "its attribute `distance` cannot be read");
    check(written(b"id,vector\n").path(), "cannot be used as vectors");
    let whole = fs_err::read(file("euclidean", &[1.0, 1.0, 5.0]).path()).unwrap();
    // Cut anywhere, it is refused or says what it has; it never panics.
    for length in 0..whole.len() {
        let cut = written(&whole[..length]);
        let read = VectorFile::look(cut.path()).and_then(|known| known.loaded(known.rows));
        assert!(read.is_err() || length > whole.len() / 2, "{length}");
    }
}

#[test]
fn a_file_that_changed_is_another_one() {
    let file = file("euclidean", &[1.0, 1.0, 5.0]);
    let known = VectorFile::look(file.path()).unwrap();
    fs_err::write(file.path(), b"shorter").unwrap();
    let said = known.loaded(3).unwrap_err().to_string();
    assert!(said.contains("it has changed"), "{said}");
}
