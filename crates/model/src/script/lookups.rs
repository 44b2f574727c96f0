//! What operations look up in indexes.

use super::{Script, Statement};
use crate::workload::NONE;

/// What an operation looks up in indexes.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Lookups {
    /// Descents of an index, from its root to a leaf: one for each key of a list, and one for a
    /// range.
    pub searches: f64,
    /// Keys that are read after them; at least as many.
    pub keys: f64,
}

impl Script {
    /// What a mean operation looks up, over all connections.
    pub fn lookups(&self) -> Lookups {
        let mut mean = Lookups::default();
        let connections = f64::from(self.connections().max(1));
        for role in &self.roles {
            let weights = role.ops.iter().map(|op| f64::from(op.weight)).sum::<f64>().max(1.0);
            for op in &role.ops {
                let share = f64::from(role.clients) / connections * f64::from(op.weight) / weights;
                for statement in &op.statements {
                    let of_statement = statement.lookups();
                    mean.searches += share * of_statement.searches;
                    mean.keys += share * of_statement.keys;
                }
            }
        }
        mean
    }
}

impl Statement {
    /// What one execution of it in an operation looks up, with its repetitions. A full scan
    /// searches for nothing, and what reads rows one by one searches for each.
    fn lookups(&self) -> Lookups {
        if let Some(reads) = self.expect.reads {
            let each = self.repeat as f64 * reads.max(1) as f64;
            return Lookups { searches: each, keys: each };
        }
        if self.index.iter().any(|index| index == NONE) {
            return Lookups::default();
        }
        let list = self.args.iter().filter_map(|arg| arg.list).max().unwrap_or(1);
        let searches = self.repeat as f64 * f64::from(list);
        let keys = self.expect.keys.map_or(1.0, |keys| keys.max(1) as f64) * self.repeat as f64;
        Lookups { searches, keys: keys.max(searches) }
    }
}
