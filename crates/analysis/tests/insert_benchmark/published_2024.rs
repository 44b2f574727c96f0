//! A report of May 2024 (MariaDB 10.11 and 11.4 against MySQL 8.0, larger than memory, 4 clients),
//! with missed targets: values and colors, cell by cell.
//!
//! The constants are copied from the three summary tables of that report, which is public and too
//! large to lie here: `reports/24_05_15.ib.4u.1tno.io.amd3.mavsmy/all.html` of the repository
//! `mdcallag/mdcallag.github.io` at commit `0de67d4f`. Values are the texts of the cells, colors
//! their `id` (`cmin`, `cmax`, `cgray`, `clo`, `chi`), rows and columns in the report's order.

use crate::columns::{column, load_column, printed};
use analysis::{PhaseColumn, Shown, style};

/// Rates of the loads by variant: l.i0, l.x, l.i1, l.i2.
const LOADS: [[f64; 4]; 6] = [
    [256410.0, 316206.0, 2502.0, 2689.0],
    [251177.0, 303030.0, 1490.0, 2086.0],
    [247295.0, 303145.0, 1425.0, 2162.0],
    [198462.0, 312867.0, 4594.0, 4040.0],
    [181653.0, 52934.0, 55.0, 101.0],
    [199054.0, 310198.0, 3610.0, 3532.0],
];

/// Queries per second by variant: qr100, qp100, qr500, qp500, qr1000, qp1000.
const QUERIES: [[f64; 6]; 6] = [
    [14863.0, 2193.0, 5644.0, 1106.0, 2660.0, 733.0],
    [14856.0, 2088.0, 5908.0, 1144.0, 3099.0, 661.0],
    [14996.0, 2082.0, 7724.0, 1202.0, 3504.0, 653.0],
    [16817.0, 2294.0, 15331.0, 1660.0, 11338.0, 1175.0],
    [6626.0, 28.0, 6498.0, 37.0, 3038.0, 44.0],
    [16917.0, 2314.0, 14778.0, 1669.0, 11877.0, 1085.0],
];

/// Inserts per second in the same phases.
const INSERTS: [[f64; 6]; 6] = [
    [399.0, 399.0, 1994.0, 1994.0, 2808.0, 2940.0],
    [399.0, 399.0, 1994.0, 1994.0, 2351.0, 2494.0],
    [399.0, 399.0, 1994.0, 1994.0, 2399.0, 2503.0],
    [399.0, 399.0, 1994.0, 1994.0, 3989.0, 3989.0],
    [127.0, 134.0, 210.0, 390.0, 550.0, 469.0],
    [399.0, 399.0, 1993.0, 1994.0, 3700.0, 3987.0],
];

const TARGETS: [f64; 6] = [400.0, 400.0, 2000.0, 2000.0, 4000.0, 4000.0];

/// The colors of the rates by variant: Red, Green, grAy or none (`.`).
const ABSOLUTE: [&str; 6] =
    ["GG..GGR.RA", "GG..GGR.RA", "GG..GGR.RA", "RGGGGGGGGG", "RRRRRRRRRR", "RGGGGGGGAG"];

/// The ratios to the first variant.
const RATIOS: [&str; 6] = [
    "1.00 1.00 1.00 1.00 1.00 1.00 1.00 1.00 1.00 1.00",
    "0.98 0.96 0.60 0.78 1.00 0.95 1.05 1.03 1.17 0.90",
    "0.96 0.96 0.57 0.80 1.01 0.95 1.37 1.09 1.32 0.89",
    "0.77 0.99 1.84 1.50 1.13 1.05 2.72 1.50 4.26 1.60",
    "0.71 0.17 0.02 0.04 0.45 0.01 1.15 0.03 1.14 0.06",
    "0.78 0.98 1.44 1.31 1.14 1.06 2.62 1.51 4.47 1.48",
];

/// The colors of the ratios: Yellow, Blue or none.
const RELATIVE: [&str; 6] =
    ["..........", "..YY....BY", "..YY..BBBY", "Y.BBB.BBBB", "YYYYYYBYBY", "Y.BBBBBBBB"];

