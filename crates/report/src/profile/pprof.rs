//! The format of pprof (gzipped protocol buffers), with a value for each variant:
//! <https://github.com/google/pprof/blob/main/proto/profile.proto>.

use super::{Profile, ProfileFormat, rounded};
use flate2::{Compression, write::GzEncoder};
use model::explanation::Quantity;
use prost::Message;
use std::{collections::BTreeMap, io::Write};

pub(super) const FORMAT: ProfileFormat = ProfileFormat {
    name: "pprof",
    help: "A gzipped file of pprof, with a value for each variant (-sample_index)",
    bytes,
};

/// Field numbers are the format's; fields that are empty here are left out.
#[derive(Clone, PartialEq, Message)]
struct File {
    #[prost(message, repeated, tag = "1")]
    sample_type: Vec<ValueType>,
    #[prost(message, repeated, tag = "2")]
    sample: Vec<Sample>,
    #[prost(message, repeated, tag = "4")]
    location: Vec<Location>,
    #[prost(message, repeated, tag = "5")]
    function: Vec<Function>,
    /// The first is empty.
    #[prost(string, repeated, tag = "6")]
    string_table: Vec<String>,
}

/// Indexes of strings.
#[derive(Clone, PartialEq, Message)]
struct ValueType {
    #[prost(int64, tag = "1")]
    r#type: i64,
    #[prost(int64, tag = "2")]
    unit: i64,
}

#[derive(Clone, PartialEq, Message)]
struct Sample {
    /// Innermost first.
    #[prost(uint64, repeated, tag = "1")]
    location_id: Vec<u64>,
    #[prost(int64, repeated, tag = "2")]
    value: Vec<i64>,
}

#[derive(Clone, PartialEq, Message)]
struct Location {
    #[prost(uint64, tag = "1")]
    id: u64,
    #[prost(message, repeated, tag = "4")]
    line: Vec<Line>,
}

#[derive(Clone, PartialEq, Message)]
struct Line {
    #[prost(uint64, tag = "1")]
    function_id: u64,
}

#[derive(Clone, PartialEq, Message)]
struct Function {
    #[prost(uint64, tag = "1")]
    id: u64,
    #[prost(int64, tag = "2")]
    name: i64,
}

fn bytes(profile: &Profile) -> Result<Vec<u8>, String> {
    let mut file = File { string_table: vec![String::new()], ..File::default() };
    let unit = file.string(match profile.by {
        Quantity::Instructions => "instructions",
        Quantity::CpuTime => "nanoseconds",
    });
    for variant in &profile.variants {
        let r#type = file.string(&format!("{variant} ({})", profile.phase));
        file.sample_type.push(ValueType { r#type, unit });
    }
    let mut known = BTreeMap::new();
    let of = |place: usize| rounded(profile.stacks.iter().map(move |it| it.costs[place]));
    for ((stack, base), variant) in profile.stacks.iter().zip(of(0)).zip(of(1)) {
        let mut location_id: Vec<u64> =
            stack.frames().map(|name| file.location(&mut known, name)).collect();
        location_id.reverse();
        file.sample.push(Sample { location_id, value: vec![base, variant] });
    }
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    let written = packed.write_all(&file.encode_to_vec()).and_then(|()| packed.finish());
    written.map_err(|error| format!("a profile cannot be packed: {error}"))
}

impl File {
    fn string(&mut self, text: &str) -> i64 {
        self.string_table.push(text.to_owned());
        self.string_table.len() as i64 - 1
    }

    /// The place of a function, which has the number of the function.
    fn location<'a>(&mut self, known: &mut BTreeMap<&'a str, u64>, name: &'a str) -> u64 {
        if let Some(id) = known.get(name) {
            return *id;
        }
        let id = self.function.len() as u64 + 1;
        let string = self.string(name);
        self.function.push(Function { id, name: string });
        self.location.push(Location { id, line: vec![Line { function_id: id }] });
        known.insert(name, id);
        id
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    #[test]
    fn a_sample_has_its_functions_innermost_first_and_both_values() {
        let packed = bytes(&crate::profile::sample()).unwrap();
        let mut plain = Vec::new();
        flate2::read::GzDecoder::new(packed.as_slice()).read_to_end(&mut plain).unwrap();
        let file = File::decode(plain.as_slice()).unwrap();
        let name = |id: u64| {
            let function = file.location[id as usize - 1].line[0].function_id;
            file.string_table[file.function[function as usize - 1].name as usize].as_str()
        };
        let named = |sample: &Sample| -> Vec<&str> {
            sample.location_id.iter().map(|id| name(*id)).collect()
        };
        assert_eq!(named(&file.sample[2]), ["\"lex\"", "parse", "main"]);
        let values: Vec<&Vec<i64>> = file.sample.iter().map(|sample| &sample.value).collect();
        assert_eq!(values, [&[10, 10], &[1, 21], &[100, 0]]);
        let types: Vec<&str> = file
            .sample_type
            .iter()
            .map(|value| file.string_table[value.r#type as usize].as_str())
            .collect();
        assert_eq!(types, ["old <1> (point-query)", "new (point-query)"]);
        assert_eq!(file.string_table[0], "");
    }
}
