//! Averages of raw samplers.
