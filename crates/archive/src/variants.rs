//! Which variants are exported, in which order.
