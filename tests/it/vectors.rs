//! Searches for the nearest vectors, end to end: loaded, indexed, searched, held against the truth.

use crate::lab::Lab;
use hdf5_writer::{AttributeBuilder, DatasetBuilder, Hdf5Builder, WriteOptions};
use std::path::Path;

/// An experiment of a few slices.
fn experiment(builds: &str, factors: &str) -> String {
    format!(
        "question = \"is the recall right?\"\nsuite = \"vectors\"\nblocks = 2\nrounds = 1\n\
         slice_seconds = 0.5\nwarmup_seconds = 0.1\n\
         [factors]\nbuild = [{builds}]\nconfig = [\"vectors\"]\n{factors}"
    )
}

/// What recall may differ from that of docs/vectors.md: two builds of the same rows differ.
const ALLOWED: f64 = 0.02;

/// Standard deviations that chance is allowed, beyond which are 2e-9 of all means.
const CHANCE: f64 = 6.0;

/// What recall may differ from an expected one where a phase has done few searches, as on a busy
/// host. Of the ten rows of a search each is found or not: were they found or missed together, the
/// variance of a search would be that of one row, and were they independent, a tenth of it.
fn allowed(lab: &Lab, phase: &str, expected: f64) -> f64 {
    let slices = lab.slices();
    let own = slices.iter().filter(|one| one["phase"] == phase && one["state"] == "measured");
    let searches: f64 = own.filter_map(|one| one["work"]["succeeded"].as_f64()).sum();
    let chance = CHANCE * (expected * (1.0 - expected) / 4.0 / searches).sqrt();
    ALLOWED.max(chance)
}

/// Levels of which every phase of [`check`] has one each.
const LEVELS: &str = "m = [6, 16]\nef = [10, 20, 40]\n";

/// Recall by phase, in the mean over two builds of each index.
fn check(build: &str, factors: &str, expected: &[(&str, f64)]) {
    let lab = Lab::with_small_logs();
    lab.write("small.toml", &experiment(&format!("\"{build}\""), factors));
    lab.succeed(&["run", "small.toml", "--counts", "none", "--progress", "none"]);
    for slice in lab.slices().iter().filter(|slice| slice["state"] == "measured") {
        let work = &slice["work"];
        assert_eq!((&work["failed"], &work["unexpected"]), (&0.into(), &0.into()), "{work}");
    }
    let comparison = lab.comparison();
    let bases = comparison["bases"].as_array().unwrap();
    for (phase, expected) in expected {
        let phase = format!("vector-search.{phase}");
        let of = |metric: &str| {
            let mut own = bases.iter().filter(|row| row["phase"] == phase.as_str());
            own.find(|row| row["metric"] == metric).and_then(|row| row["value"].as_f64())
        };
        let recall = of("recall").unwrap();
        let allowed = allowed(&lab, &phase, *expected);
        assert!((recall - expected).abs() <= allowed, "{phase}: {recall}, and not {expected}");
        // Where fewer than one search in twenty misses a row, this share is 1.
        let worst = of("recall_p05").unwrap();
        assert!((0.0..=1.0).contains(&worst) && (worst <= recall || recall > 0.95), "{phase}");
    }
}

/// The recall of a phase.
fn recall(comparison: &serde_json::Value, phase: &str) -> f64 {
    let mut rows = comparison["bases"].as_array().unwrap().iter();
    let own = rows.find(|row| row["phase"] == phase && row["metric"] == "recall");
    own.and_then(|row| row["value"].as_f64()).unwrap_or_else(|| panic!("{phase} has no recall"))
}

