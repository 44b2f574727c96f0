//! Files of the Insert Benchmark: what is read from them, and what is written again.

mod archive_2021;
mod formats;
mod hostile;
mod own;
