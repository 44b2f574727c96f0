//! How much memory the settings of a server give to its cache of pages.

use crate::{Levels, size};

/// Settings that size a cache, and the bytes of one unit of their value. Several may hold: a server
/// with two storage engines has a cache for each.
const CACHES: [(&str, f64); 3] =
    [("innodb_buffer_pool_size", 1.0), ("rocksdb_block_cache_size", 1.0), (SHARED, 8192.0)];

/// Postgres tells this one in pages.
const SHARED: &str = "shared_buffers";

/// Bytes of all page caches by the settings as a configuration writes them or the server reports
/// them; none where no setting is known. SQLite's `cache_size` is in pages, or in KiB where it is
/// negative.
pub fn cache_bytes(settings: &Levels) -> Option<f64> {
    let bytes = |name: &str, unit: f64| settings.get(name).and_then(|text| size::bytes(text, unit));
    let servers = CACHES.iter().filter_map(|(name, unit)| bytes(name, *unit));
    let sqlite = || {
        let own = bytes("cache_size", 1.0)?;
        let page = bytes("page_size", 1.0).unwrap_or(4096.0);
        Some(if own < 0.0 { -own * 1024.0 } else { own * page })
    };
    servers.reduce(|a, b| a + b).or_else(sqlite).filter(|bytes| *bytes > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn caches_are_known_whatever_their_unit() {
        let check = |settings: &[(&str, &str)], expected_mib: Option<f64>| {
            let settings = settings.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned()));
            let found = cache_bytes(&settings.collect()).map(|bytes| bytes / 1_048_576.0);
            assert_eq!(found, expected_mib);
        };
        check(&[("innodb_buffer_pool_size", "1073741824")], Some(1024.0));
        let both = [("innodb_buffer_pool_size", "64M"), ("rocksdb_block_cache_size", "1G")];
        check(&both, Some(1088.0));
        check(&[("shared_buffers", "131072")], Some(1024.0));
        check(&[("shared_buffers", "512MB")], Some(512.0));
        check(&[("cache_size", "-2048")], Some(2.0));
        check(&[("cache_size", "512"), ("page_size", "8192")], Some(4.0));
        let negative = [("cache_size", "-2048"), ("page_size", "8192")];
        check(&negative, Some(2.0));
        check(&[("cache_size", "x")], None);
        check(&[], None);
    }
}