#[test]
fn every_kind_of_index_of_pgvector_is_used_and_finds_what_it_should() {
    let lab = Lab::with_small_logs();
    let factors = "ef = [10, 40, 200]\nprobes = [1, 10, 30]\n";
    let text = experiment("\"postgres@18\"", factors).replace("\"vectors\"\n", "\"pgvector\"\n");
    lab.write("kinds.toml", &text);
    let said = lab.succeed(&["run", "kinds.toml", "--counts", "none", "--progress", "none"]);
    assert!(said.contains("At equal recall"), "{said}");
    // The newest of its series.
    let is_named =
        |line: &str| line.contains("postgres-18.") && line.contains(", pgvector-ivfflat");
    assert!(said.lines().any(is_named), "{said}");
    let comparison = lab.comparison();
    let recall = |phase: &str| recall(&comparison, phase);
    for (phase, expected) in [("ef10", 0.945), ("ef40", 0.996)] {
        let (whole, half) = (
            recall(&format!("pgvector-hnsw.{phase}")),
            recall(&format!("pgvector-halfvec.{phase}")),
        );
        for (kind, found) in [("hnsw", whole), ("halfvec", half)] {
            let allowed = allowed(&lab, &format!("pgvector-{kind}.{phase}"), expected);
            assert!((found - expected).abs() <= allowed, "{kind} {phase}: {found}, {expected}");
        }
    }
    // Slices have the work that the index permits: without it all searches take the same time, and
    // with it a short one takes a sixth of a long one. The work of each index is measured at a time
    // of its own, at which a busy host may be some times slower.
    let slices = lab.slices();
    let searches = |phase: &str| {
        let own = slices.iter().find(|slice| slice["phase"] == phase).unwrap();
        own["work"]["scheduled"].as_u64().unwrap()
    };
    let work = ["hnsw", "halfvec"]
        .map(|kind| ["ef10", "ef200"].map(|ef| searches(&format!("pgvector-{kind}.{ef}"))));
    assert!(work.iter().any(|[short, long]| *short > 2 * long), "{work:?}");
    let lists = [1, 10, 30].map(|probes| recall(&format!("pgvector-ivfflat.probes{probes}")));
    assert!(lists.is_sorted() && lists[0] < 0.8 && lists[2] > 0.9, "{lists:?}");
    lab.succeed(&["verify", "kinds.toml"]);
}

#[test]
fn mariadb_has_the_recall_that_it_had_elsewhere() {
    let expected = [
        ("m6.ef10", 0.883),
        ("m6.ef20", 0.940),
        ("m6.ef40", 0.977),
        ("m16.ef10", 0.986),
        ("m16.ef20", 0.996),
        ("m16.ef40", 0.999),
    ];
    check("mariadb@11.8", LEVELS, &expected);
}

#[test]
fn pgvector_has_the_recall_that_it_had_elsewhere() {
    let expected = [("ef10", 0.945), ("ef20", 0.981), ("ef40", 0.996)];
    check("postgres@18", "m = [16]\nef = [10, 20, 40]\n", &expected);
}

const ROWS: usize = 2_000;
const QUERIES: usize = 40;
const DIMENSIONS: usize = 12;

/// A file as ann-benchmarks writes it, with vectors of many lengths.
fn vector_file(path: &Path, distance: &str, far: fn(&[f32], &[f32]) -> f32) {
    let mut random = fastrand::Rng::with_seed(5);
    let mut vectors = |count: usize| -> Vec<f32> {
        let one = |_| {
            let length = 1.0 + 9.0 * random.f32();
            [(); DIMENSIONS].map(|()| length * (random.f32() - 0.5))
        };
        (0..count).flat_map(one).collect()
    };
    let (train, test) = (vectors(ROWS), vectors(QUERIES));
    let (mut neighbors, mut distances) = (Vec::new(), Vec::new());
    for query in test.chunks_exact(DIMENSIONS) {
        let all = train.chunks_exact(DIMENSIONS).map(|row| far(query, row));
        let mut all: Vec<(f32, i32)> = all.zip(0..).collect();
        all.sort_by(|a, b| a.0.total_cmp(&b.0));
        neighbors.extend(all[..100].iter().map(|(_, row)| *row));
        distances.extend(all[..100].iter().map(|(far, _)| *far));
    }
    let table = |name: &str, columns: usize, values: &[f32]| {
        let shape = vec![(values.len() / columns) as u64, columns as u64];
        DatasetBuilder::typed_data(name, shape, values).unwrap()
    };
    let neighbors =
        DatasetBuilder::typed_data("neighbors", vec![QUERIES as u64, 100], &neighbors).unwrap();
    let file = Hdf5Builder::new()
        .attribute(AttributeBuilder::fixed_string("distance", distance))
        .dataset(table("train", DIMENSIONS, &train))
        .dataset(table("test", DIMENSIONS, &test))
        .dataset(neighbors)
        .dataset(table("distances", 100, &distances));
    let bytes = file.into_plan().unwrap().encode(WriteOptions::default()).unwrap();
    std::fs::write(path, bytes).unwrap();
}

