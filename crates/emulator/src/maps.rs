//! What a process has mapped, from its `maps`.

use std::path::PathBuf;

/// A range of addresses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mapping {
    pub(crate) start: u64,
    pub(crate) end: u64,
    /// Where in the file it begins.
    pub(crate) offset: u64,
    /// Path of the file, a name in brackets, or empty.
    pub(crate) name: String,
}

impl Mapping {
    /// The file, if there is one.
    pub(crate) fn file(&self) -> Option<PathBuf> {
        self.name.starts_with('/').then(|| PathBuf::from(&self.name))
    }

    /// Name of the file without folders, or the name in brackets without these.
    pub(crate) fn short(&self) -> &str {
        let name = self.name.strip_suffix(" (deleted)").unwrap_or(&self.name);
        let name = name.rsplit('/').next().unwrap_or_default().trim_matches(['[', ']']);
        if name.is_empty() { "anonymous" } else { name }
    }
}

/// The mappings in a text of `/proc/PID/maps`, in the order of their addresses.
pub(crate) fn parse(text: &str) -> Vec<Mapping> {
    text.lines().filter_map(mapping).collect()
}

fn mapping(line: &str) -> Option<Mapping> {
    let hex = |text: &str| u64::from_str_radix(text, 16).ok();
    let mut rest = line;
    let mut word = || {
        let (word, after) = rest.trim_start().split_once(' ').unwrap_or((rest.trim_start(), ""));
        rest = after;
        word
    };
    let (start, end) = word().split_once('-')?;
    let _rights = word();
    let offset = word();
    let (_device, _inode) = (word(), word());
    let name = rest.trim_start().to_owned();
    Some(Mapping { start: hex(start)?, end: hex(end)?, offset: hex(offset)?, name })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_with_all_forms_of_names() {
        let text = "00400000-00401000 r-xp 00002000 08:01 17 /opt/my server/bin/a (deleted)\n\
                    7f0000000000-7f0000001000 rw-p 00000000 00:00 0 \n\
                    7fff00000000-7fff00002000 r-xp 00000000 00:00 0    [vdso]\nnonsense\n";
        let found = parse(text);
        let names: Vec<_> = found.iter().map(Mapping::short).collect();
        assert_eq!(names, ["a", "anonymous", "vdso"]);
        assert_eq!((found[0].start, found[0].end, found[0].offset), (0x400000, 0x401000, 0x2000));
        assert!(found[0].file().is_some() && found[1].file().is_none());
    }
}
