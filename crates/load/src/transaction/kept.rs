//! Values kept from results, shared by the connections of different roles that belong together.

use std::sync::atomic::{AtomicI64, Ordering::Relaxed};

/// The kept values of connection `n` of every role. They stand alone: nothing else is read by them,
/// so their order in memory does not matter.
#[derive(Debug)]
pub(crate) struct Kept(Box<[AlignedValue]>);

/// A value on a cache line of its own, because one role may write it and another one read it.
#[derive(Debug, Default)]
#[repr(align(64))]
struct AlignedValue(AtomicI64);

impl Kept {
    /// So many values, all 0.
    pub(crate) fn new(count: usize) -> Self {
        Self((0..count).map(|_| AlignedValue::default()).collect())
    }

    #[inline]
    pub(crate) fn get(&self, index: u16) -> i64 {
        self.0[usize::from(index)].0.load(Relaxed)
    }

    #[inline]
    pub(crate) fn set(&self, index: u16, value: i64) {
        self.0[usize::from(index)].0.store(value, Relaxed);
    }

    #[inline]
    pub(crate) fn add(&self, index: u16, by: i64) {
        self.0[usize::from(index)].0.fetch_add(by, Relaxed);
    }
}
