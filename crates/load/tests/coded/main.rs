//! Coded transactions: what they do, and that nothing is allocated between two operations.

#![allow(unsafe_code, reason = "an allocator that counts")]
#![allow(clippy::unwrap_used, reason = "helpers of tests, which are not recognised as such")]

mod orders;
mod tpcc;

use load::{engine::Engine, protocol};
use model::drive::{Endpoint, Target};
use model::workload::Mode;
use orders::Orders;
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

/// Counts the allocations of this process.
struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

// SAFETY: passes everything on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Relaxed);
        // SAFETY: the caller keeps the contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// One test at a time: they share the count.
static TURN: Mutex<()> = Mutex::new(());

fn sqlite(folder: &tempfile::TempDir) -> Target {
    Target {
        initial_sql: vec!["PRAGMA journal_mode = WAL".to_owned()],
        ..Target::of("sqlite", Endpoint::File(folder.path().join("orders.db")))
    }
}

#[test]
fn a_coded_transaction_loops_branches_captures_and_rolls_back() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    for mode in [Mode::Prepared, Mode::Text] {
        let folder = tempfile::tempdir().unwrap();
        orders::check(&sqlite(&folder), mode);
    }
}

/// Allocations of 2,000 operations more on each connection.
fn grown(engine: &mut Engine) -> u64 {
    let mut counted = |operations: u64| {
        let before = ALLOCATIONS.load(Relaxed);
        assert_eq!(orders::run(engine, operations).failed, 0);
        ALLOCATIONS.load(Relaxed) - before
    };
    counted(100);
    let (few, many) = (counted(100), counted(2100));
    many.saturating_sub(few)
}

#[test]
fn nothing_is_allocated_between_two_operations() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = tempfile::tempdir().unwrap();
    let target = sqlite(&folder);
    orders::make_tables(protocol::open(&target).unwrap().as_mut());
    // One connection: no lock of another is an error, whose text would be allocated.
    let mut engine = Engine::connect(&target, 1).unwrap();
    engine.compile_coded::<Orders>(Mode::Prepared).unwrap();
    let coded = grown(&mut engine);
    let mut engine = Engine::connect(&Target::null(), 1).unwrap();
    engine.compile_coded::<Orders>(Mode::Text).unwrap();
    let composed = grown(&mut engine);
    // The report of more latencies is a little longer.
    assert!(coded < 200 && composed < 200, "{coded} {composed}");
}

#[test]
fn the_transactions_of_tpcc_allocate_nothing() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    for mode in [Mode::Prepared, Mode::Text] {
        let mut engine = Engine::connect(&Target::null(), 1).unwrap();
        engine.compile(&tpcc::assignment(Some(mode), 4)).unwrap();
        let allocated = grown(&mut engine);
        assert!(allocated < 200, "{mode:?}: {allocated}");
    }
}

#[test]
fn what_tpcc_draws_is_what_its_specification_says() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let mut engine = Engine::connect(&Target::null(), 2).unwrap();
    engine.compile(&tpcc::assignment(None, 4)).unwrap();
    tpcc::check_draws(&orders::run(&mut engine, 50_000), 4);
    engine.compile(&tpcc::assignment(None, 1)).unwrap();
    tpcc::check_draws(&orders::run(&mut engine, 50_000), 1);
}
