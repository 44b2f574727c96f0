//! Files that an option names to be read; errors name the option and say what to do.

use anyhow::{anyhow, bail};
use std::{
    io::{self, Read},
    path::Path,
};

/// Opens the file that an option names. Fails for a folder and where nothing is.
pub(crate) fn open(option: &str, path: &Path) -> anyhow::Result<fs_err::File> {
    let shown = path.display();
    let file = fs_err::File::open(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => anyhow!("`{option}`: there is no file `{shown}`"),
        _ => anyhow!("`{option}`: {error}"),
    })?;
    if file.metadata()?.is_dir() {
        bail!("`{option}`: `{shown}` is a folder: name a file");
    }
    Ok(file)
}

/// The text in it, without the mark that some editors begin it with. Fails for what is no text.
pub(crate) fn text(option: &str, path: &Path) -> anyhow::Result<String> {
    let mut text = String::new();
    open(option, path)?.read_to_string(&mut text).map_err(|error| match error.kind() {
        io::ErrorKind::InvalidData => anyhow!("`{option}`: `{}` is no text", path.display()),
        _ => anyhow!("`{option}`: {error}"),
    })?;
    Ok(text.trim_start_matches('\u{feff}').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_text_file_is_named_with_its_option() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("bytes");
        fs_err::write(&file, [0xff, 0xfe]).unwrap();
        let check = |path: &Path, expected: &str| {
            let error = text("--groups", path).unwrap_err().to_string();
            assert!(error.starts_with("`--groups`: ") && error.ends_with(expected), "{error}");
        };
        check(&folder.path().join("none"), "/none`");
        check(folder.path(), "is a folder: name a file");
        check(&file, "/bytes` is no text");
        fs_err::write(&file, "a,b").unwrap();
        assert_eq!(text("--groups", &file).unwrap(), "a,b");
    }
}
