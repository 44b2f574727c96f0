//! Whether what the style sheet colors can be read: WCAG 2.2, contrast (minimum) 4.5 : 1 for text
//! and 3 : 1 for marks of charts, on light and on dark pages.

use std::collections::{BTreeMap, BTreeSet};

const STYLE: &str = include_str!("../../src/assets/style.css");

/// What dark pages change, and nothing else does.
const DARK: &str = "@media screen and (prefers-color-scheme: dark)";

/// Texts by the grounds that they stand on, as variables of the style sheet.
const TEXTS: [(&str, &[&str]); 3] = [
    ("ink soft link warn", &["paper", "faint"]),
    ("ink", &["hatch"]),
    (
        "on",
        &[
            "b1", "b2", "b3", "b4", "b5", "b6", "w1", "w2", "w3", "w4", "w5", "w6", "pb", "py",
            "cmin", "cmax", "cgray", "line",
        ],
    ),
];

/// Colors by name.
type Colours = BTreeMap<String, String>;

/// `--name: #colour` within a text.
fn colours(text: &str) -> Colours {
    let found = text.split(['{', ';']).filter_map(|part| {
        let (name, value) = part.trim().strip_prefix("--")?.split_once(": ")?;
        value.starts_with('#').then(|| (name.to_owned(), value.to_owned()))
    });
    found.collect()
}

/// The blocks that follow a text in the style sheet.
fn blocks(start: &str) -> Vec<&'static str> {
    let block = |rest: &'static str| {
        let mut depth = 0;
        let end = rest.find(|c| {
            depth += i32::from(c == '{') - i32::from(c == '}');
            c == '}' && depth == 0
        });
        &rest[..end.unwrap()]
    };
    STYLE.split(start).skip(1).map(block).collect()
}

/// The shades of a ramp by class; each class sets one variable.
fn shades(text: &str) -> Colours {
    let found = text.split(".q").skip(1).filter_map(|rule| {
        let (class, value) = rule.split_once(" { --c: ")?;
        Some((format!("q{class}"), value[..7].to_owned()))
    });
    found.collect()
}

/// The variables of light pages and of dark ones, and their ramps of shades.
fn schemes() -> [(&'static str, Colours, Colours); 2] {
    let dark = blocks(DARK);
    let light = dark.iter().fold(STYLE.to_owned(), |style, block| style.replace(block, ""));
    let dark = dark.concat();
    let root = light.split_once(":root {").unwrap().1.split_once('}').unwrap().0;
    let (root, ramp) = (colours(root), shades(&light));
    let merged = |base: &Colours, change: Colours| {
        let mut base = base.clone();
        base.extend(change);
        base
    };
    let dark_root = dark.split_once(":root {").unwrap().1.split_once('}').unwrap().0;
    let dark = ("dark", merged(&root, colours(dark_root)), merged(&ramp, shades(&dark)));
    [("light", root, ramp), dark]
}

/// Relative luminance of `#rrggbb` in sRGB, from 0 to 1.
fn luminance(colour: &str) -> f64 {
    let part = |at: usize| {
        let value = f64::from(u8::from_str_radix(&colour[at..at + 2], 16).unwrap()) / 255.0;
        if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
    };
    0.2126 * part(1) + 0.7152 * part(3) + 0.0722 * part(5)
}

fn contrast(a: &str, b: &str) -> f64 {
    let (a, b) = (luminance(a), luminance(b));
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}

#[test]
fn contrast_is_that_of_wcag() {
    // Values of the WCAG and of WebAIM's checker.
    assert!((contrast("#000000", "#ffffff") - 21.0).abs() < 1e-9);
    assert!((contrast("#777777", "#ffffff") - 4.48).abs() < 0.005);
    assert!((contrast("#0000ff", "#ffffff") - 8.59).abs() < 0.005);
}

#[test]
fn every_text_stands_out_from_its_ground() {
    for (scheme, colours, _) in schemes() {
        for (texts, grounds) in TEXTS {
            for (text, ground) in texts.split(' ').flat_map(|t| grounds.iter().map(move |g| (t, g)))
            {
                let found = contrast(&colours[text], &colours[*ground]);
                assert!(found >= 4.5, "{scheme}: {text} on {ground} is {found:.2}");
            }
        }
        // A share of time is shaded with at most 28 % of the ink.
        let mix = |at: usize| {
            let part =
                |name: &str| f64::from(u8::from_str_radix(&colours[name][at..at + 2], 16).unwrap());
            (0.28 * part("ink") + 0.72 * part("paper")) as u8
        };
        let shaded = format!("#{:02x}{:02x}{:02x}", mix(1), mix(3), mix(5));
        assert!(contrast(&colours["ink"], &shaded) >= 4.5, "{scheme}: ink on {shaded}");
    }
}

#[test]
fn every_line_and_dot_stands_out_from_the_paper() {
    for (scheme, colours, ramp) in schemes() {
        let single = ["base", "s0", "s1", "s2", "s3", "s4", "s5"];
        let single = single.iter().map(|name| (*name, &colours[*name]));
        let ramp = ramp.iter().map(|(name, colour)| (name.as_str(), colour));
        let all: Vec<_> = single.chain(ramp).collect();
        assert_eq!(all.len(), 7 + 12, "{all:?}");
        for (name, colour) in all {
            let found = contrast(colour, &colours["paper"]);
            assert!(found >= 3.0, "{scheme}: {name} on paper is {found:.2}");
        }
    }
}

#[test]
fn no_text_is_half_transparent() {
    // Lines that cover nothing, and links that are shown when they are pointed at.
    let others = [".span", "path.gap", ".link"];
    for rule in STYLE.split('}').filter(|rule| rule.contains("opacity:")) {
        let selector = rule.rsplit_once('{').unwrap().0;
        assert!(others.iter().any(|other| selector.contains(other)), "{selector}");
    }
}

#[test]
fn no_rule_uses_a_colour_that_is_not_looked_at() {
    let known: BTreeSet<&str> = TEXTS
        .iter()
        .flat_map(|(texts, grounds)| texts.split(' ').chain(grounds.iter().copied()))
        .collect();
    // Shapes are no text, and a variant's color is that of its marks alone.
    let shapes = [".key", ".strip circle", " .bar", ".line circle", ".line path"];
    for rule in STYLE.split('}') {
        let (selector, declarations) = rule.rsplit_once('{').unwrap_or(("", rule));
        for declaration in declarations.split(';') {
            let Some((property, value)) = declaration.trim().split_once(": ") else { continue };
            if !["color", "fill", "background"].contains(&property) {
                continue;
            }
            assert!(!value.starts_with('#'), "{selector}: {value} is no variable");
            let Some(name) = value.split_once("var(--").map(|(_, rest)| rest) else { continue };
            let name = name.split(')').next().unwrap();
            let is_shape = name == "c" && shapes.iter().any(|shape| selector.contains(shape));
            assert!(known.contains(name) || is_shape, "{selector}: nothing is known of {name}");
        }
    }
}
