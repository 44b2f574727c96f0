//! Sizes as settings and experiments write them, `1G`, `512MB`, `4096`, and as messages do.

/// The bytes that `text` means. A number without a unit counts `unit` bytes: pages, where a server
/// takes it for those. None where there is no number, or a unit that is none of sizes.
pub fn bytes(text: &str, unit: f64) -> Option<f64> {
    let text = text.trim();
    let number = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match text[number.len()..].to_ascii_lowercase().as_str() {
        "" => unit,
        "b" => 1.0,
        "k" | "kb" => 1024.0,
        "m" | "mb" => 1024.0_f64.powi(2),
        "g" | "gb" => 1024.0_f64.powi(3),
        "t" | "tb" => 1024.0_f64.powi(4),
        _ => return None,
    };
    number.trim_end().parse::<f64>().ok().map(|number| number * unit)
}

/// Bytes as people say them: `2.9 GiB`, `16 MiB`.
pub fn shown(bytes: u64) -> String {
    let mib = bytes as f64 / 1024.0_f64.powi(2);
    if mib < 1024.0 { format!("{mib:.0} MiB") } else { format!("{:.1} GiB", mib / 1024.0) }
}

#[cfg(test)]
mod tests {
    use super::{bytes, shown};

    #[test]
    fn sizes_are_read_in_the_ways_of_all_servers() {
        let check = |text: &str, unit: f64, expected: Option<f64>| {
            assert_eq!(bytes(text, unit), expected, "{text}");
        };
        check("1G", 1.0, Some(1_073_741_824.0));
        check("1g", 1.0, Some(1_073_741_824.0));
        check("512MB", 1.0, Some(536_870_912.0));
        check("512 MB", 8192.0, Some(536_870_912.0));
        check("64kB", 8192.0, Some(65_536.0));
        check("2T", 1.0, Some(2_199_023_255_552.0));
        check("1.5M", 1.0, Some(1_572_864.0));
        check("4096", 1.0, Some(4096.0));
        check("4096B", 8192.0, Some(4096.0));
        check(" 2048 ", 8192.0, Some(16_777_216.0));
        check("-1024", 1.0, Some(-1024.0));
        for wrong in ["", "G", "O_DIRECT", "5min", "1GiB", "much", "1 2", "0x10"] {
            check(wrong, 1.0, None);
        }
    }

    #[test]
    fn sizes_are_said_with_a_unit() {
        let sizes = [0, 512 << 20, 2900 << 20, 24 << 30].map(shown);
        assert_eq!(sizes, ["0 MiB", "512 MiB", "2.8 GiB", "24.0 GiB"]);
    }
}
