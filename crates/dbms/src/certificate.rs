//! The certificate of a server whose connections are encrypted, made for one start.

use crate::{Error, Result, ServerUser, folder};
use std::path::{Path, PathBuf};

/// A certificate for 127.0.0.1 that signs itself, and its key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Certificate {
    /// Its file, which the server may read.
    pub(crate) file: PathBuf,
    /// The file of its key, which belongs to the server's user and which nobody else may read.
    pub(crate) key: PathBuf,
    /// The certificate as PEM, which is no secret.
    pub(crate) pem: String,
}

impl Certificate {
    /// Makes one in a folder that the caller alone can write to.
    pub(crate) fn new(folder: &Path, user: Option<ServerUser>) -> Result<Self> {
        let names = vec!["127.0.0.1".to_owned()];
        let made = rcgen::generate_simple_self_signed(names)
            .map_err(|error| Error::Certificate { reason: error.to_string() })?;
        let (file, key) = (folder.join("certificate.pem"), folder.join("key.pem"));
        let pem = made.cert.pem();
        folder::write_for_group(&file, &pem, user.map(|user| user.gid))?;
        folder::write_for_owner(&key, &made.signing_key.serialize_pem(), user)?;
        Ok(Self { file, key, pem })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fs_err as fs;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn the_key_is_its_owners_alone_and_each_start_has_another() {
        let folder = tempfile::tempdir().unwrap();
        let made = Certificate::new(folder.path(), None).unwrap();
        assert_eq!(fs::metadata(&made.key).unwrap().mode() & 0o7777, 0o600);
        assert!(fs::read_to_string(&made.key).unwrap().contains("PRIVATE KEY"));
        assert_eq!(fs::read_to_string(&made.file).unwrap(), made.pem);
        assert!(!made.pem.contains("PRIVATE"));
        assert_ne!(Certificate::new(folder.path(), None).unwrap(), made);
        if rustix::process::geteuid().is_root() {
            let user = ServerUser { uid: 4242, gid: 4242 };
            let given = Certificate::new(folder.path(), Some(user)).unwrap();
            let about = fs::metadata(&given.key).unwrap();
            assert_eq!((about.uid(), about.mode() & 0o7777), (4242, 0o600));
            assert_eq!(fs::metadata(&given.file).unwrap().uid(), 0);
        }
    }
}
