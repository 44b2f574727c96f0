//! Whether the server user can enter folders and read files, asked before a start and not after it
//! failed.

use crate::{Error, Result, ServerUser};
use fs_err as fs;
use std::{os::unix::fs::MetadataExt, path::Path};

const READ: u32 = 4;
const SEARCH: u32 = 1;

/// Fails where the server user cannot enter the folders above `path` or cannot read it.
pub(crate) fn check(path: &Path, user: Option<ServerUser>) -> Result<()> {
    let Some(user) = user else { return Ok(()) };
    let path = fs::canonicalize(path)?;
    let refused = |path: &Path| Err(Error::Access { user: user.name(), path: path.to_owned() });
    for folder in path.ancestors().skip(1) {
        if !permits(folder, user, SEARCH)? {
            return refused(folder);
        }
    }
    let wanted = if path.is_dir() { READ | SEARCH } else { READ };
    if permits(&path, user, wanted)? { Ok(()) } else { refused(&path) }
}

fn permits(path: &Path, user: ServerUser, wanted: u32) -> Result<bool> {
    let about = fs::metadata(path)?;
    let shift = match (about.uid() == user.uid, about.gid() == user.gid) {
        (true, _) => 6,
        (false, true) => 3,
        (false, false) => 0,
    };
    Ok((about.mode() >> shift) & wanted == wanted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_folder_that_the_user_cannot_enter_is_named() {
        let root = tempfile::tempdir().unwrap();
        let owner = fs::metadata(root.path()).unwrap();
        let inner = root.path().join("inner");
        fs::create_dir(&inner).unwrap();
        let file = inner.join("file");
        fs::write(&file, "").unwrap();
        fs::set_permissions(&inner, std::fs::Permissions::from_mode(0o700)).unwrap();
        let stranger = ServerUser { uid: owner.uid() + 4242, gid: owner.gid() + 4242 };
        let message = check(&file, Some(stranger)).unwrap_err().to_string();
        assert!(message.contains(&format!("user `{}` cannot enter", stranger.uid)), "{message}");
        assert!(check(&file, None).is_ok());
    }
}
