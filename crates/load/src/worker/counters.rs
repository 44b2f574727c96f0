//! Counters outlive connections: where others are opened to the same server, no value comes twice.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How far the counters of all connections of a server have come, by the counters' identity, and
/// among how many connections they were executed last. Its clones are the same counters.
#[derive(Debug, Clone, Default)]
pub struct Counters(Arc<Mutex<BTreeMap<String, (u64, u64)>>>);

impl Counters {
    /// Executions after which a connection that is one of `clients` begins, so that none of them
    /// repeats a value: connection `c` takes the values at the distances `c + clients * executions`
    /// from the first one. `own` is where the connection left the counter itself, and among how
    /// many: it counts only if nobody has executed it among another number since, and so taken
    /// values of this connection.
    pub(super) fn start(&self, key: &str, clients: u64, own: Option<&(u64, u64)>) -> u64 {
        let (reached, among) = self.lock().get(key).copied().unwrap_or_default();
        match own {
            Some((then, executed)) if *then == clients && among == clients => *executed,
            _ => reached.div_ceil(clients.max(1)),
        }
    }

    /// Notes that all values of a connection, which was one of `among`, lie nearer than `reached`.
    pub(super) fn note(&self, key: &str, reached: u64, among: u64) {
        let mut counters = self.lock();
        match counters.get_mut(key) {
            Some(known) => *known = (reached.max(known.0), among),
            None => drop(counters.insert(key.to_owned(), (reached, among))),
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, (u64, u64)>> {
        // Numbers are whole whatever has become of who wrote them.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Executes a counter in stretches of so many connections and executions, where connections
    /// remember where they left it if they are `kept`.
    fn no_value_twice(stretches: &[(u64, u64)], kept: bool) {
        let counters = Counters::default();
        let mut seen = BTreeSet::new();
        let mut own: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
        for &(clients, executed) in stretches {
            let start = |index| counters.start("a", clients, own.get(&index));
            let starts: Vec<u64> = (0..clients).map(start).collect();
            for (index, start) in (0..).zip(starts) {
                // Connections of a stretch that ends by time do not go equally far.
                let until = start + executed + index % 2;
                for execution in start..until {
                    assert!(seen.insert(index + clients * execution), "{clients} {execution}");
                }
                counters.note("a", index + clients * until, clients);
                if kept {
                    own.insert(index, (clients, until));
                }
            }
        }
    }

    #[test]
    fn no_value_comes_twice_with_another_number_of_connections() {
        no_value_twice(&[(1, 7), (4, 3), (3, 5), (16, 1), (2, 40)], false);
        assert_eq!(Counters::default().start("b", 3, None), 0);
    }

    #[test]
    fn no_value_comes_twice_where_a_role_has_fewer_connections_for_a_while() {
        no_value_twice(&[(4, 3), (4, 2), (2, 9), (4, 3), (4, 1)], true);
    }

    #[test]
    fn connections_go_on_where_they_left_a_counter() {
        let counters = Counters::default();
        counters.note("a", 3 + 4 * 10, 4);
        assert_eq!(counters.start("a", 4, Some(&(4, 7))), 7);
        assert_eq!(counters.start("a", 4, None), 11);
        assert_eq!(counters.start("a", 2, Some(&(4, 7))), 22);
    }
}
