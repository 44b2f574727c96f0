//! What a server user could do to folders that root works on.

use super::*;
use rustix::fs::mknodat;
use std::{
    os::unix::fs::PermissionsExt,
    time::{Duration, SystemTime},
};

const STRANGER: ServerUser = ServerUser { uid: 64_321, gid: 64_321 };

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().mode() & 0o7777
}

fn is_root() -> bool {
    let is_root = geteuid().is_root();
    if !is_root {
        eprintln!("skipped: only root has files of other users");
    }
    is_root
}

#[test]
fn a_copy_has_the_same_files_modes_times_and_links() {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("from"), folder.path().join("to"));
    fs::create_dir_all(from.join("base")).unwrap();
    fs::write(from.join("base/data"), vec![7_u8; 100_000]).unwrap();
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    let data = fs::OpenOptions::new().write(true).open(from.join("base/data")).unwrap();
    data.file().set_modified(time).unwrap();
    fs::set_permissions(from.join("base/data"), PermissionsExt::from_mode(0o4640)).unwrap();
    symlink("base/data", from.join("link")).unwrap();
    copy_folder(&from, &to).unwrap();
    assert_eq!(fs::read(to.join("base/data")).unwrap(), vec![7_u8; 100_000]);
    assert_eq!(mode(&to.join("base/data")), 0o640, "no copy runs as its owner");
    assert_eq!(fs::metadata(to.join("base/data")).unwrap().modified().unwrap(), time);
    assert_eq!(fs::read_link(to.join("link")).unwrap(), Path::new("base/data"));
    assert_eq!(crate::bytes_below(&to), 100_000 + 9);
}

/// A server could leave folders that it may still change when they are root's.
#[test]
fn nobody_else_can_write_into_a_copy() {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("from"), folder.path().join("to"));
    fs::create_dir_all(from.join("base")).unwrap();
    fs::write(from.join("base/data"), "").unwrap();
    for open in ["", "base", "base/data"] {
        fs::set_permissions(from.join(open), PermissionsExt::from_mode(0o777)).unwrap();
    }
    copy_tree(&from, &to).unwrap();
    let modes = ["", "base", "base/data"].map(|name| mode(&to.join(name)));
    assert_eq!(modes, [0o755; 3]);
}

#[test]
fn a_copy_onto_an_existing_folder_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let from = folder.path().join("from");
    fs::create_dir(&from).unwrap();
    let error = copy_folder(&from, folder.path()).unwrap_err().to_string();
    assert!(error.contains(&folder.path().display().to_string()), "{error}");
}

#[test]
fn a_copy_reads_nothing_through_a_link_and_waits_for_no_pipe() {
    let folder = tempfile::tempdir().unwrap();
    let secret = folder.path().join("secret");
    fs::write(&secret, "secret").unwrap();
    let from = folder.path().join("from");
    fs::create_dir(&from).unwrap();
    symlink(&secret, from.join("link")).unwrap();
    symlink(folder.path(), from.join("folder")).unwrap();
    mknodat(CWD, from.join("pipe"), FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
    let to = folder.path().join("to");
    copy_folder(&from, &to).unwrap();
    assert!(fs::symlink_metadata(to.join("link")).unwrap().is_symlink());
    assert!(fs::symlink_metadata(to.join("folder")).unwrap().is_symlink());
    assert!(!to.join("pipe").exists());
    // The folder itself as a link.
    symlink(&from, folder.path().join("linked")).unwrap();
    assert!(copy_folder(&folder.path().join("linked"), &folder.path().join("other")).is_err());
}

#[test]
fn a_hard_link_to_a_file_of_another_user_is_not_copied() {
    if !is_root() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let secret = folder.path().join("secret");
    fs::write(&secret, "secret").unwrap();
    let from = folder.path().join("from");
    fs::create_dir(&from).unwrap();
    fs::write(from.join("own"), "").unwrap();
    give(&from, Some(STRANGER)).unwrap();
    copy_folder(&from, &folder.path().join("good")).unwrap();
    assert_eq!(fs::metadata(folder.path().join("good/own")).unwrap().uid(), STRANGER.uid);
    fs::hard_link(&secret, from.join("hard")).unwrap();
    let error = copy_folder(&from, &folder.path().join("to")).unwrap_err().to_string();
    assert!(error.contains("from/hard` does not belong to user 64321"), "{error}");
    assert_eq!(fs::metadata(&secret).unwrap().uid(), 0, "it was given away");
}

#[test]
fn giving_a_folder_away_follows_no_link() {
    if !is_root() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    fs::create_dir(&data).unwrap();
    fs::write(folder.path().join("outside"), "").unwrap();
    symlink("../outside", data.join("link")).unwrap();
    symlink(folder.path(), data.join("folder")).unwrap();
    give(&data, Some(STRANGER)).unwrap();
    assert_eq!(fs::metadata(folder.path().join("outside")).unwrap().uid(), 0);
    assert_eq!(fs::metadata(folder.path()).unwrap().uid(), 0);
    assert_eq!(fs::symlink_metadata(data.join("link")).unwrap().uid(), STRANGER.uid);
}

#[test]
fn a_folder_is_not_made_nor_changed_through_a_link() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("target");
    fs::create_dir(&target).unwrap();
    fs::set_permissions(&target, PermissionsExt::from_mode(0o755)).unwrap();
    symlink(&target, folder.path().join("link")).unwrap();
    let error = make(&folder.path().join("link"), 0o700, None).unwrap_err().to_string();
    assert!(error.contains("link` is a symbolic link"), "{error}");
    assert_eq!(mode(&target), 0o755);
    let new = folder.path().join("new");
    make(&new, 0o711, None).unwrap();
    assert_eq!(mode(&new), 0o711, "whatever the umask is");
}

#[test]
fn a_file_is_not_written_through_a_link() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("target");
    fs::write(&target, "precious").unwrap();
    symlink(&target, folder.path().join("conf")).unwrap();
    assert!(write_for_group(&folder.path().join("conf"), "text", None).is_err());
    assert_eq!(fs::read_to_string(&target).unwrap(), "precious");
}

#[test]
fn what_another_user_could_change_is_moved_aside_and_not_followed() {
    if !is_root() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("root");
    fs::create_dir_all(root.join("builds/x")).unwrap();
    give(&root, Some(STRANGER)).unwrap();
    symlink(folder.path(), root.join("run")).unwrap();
    let aside = take_over(&root).unwrap().unwrap();
    assert_eq!(aside, root.join("untrusted-1"));
    assert!(aside.join("builds/x").exists() && is_ours(&root));
    assert!(!root.join("builds").exists());
    assert_eq!(mode(&aside), 0o700);
    assert_eq!(take_over(&root).unwrap(), None, "there is nothing left to move");
    // A folder of the root user's with one entry of somebody else.
    fs::create_dir(root.join("s")).unwrap();
    fs::create_dir(root.join("builds")).unwrap();
    give(&root.join("s"), Some(STRANGER)).unwrap();
    assert_eq!(take_over(&root).unwrap(), Some(root.join("untrusted-2")));
    assert!(root.join("builds").exists() && !root.join("s").exists());
}
