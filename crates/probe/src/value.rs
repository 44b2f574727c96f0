//! What readers fill: one value per scope and counter.

use model::reading::Scope;
use std::collections::BTreeMap;

/// One raw value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Value {
    pub(crate) scope: Scope,
    pub(crate) counter: &'static str,
    pub(crate) value: f64,
}

/// The values of one reading of all probes.
#[derive(Debug, Clone, Default)]
pub struct Values {
    all: Vec<Value>,
    /// Values of single tasks of the foreground, by task and counter.
    tasks: BTreeMap<(u32, &'static str), f64>,
}

impl Values {
    /// Adds a value. Where two probes offer the same counter of the same scope, the first one in
    /// the table of probes wins, because the table begins with the most exact.
    pub fn push(&mut self, scope: Scope, counter: &'static str, value: f64) {
        if self.get(scope, counter).is_none() {
            self.all.push(Value { scope, counter, value });
        }
    }

    /// Adds a value of one task of the foreground, which its scope holds too; the first one wins.
    pub(crate) fn push_task(&mut self, task: u32, counter: &'static str, value: f64) {
        self.tasks.entry((task, counter)).or_insert(value);
    }

    /// The value of a counter, if a probe gave one.
    pub fn get(&self, scope: Scope, counter: &str) -> Option<f64> {
        self.iter().find(|v| v.scope == scope && v.counter == counter).map(|v| v.value)
    }

    pub(crate) fn iter(&self) -> std::slice::Iter<'_, Value> {
        self.all.iter()
    }

    /// Values of single tasks of the foreground, by task and counter.
    pub(crate) fn tasks(&self) -> &BTreeMap<(u32, &'static str), f64> {
        &self.tasks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_probe_that_gives_a_counter_wins() {
        let mut values = Values::default();
        values.push(Scope::Server, "page_faults", 5.0);
        values.push(Scope::Client, "page_faults", 6.0);
        values.push(Scope::Server, "page_faults", 7.0);
        assert_eq!(values.get(Scope::Server, "page_faults"), Some(5.0));
        assert_eq!(values.get(Scope::Client, "page_faults"), Some(6.0));
        assert_eq!(values.iter().count(), 2);
        assert_eq!(values.get(Scope::Host, "page_faults"), None);
    }
}
