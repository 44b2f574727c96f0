//! Counters outlive connections: where others are opened to the same server, no value comes twice.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How far the counters of all connections of a server have come, by the counters' identity. Its
/// clones are the same counters.
#[derive(Debug, Clone, Default)]
pub struct Counters(Arc<Mutex<BTreeMap<String, u64>>>);

impl Counters {
    /// Executions after which a connection that is one of `clients` begins, so that none of them
    /// repeats a value: connection `c` takes the values at the distances `c + clients * executions`
    /// from the first one.
    pub(super) fn start(&self, key: &str, clients: u64) -> u64 {
        self.lock().get(key).map_or(0, |reached| reached.div_ceil(clients.max(1)))
    }

    /// Notes that all values of a connection lie nearer than `reached`.
    pub(super) fn note(&self, key: &str, reached: u64) {
        let mut counters = self.lock();
        match counters.get_mut(key) {
            Some(known) => *known = reached.max(*known),
            None => drop(counters.insert(key.to_owned(), reached)),
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, u64>> {
        // Numbers are whole whatever has become of who wrote them.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_value_comes_twice_with_another_number_of_connections() {
        let counters = Counters::default();
        let mut seen = std::collections::BTreeSet::new();
        for (clients, executed) in [(1, 7), (4, 3), (3, 5), (16, 1), (2, 40)] {
            let start = counters.start("a", clients);
            for index in 0..clients {
                // Connections of a stretch that ends by time do not go equally far.
                let until = start + executed + index % 2;
                for execution in start..until {
                    assert!(seen.insert(index + clients * execution), "{clients} {execution}");
                }
                counters.note("a", index + clients * until);
            }
        }
        assert_eq!(counters.start("b", 3), 0);
    }
}