/// The colors of the insert rates.
const INSERTED: [&str; 6] = ["....RR", "....RR", "....RR", "......", "RRRRRR", "....R."];

fn columns() -> Vec<PhaseColumn> {
    let loads = ["l.i0", "l.x", "l.i1", "l.i2"].into_iter().enumerate();
    let mut columns: Vec<PhaseColumn> =
        loads.map(|(index, phase)| load_column(phase, &LOADS.map(|row| row[index]))).collect();
    for (index, target) in TARGETS.into_iter().enumerate() {
        let cells: Vec<_> = (0..6).map(|row| (QUERIES[row][index], INSERTS[row][index])).collect();
        columns.push(column(&format!("q{index}"), target, &cells));
    }
    columns
}

fn letter(shown: &Shown) -> char {
    match printed(shown).1.as_str() {
        "cmin" => 'R',
        "cmax" => 'G',
        "cgray" => 'A',
        "clo" => 'Y',
        "chi" => 'B',
        _ => '.',
    }
}

/// Colors of a table by variant.
fn letters(columns: &[Vec<Shown>]) -> Vec<String> {
    (0..6).map(|row| columns.iter().map(|column| letter(&column[row])).collect()).collect()
}

#[test]
fn the_published_style_has_the_published_colours() {
    let style = style::find("published").unwrap();
    let absolute: Vec<_> = columns().iter().map(style.absolute).collect();
    assert_eq!(letters(&absolute), ABSOLUTE);
    let relative: Vec<_> = columns().iter().map(style.relative).collect();
    assert_eq!(letters(&relative), RELATIVE);
    let texts: Vec<String> = (0..6)
        .map(|row| {
            let texts: Vec<_> = relative.iter().map(|column| printed(&column[row]).0).collect();
            texts.join(" ")
        })
        .collect();
    assert_eq!(texts, RATIOS);
    let inserted: Vec<_> = columns()[4..].iter().map(style.inserts).collect();
    assert_eq!(letters(&inserted), INSERTED);
}

#[test]
fn our_style_marks_every_missed_target_in_all_tables() {
    let style = style::find("marked").unwrap();
    let missed: Vec<String> = INSERTED.iter().map(|row| format!("....{row}")).collect();
    let marks = |tables: Vec<Vec<Shown>>| -> Vec<String> {
        let mark = |shown: &Shown| if printed(shown).0 == "missed" { 'R' } else { '.' };
        (0..6).map(|row| tables.iter().map(|column| mark(&column[row])).collect()).collect()
    };
    assert_eq!(marks(columns().iter().map(style.absolute).collect()), missed);
    assert_eq!(marks(columns().iter().map(style.relative).collect()), missed);
    assert_eq!(marks(columns().iter().map(style.inserts).collect()), missed);
    // The first variant missed qr1000 and qp1000, so nothing is relative to it there.
    let relative: Vec<_> = columns()[8..].iter().map(style.relative).collect();
    for column in relative {
        assert_eq!(printed(&column[3]).0, "", "{column:?}");
    }
}

#[test]
fn no_red_where_all_are_close_and_no_green_where_all_missed() {
    let style = style::find("published").unwrap();
    let check = |cells: &[(f64, f64)], expected: &str| {
        let found: String =
            (style.absolute)(&column("q", 100.0, cells)).iter().map(letter).collect();
        assert_eq!(found, expected, "{cells:?}");
    };
    check(&[(100.0, 100.0), (90.0, 100.0), (80.0, 100.0)], "G..");
    check(&[(100.0, 100.0), (90.0, 100.0), (79.0, 100.0)], "G.R");
    // All missed: gray, and red only for a rate of nothing.
    check(&[(100.0, 9.0), (50.0, 9.0), (10.0, 9.0)], "AAA");
    check(&[(100.0, 9.0), (50.0, 9.0), (0.0, 9.0)], "AAR");
    // A missed target above all others is gray, in the bottom quarter it is red.
    check(&[(200.0, 9.0), (100.0, 100.0), (20.0, 9.0), (60.0, 100.0)], "AGR.");
    check(&[], "");
}