fn euclidean(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f32>().sqrt()
}

fn angular(a: &[f32], b: &[f32]) -> f32 {
    let product = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
    1.0 - product(a, b) / (product(a, a) * product(b, b)).sqrt()
}

#[test]
fn vectors_of_a_file_are_loaded_and_searched() {
    let check = |build: &str, distance: &str, far| {
        let lab = Lab::with_small_logs();
        vector_file(&lab.path("own.hdf5"), distance, far);
        let text = experiment(&format!("\"{build}\""), "m = [16]\nef = [200]\n");
        lab.write("own.toml", &text.replace("[factors]", "dataset = \"own.hdf5\"\n[factors]"));
        let run = |more: &[&str]| {
            let words = ["run", "own.toml", "--counts", "none", "--progress", "none"];
            lab.succeed(&[&words[..], &["--set", "blocks=1"], more].concat())
        };
        let recall = |phase: &str| recall(&lab.comparison(), phase);
        run(&[]);
        // What the file knows to be the nearest is found by a server that looks at all rows, and
        // by a graph that is searched for long.
        let found = recall("vector-search");
        assert!(
            found > 0.99 && (build != "sqlite" || found == 1.0),
            "{build}, {distance}: {found}"
        );
        // Of fewer rows it does not know, and the client looks itself.
        run(&["--set", "parameters.vectors=500"]);
        let found = recall("vector-search");
        assert!(
            found > 0.99 && (build != "sqlite" || found == 1.0),
            "{build}, {distance}: {found}"
        );
    };
    check("sqlite", "euclidean", euclidean);
    check("sqlite", "angular", angular);
    check("postgres@18", "angular", angular);
}

#[test]
fn files_of_vectors_that_do_not_fit_are_refused_before_anything_starts() {
    let lab = Lab::new();
    vector_file(&lab.path("own.hdf5"), "euclidean", euclidean);
    lab.write("text.hdf5", "1,2,3\n");
    lab.write("own.toml", &experiment("\"sqlite\"", "m = [16]\n"));
    let check = |sets: &[&str], part: &str| {
        let sets = sets.iter().flat_map(|set| ["--set", set]);
        let words: Vec<&str> = ["plan", "own.toml"].into_iter().chain(sets).collect();
        let said = lab.refuses(&words);
        assert!(said.contains(part), "{said}");
    };
    check(&["dataset=missing.hdf5"], "missing.hdf5` cannot be used as vectors: No such file");
    check(&["dataset=text.hdf5"], "text.hdf5` cannot be used as vectors");
    let with = "dataset=own.hdf5";
    check(&[with, "parameters.vectors=3000"], "`vectors` is 3000, and `own.hdf5` has 2000");
    check(&[with, "parameters.queries=41"], "`queries` is 41, and `own.hdf5` has 40");
    check(&[with, "parameters.dimensions=3"], "`dimensions` is 3, and `own.hdf5` has 12");
    check(&[with, "suite=quick"], "nothing here searches vectors");
}

#[test]
fn sqlite_finds_the_nearest_because_it_looks_at_all() {
    check("sqlite", LEVELS, &[("m6.ef10", 1.0), ("m16.ef40", 1.0)]);
}

