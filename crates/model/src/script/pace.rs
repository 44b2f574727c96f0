//! How fast operations can follow each other, whatever the server does.

use super::{End, Op, Role, Script};

impl Script {
    /// Operations per second that schedules and pauses permit on one connection, of those that end
    /// with the stretch: on the slowest, for which all wait where each executes as many. None where
    /// nothing but the server limits them.
    pub fn most_per_connection(&self) -> Option<f64> {
        let ends = self.roles.iter().filter(|role| role.end == End::Stretch);
        ends.filter_map(Role::most_per_connection).reduce(f64::min)
    }
}

impl Role {
    fn most_per_connection(&self) -> Option<f64> {
        let sum = |of: fn(&Op) -> f64| -> f64 {
            self.ops.iter().map(|op| f64::from(op.weight) * of(op)).sum()
        };
        let seconds = sum(|op| (op.pauses.keying_ms + op.pauses.think_ms) as f64 / 1e3);
        let paused = || (seconds > 0.0).then(|| sum(|_| 1.0) / seconds);
        let clients = f64::from(self.clients.max(1));
        self.arrival.per_second().map(|rate| rate / clients).or_else(paused)
    }
}
