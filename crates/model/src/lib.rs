//! The vocabulary of dbdyno: values with serde, and nothing else.
//!
//! This crate knows no file, no clock, no process and no trait object. Every other crate speaks in
//! these types, so that a local run, a resumed run and an imported archive are three producers of
//! one record.
//!
//! Read [`script::Script`] first (what is measured), then [`plan::Plan`] (what will happen) and
//! [`record::SliceRecord`] (what happened). The words are those of GLOSSARY.md.

#![forbid(unsafe_code)]

pub mod agent;
pub mod attach;
pub mod bank;
mod cache;
pub mod coded;
pub mod disturbance;
pub mod drawn;
pub mod drive;
pub mod environment;
pub mod escape;
pub mod experiment;
pub mod explanation;
pub mod expression;
mod grouped;
pub mod imported;
pub mod lua;
pub mod margins;
pub mod mark;
pub mod measurement;
pub mod metric;
pub mod natural;
pub mod neighbors;
pub mod notes;
pub mod number;
pub mod observed;
pub mod plan;
pub mod provenance;
mod quoted;
pub mod reading;
pub mod recipe;
pub mod record;
pub mod schedule;
pub mod schema;
pub mod script;
pub mod secret;
pub mod shared;
pub mod size;
pub mod speed;
pub mod sql;
pub mod state;
pub mod subject;
mod target;
pub mod workload;

pub use cache::cache_bytes;
pub use grouped::grouped;
pub use quoted::quoted;

/// Values of the parameters that expressions may name (`rows`, `tables`, `range`, `clients`, …).
pub type Parameters = std::collections::BTreeMap<String, i64>;

/// Levels of the factors in one cell, by factor name (`build`, `config`, `clients`, …).
pub type Levels = std::collections::BTreeMap<String, String>;
