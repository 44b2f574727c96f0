//! What a file says of a generator, as the generator asks for it.

use std::ops::RangeInclusive;

/// A key of a generator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key {
    /// Its name in files.
    pub name: &'static str,
    /// What it holds.
    pub shape: Shape,
}

impl Key {
    /// A key of this name that holds a value of this shape.
    pub const fn new(name: &'static str, shape: Shape) -> Self {
        Self { name, shape }
    }
}

/// What a key holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// An integer, or an expression that has its value.
    Integer,
    /// Two of them.
    Interval,
    /// A number that need not be whole.
    Real,
    /// A text.
    Text,
    /// Two texts.
    Pair,
    /// Any number of texts.
    Texts,
    /// A truth value.
    Flag,
}

/// The keys of one value in a file, under the parameters of a phase. A key is asked for by the
/// shape that it was declared with.
pub trait Keys {
    /// What is wrong with a key, and where.
    type Fault;

    /// An integer within limits, if it is given.
    fn integer(
        &self,
        key: &'static str,
        allowed: RangeInclusive<i64>,
    ) -> Result<Option<i64>, Self::Fault>;

    /// Both ends, each within limits, of an interval that holds something.
    fn interval(
        &self,
        key: &'static str,
        allowed: RangeInclusive<i64>,
    ) -> Result<[i64; 2], Self::Fault>;

    /// A number that need not be whole, if it is given.
    fn real(&self, key: &'static str) -> Option<f64>;

    /// A text; empty if it is not given.
    fn text(&self, key: &'static str) -> &str;

    /// Two texts; empty if they are not given.
    fn pair(&self, key: &'static str) -> [&str; 2];

    /// The fault that a key makes no sense, for a reason that names it.
    fn wrong(&self, key: &'static str, reason: String) -> Self::Fault;
}
