//! Integration tests: the binary as its users see it, one module per concern.
//!
//! Servers are real. A test that needs one installs it, into the same cache that users have.

mod errors;
mod lab;
mod quickstart;
mod servers;
mod survival;