/// What `verify` says of a schema in which something is replaced.
fn verified(build: &str, replaced: &[(&str, &str)]) -> (bool, String) {
    let lab = Lab::with_small_logs();
    let mut schema = include_str!("../../catalog/schemas/vectors.toml").to_owned();
    for (old, new) in replaced {
        assert!(schema.contains(old), "{old}");
        schema = schema.replace(old, new);
    }
    std::fs::create_dir_all(lab.path("catalog/schemas")).unwrap();
    lab.write("catalog/schemas/vectors.toml", &schema);
    let factors = "m = [6]\nef = [20]\n";
    lab.write("small.toml", &experiment(&format!("\"{build}\""), factors));
    let output = lab.run(&["verify", "small.toml", "--catalog", "catalog"]);
    let said = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8(said).unwrap())
}

#[test]
fn a_wrong_distance_and_a_missing_index_are_found() {
    let check = |build: &str, replaced: &[(&str, &str)], part: &str| {
        let (good, said) = verified(build, replaced);
        assert_eq!(good, part.is_empty(), "{said}");
        assert!(said.contains(part), "{said}");
    };
    let index = "ADD VECTOR INDEX nearest_m{m} (v) M={m} DISTANCE=euclidean";
    check("mariadb@11.8", &[], "");
    check(
        "mariadb@11.8",
        &[("DISTANCE=euclidean", "DISTANCE=cosine")],
        "uses the index `none`, and not `nearest_m6`",
    );
    check("mariadb@11.8", &[(index, "ADD INDEX other (id)")], "and not `nearest_m6`");
    check("postgres@18", &[], "");
    check("postgres@18", &[("vector_l2_ops", "vector_cosine_ops")], "and not `nearest_m6`");
    check("sqlite", &[], "");
    let wrong = ("v float[{dimensions}]", "v float[{dimensions}] distance_metric=cosine");
    check("sqlite", &[wrong], "of the 10 nearest; compare the distance");
}

#[test]
fn servers_without_vector_indexes_are_refused_before_the_load() {
    let check = |build: &str, part: &str| {
        let lab = Lab::with_small_logs();
        let text = experiment(&format!("\"{build}\""), "");
        lab.write("small.toml", &text.replace("config = [\"vectors\"]\n", ""));
        let said = lab.refuses(&["plan", "small.toml"]);
        assert!(said.contains(part), "{said}");
    };
    check("mysql@9", "MySQL has no vector index");
    check("mariadb@10.1", "MariaDB has vector indexes from 11.7 on");
    check("postgres@11", "from 18 on and `postgres@11");
}

#[test]
fn the_fastest_settings_at_a_recall_are_the_published_ones() {
    let root = env!("CARGO_MANIFEST_DIR");
    let archive = Path::new(root).join("../shared/data/archives/ann.fashion-mnist");
    if !archive.exists() {
        eprintln!("skipped: {} is not there", archive.display());
        return;
    }
    let lab = Lab::new();
    lab.succeed(&["import", &archive.display().to_string()]);
    lab.succeed(&["report", "--out", "r.html"]);
    let page = std::fs::read_to_string(lab.path("r.html")).unwrap();
    let part = page.split_once("<section id=\"recall\"").unwrap().1;
    let part = part.split_once("</section>").unwrap().0;
    let table = lab.succeed(&["compare"]);
    let published = std::fs::read_to_string(archive.join("qr.topN.1")).unwrap();
    let mut compared = 0;
    for group in published.split("Best QPS with recall >= ").skip(1) {
        let (least, settings) = group.split_once('\n').unwrap();
        let rate = |line: &str| line.split_whitespace().nth(1)?.parse::<f64>().ok();
        let best = settings.lines().filter_map(rate).fold(0.0, f64::max);
        let least: f64 = least.trim().parse().unwrap();
        // One heading has all recalls with the same settings.
        let has = |own: &&str| {
            let (all, _) = own.split_once(" or more").unwrap_or_default();
            all.contains(&format!("{least:.3}"))
        };
        for (said, expected) in [(part, format!(">{best:.0}<")), (&table, format!(" {best:.0} "))] {
            let own = said.split("recall of ").skip(1).find(has).unwrap();
            assert!(own.contains(&expected), "{least}: {best} is not in {own}");
        }
        compared += 1;
    }
    assert_eq!(compared, 6);
}
