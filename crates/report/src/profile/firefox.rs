//! The Firefox Profiler's own format, a track for each variant.

use super::{Profile, ProfileFormat, rounded, track};
use format::{CategoryHandle, CpuDelta, Frame, FrameFlags, FrameInfo, Timestamp, WeightType};
use fxprof_processed_profile as format;
use std::time::UNIX_EPOCH;

pub(super) const FORMAT: ProfileFormat = ProfileFormat {
    name: "firefox",
    help: "A file of the Firefox Profiler, with a track for each variant",
    bytes,
};

/// Samples of one stack, at most: what costs more is no profile of an operation.
const MOST: i64 = 10_000;

/// Nothing in a profile has a time: a sample stands for the whole cost of its stack.
fn bytes(profile: &Profile) -> Result<Vec<u8>, String> {
    let interval = format::SamplingInterval::from_millis(1);
    let mut file = format::Profile::new(&profile.phase, UNIX_EPOCH.into(), interval);
    let start = Timestamp::from_millis_since_reference(0.0);
    let process = file.add_process(&profile.phase, 1, start);
    for (place, variant) in profile.variants.iter().enumerate() {
        let thread = file.add_thread(process, place as u32 + 1, start, false);
        file.set_thread_name(thread, &track(profile, variant));
        file.set_thread_samples_weight_type(thread, WeightType::Samples);
        let weights = rounded(profile.stacks.iter().map(|stack| stack.costs[place]));
        let own = profile.stacks.iter().zip(weights).filter(|(_, weight)| *weight > 0);
        for (number, (stack, weight)) in own.enumerate() {
            let frames: Vec<FrameInfo> = stack
                .frames()
                .map(|name| FrameInfo {
                    frame: Frame::Label(file.intern_string(name)),
                    category_pair: CategoryHandle::OTHER.into(),
                    flags: FrameFlags::empty(),
                })
                .collect();
            let frames = file.intern_stack_frames(thread, frames.into_iter());
            let time = Timestamp::from_millis_since_reference(number as f64);
            if weight / i64::from(i32::MAX) > MOST {
                return Err(format!(
                    "a stack of `{variant}` costs {weight}, too much for `firefox`"
                ));
            }
            for weight in samples_of(weight) {
                file.add_sample(thread, time, frames, CpuDelta::ZERO, weight);
            }
        }
    }
    super::json(&file)
}

/// A weight in as many samples as it needs: the format has 32 bits for each, and an operation of
/// seconds costs more nanoseconds.
fn samples_of(weight: i64) -> impl Iterator<Item = i32> {
    let most = i64::from(i32::MAX);
    let whole = std::iter::repeat_n(i32::MAX, (weight / most) as usize);
    let rest = Some((weight % most) as i32).filter(|rest| *rest > 0);
    whole.chain(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_needs_more_than_32_bits_is_several_samples() {
        let check = |weight, expected: &[i32]| {
            assert_eq!(samples_of(weight).collect::<Vec<_>>(), expected, "{weight}");
        };
        check(7, &[7]);
        check(i64::from(i32::MAX), &[i32::MAX]);
        check(5_000_000_000, &[i32::MAX, i32::MAX, 705_032_706]);
    }

    #[test]
    fn a_cost_beyond_all_measure_is_refused() {
        let mut profile = crate::profile::sample();
        profile.stacks[0].costs[0] = 9e18;
        let said = bytes(&profile).unwrap_err();
        assert!(said.starts_with("a stack of `old <1>` costs 9000000000000000000"), "{said}");
    }

    #[test]
    fn each_variant_is_a_thread_whose_samples_are_its_stacks() {
        let file: serde_json::Value =
            serde_json::from_slice(&bytes(&crate::profile::sample()).unwrap()).unwrap();
        let threads = file["threads"].as_array().unwrap();
        let weights = |variant: &str| {
            let starts = |thread: &&serde_json::Value| {
                thread["name"].as_str().unwrap().starts_with(&format!("{variant}: user"))
            };
            threads.iter().find(starts).unwrap()["samples"]["weight"].clone()
        };
        assert_eq!(weights("old <1>"), serde_json::json!([10, 1, 100]));
        assert_eq!(weights("new"), serde_json::json!([10, 21]));
    }
}
