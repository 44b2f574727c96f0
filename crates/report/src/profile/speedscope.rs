//! Speedscope: <https://github.com/jlfwong/speedscope/wiki/Importing-from-custom-sources>.

use super::{Profile, ProfileFormat, track};
use serde_json::json;
use std::collections::BTreeMap;

pub(super) const FORMAT: ProfileFormat = ProfileFormat {
    name: "speedscope",
    help: "A file of speedscope, with a profile of each variant",
    bytes,
};

fn bytes(profile: &Profile) -> Result<Vec<u8>, String> {
    let mut frames: BTreeMap<&str, usize> = BTreeMap::new();
    let mut names: Vec<&str> = Vec::new();
    let mut of = |name| {
        *frames.entry(name).or_insert_with(|| {
            names.push(name);
            names.len() - 1
        })
    };
    let stacks: Vec<Vec<usize>> =
        profile.stacks.iter().map(|stack| stack.frames().map(&mut of).collect()).collect();
    let of_variant = |(place, variant): (usize, &String)| {
        let of_it = |stack: &&analysis::explained::Stack| stack.costs[place];
        let all = profile.stacks.iter().zip(&stacks);
        let own: Vec<_> = all.filter(|(stack, _)| of_it(stack) > 0.0).collect();
        let samples: Vec<&Vec<usize>> = own.iter().map(|(_, frames)| *frames).collect();
        let weights: Vec<f64> = own.iter().map(|(stack, _)| of_it(stack)).collect();
        json!({
            "type": "sampled",
            "name": track(profile, variant),
            "unit": "none",
            "startValue": 0,
            "endValue": weights.iter().sum::<f64>(),
            "samples": samples,
            "weights": weights,
        })
    };
    let profiles: Vec<_> = profile.variants.iter().enumerate().map(of_variant).collect();
    let frames: Vec<_> = names.iter().map(|name| json!({ "name": name })).collect();
    let file = json!({
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "name": profile.phase,
        "exporter": "dbdyno",
        "activeProfileIndex": 0,
        "shared": { "frames": frames },
        "profiles": profiles,
    });
    super::json(&file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_variants_have_a_profile_of_the_same_frames() {
        let file: serde_json::Value =
            serde_json::from_slice(&bytes(&crate::profile::sample()).unwrap()).unwrap();
        let frames = file["shared"]["frames"].as_array().unwrap();
        let names: Vec<&str> = frames.iter().map(|frame| frame["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["main", "parse", "\"lex\""]);
        let [base, variant] = [&file["profiles"][0], &file["profiles"][1]];
        assert_eq!(base["samples"], json!([[0], [0, 1], [0, 1, 2]]));
        assert_eq!(base["weights"], json!([10.4, 0.3, 100.3]));
        assert_eq!(variant["samples"], json!([[0], [0, 1]]));
        assert!((variant["endValue"].as_f64().unwrap() - 30.7).abs() < 1e-9);
    }
}
