//! Folders, files and their owners, safe against a server user who replaces names by links: what
//! that user can change is reached through descriptors, and links are never followed.

use crate::{Error, Result, ServerUser, task};
use fs_err as fs;
use rustix::{
    fs::{
        Advice, AtFlags, CWD, Dir, FileType, Gid, Mode, OFlags, Stat, Uid, chownat, fadvise,
        fchmod, fchown, fdatasync, fstat, ioctl_ficlone, openat, readlinkat, statat,
    },
    process::{getegid, geteuid},
};
use std::{
    ffi::OsStr,
    io::Write,
    os::{
        fd::OwnedFd,
        unix::{
            ffi::OsStrExt,
            fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt, symlink},
        },
    },
    path::{Path, PathBuf},
};

const READ: OFlags = OFlags::RDONLY.union(OFlags::CLOEXEC).union(OFlags::NOFOLLOW);
const WRITABLE_BY_OTHERS: u32 = 0o022;
/// What is left of a mode in a copy: until it is given away, it is root's, and root works on it by
/// names, which nobody else may replace.
const COPIED: u32 = 0o777 & !WRITABLE_BY_OTHERS;
/// Everything that the owner of a folder may do.
const OWNERS: u32 = 0o700;

/// Makes a folder of mode 0700 that belongs to the caller, and the missing ones above it. Does
/// nothing where it exists.
pub fn create_private_folder(folder: &Path) -> Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    if let Some(parent) = folder.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        create_private_folder(parent)?;
    }
    make(folder, 0o700, None)
}

/// Makes a folder that the caller owns, whatever the umask is, or gives an existing one this mode
/// and group. Fails where it is a link or belongs to somebody else.
pub(crate) fn make(folder: &Path, mode: u32, group: Option<u32>) -> Result<()> {
    match std::fs::DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => {
            let text = format!("cannot create folder `{}`: {error}", folder.display());
            return Err(Error::File(std::io::Error::new(error.kind(), text)));
        }
        _ => {}
    }
    let failed = |error| file_error(folder, error);
    let handle = openat(CWD, folder, READ | OFlags::DIRECTORY, Mode::empty());
    let handle = handle.map_err(|error| match folder.is_symlink() {
        true => linked(folder),
        false => failed(error),
    })?;
    let about = fstat(&handle).map_err(failed)?;
    if about.st_uid != geteuid().as_raw() {
        return Err(Error::ForeignFolder { path: folder.to_owned(), owner: about.st_uid });
    }
    if let Some(group) = group.filter(|group| *group != about.st_gid) {
        fchown(&handle, None, Some(Gid::from_raw(group))).map_err(failed)?;
    }
    if about.st_mode & 0o7777 != mode {
        fchmod(&handle, Mode::from_raw_mode(mode)).map_err(failed)?;
    }
    Ok(())
}

/// Why a folder of dbdyno's own is not used: the error of the system says that it is no folder.
fn linked(folder: &Path) -> Error {
    let text = format!(
        "`{}` is a symbolic link, and dbdyno follows none to its own folders: remove it, and mount \
         the other disk there or, unless you are root, name a folder on it by `XDG_CACHE_HOME`",
        folder.display()
    );
    Error::File(std::io::Error::other(text))
}

/// Writes a file into a folder that the caller alone can write to, readable by the group.
pub(crate) fn write_for_group(file: &Path, text: &str, group: Option<u32>) -> Result<()> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600).custom_flags(libc::O_NOFOLLOW);
    let mut handle = options.open(file).map_err(|error| {
        let text = format!("cannot write `{}`: {error}", file.display());
        std::io::Error::new(error.kind(), text)
    })?;
    let failed = |error| file_error(file, error);
    if let Some(group) = group {
        fchown(&handle, None, Some(Gid::from_raw(group))).map_err(failed)?;
        fchmod(&handle, Mode::from_raw_mode(0o640)).map_err(failed)?;
    }
    Ok(handle.write_all(text.as_bytes())?)
}

/// Writes a file that one user alone can read, into a folder that the caller alone can write to.
pub(crate) fn write_for_owner(file: &Path, text: &str, user: Option<ServerUser>) -> Result<()> {
    write_for_group(file, text, None)?;
    user.map_or(Ok(()), |user| give_one(file, user))
}

/// Whether the caller owns a file or folder and nobody else can write to it. Links are not.
pub(crate) fn is_ours(path: &Path) -> bool {
    let about = fs::symlink_metadata(path);
    about.is_ok_and(|about| {
        !about.is_symlink()
            && about.uid() == geteuid().as_raw()
            && about.mode() & WRITABLE_BY_OTHERS == 0
    })
}

/// Fails unless root owns every folder above `path`, and others can at most add to it, as in
/// `/tmp`.
pub(crate) fn check_above(path: &Path) -> Result<()> {
    for folder in path.ancestors().skip(1) {
        let about = fs::metadata(folder)?;
        let shared = about.mode() & WRITABLE_BY_OTHERS != 0 && about.mode() & 0o1000 == 0;
        if about.uid() != 0 || shared {
            return Err(Error::ForeignFolder { path: folder.to_owned(), owner: about.uid() });
        }
    }
    Ok(())
}

/// Takes over a folder that another user owns or can write to, by descriptor: from then on it is
/// the caller's, and what somebody else may have put there is moved into a new private folder in
/// it, whose path is returned. Nothing in it is read or followed.
pub(crate) fn take_over(root: &Path) -> Result<Option<PathBuf>> {
    let failed = |error| file_error(root, error);
    let handle = openat(CWD, root, READ | OFlags::DIRECTORY, Mode::empty()).map_err(failed)?;
    let about = fstat(&handle).map_err(failed)?;
    let me = geteuid().as_raw();
    let is_foreign = |about: &Stat| about.st_uid != me || about.st_mode & WRITABLE_BY_OTHERS != 0;
    let all = is_foreign(&about);
    if all {
        fchown(&handle, Some(geteuid()), Some(getegid())).map_err(failed)?;
        fchmod(&handle, Mode::from_raw_mode(0o700)).map_err(failed)?;
    }
    let mut aside: Option<PathBuf> = None;
    for name in names(&handle, root)? {
        let about = statat(&handle, &name, AtFlags::SYMLINK_NOFOLLOW).map_err(failed)?;
        let is_link = FileType::from_raw_mode(about.st_mode) == FileType::Symlink;
        if !all && !is_link && !is_foreign(&about) {
            continue;
        }
        let folder = match &aside {
            Some(folder) => folder.clone(),
            None => aside.insert(new_aside(root)?).clone(),
        };
        rustix::fs::renameat(&handle, &name, CWD, folder.join(&name)).map_err(failed)?;
    }
    Ok(aside)
}

fn new_aside(root: &Path) -> Result<PathBuf> {
    let mut number = 1;
    loop {
        let folder = root.join(format!("untrusted-{number}"));
        if fs::symlink_metadata(&folder).is_err() {
            make(&folder, 0o700, None)?;
            return Ok(folder);
        }
        number += 1;
    }
}

/// Gives a folder of the caller's with everything in it to the server user. Nobody else can reach
/// what is in it until the end, because the folder itself comes last.
pub(crate) fn give(folder: &Path, user: Option<ServerUser>) -> Result<()> {
    let Some(user) = user else { return Ok(()) };
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            give(&entry.path(), Some(user))?;
        } else {
            give_one(&entry.path(), user)?;
        }
    }
    give_one(folder, user)
}

fn give_one(path: &Path, user: ServerUser) -> Result<()> {
    let (uid, gid) = (Uid::from_raw(user.uid), Gid::from_raw(user.gid));
    chownat(CWD, path, Some(uid), Some(gid), AtFlags::SYMLINK_NOFOLLOW)
        .map_err(|error| file_error(path, error))
}

/// Has the kernel forget what it has of the files of a folder, as after a start of the host; what
/// is not written yet is written before.
pub(crate) fn forget_cached(folder: &Path) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            forget_cached(&entry.path())?;
        } else if kind.is_file() {
            let failed = |error| file_error(&entry.path(), error);
            let file = openat(CWD, entry.path(), READ, Mode::empty()).map_err(failed)?;
            fdatasync(&file).map_err(failed)?;
            fadvise(&file, 0, None, Advice::DontNeed).map_err(failed)?;
        }
    }
    Ok(())
}

/// Copies the data folder `from` to `to`, which must not exist and whose parent is the caller's: by
/// reflink where the file system can, else byte by byte. Modes are kept, but the owner alone may
/// write, who is that of `from`. Links are copied as links; sockets, pipes and devices are left
/// out. Fails at a file that belongs to another user than the folder: it was put there by a hard
/// link.
pub fn copy_folder(from: &Path, to: &Path) -> Result<()> {
    let owner = copy_tree(from, to)?;
    give(to, Some(owner).filter(|owner| owner.uid != geteuid().as_raw()))
}

/// The same, but the copy belongs to the caller. Returns the owner of `from`.
pub(crate) fn copy_tree(from: &Path, to: &Path) -> Result<ServerUser> {
    copy_without(from, to, "")
}

/// The same without what has a name, right below `from`.
pub(crate) fn copy_without(from: &Path, to: &Path, left_out: &str) -> Result<ServerUser> {
    let failed = |error| file_error(from, error);
    let source = openat(CWD, from, READ | OFlags::DIRECTORY, Mode::empty()).map_err(failed)?;
    let about = fstat(&source).map_err(failed)?;
    let owner = ServerUser { uid: about.st_uid, gid: about.st_gid };
    copy_entries(&source, (from, to), &Copying { owner: owner.uid, left_out })?;
    Ok(owner)
}

/// Whose files are copied, and what is not.
struct Copying<'a> {
    owner: u32,
    left_out: &'a str,
}

fn copy_entries(source: &OwnedFd, (from, to): (&Path, &Path), copying: &Copying<'_>) -> Result<()> {
    std::fs::DirBuilder::new().mode(0o700).create(to).map_err(|error| {
        let text = format!("cannot create folder `{}`: {error}", to.display());
        std::io::Error::new(error.kind(), text)
    })?;
    for name in names(source, from)? {
        if name.as_os_str() == copying.left_out {
            continue;
        }
        let (path, target) = (from.join(&name), to.join(&name));
        let failed = |error| file_error(&path, error);
        let about = statat(source, &name, AtFlags::SYMLINK_NOFOLLOW).map_err(failed)?;
        match FileType::from_raw_mode(about.st_mode) {
            FileType::Directory => {
                let folder = openat(source, &name, READ | OFlags::DIRECTORY, Mode::empty());
                let below = Copying { left_out: "", ..*copying };
                copy_entries(&folder.map_err(failed)?, (&path, &target), &below)?;
            }
            FileType::RegularFile => copy_file(source, (&path, &target), copying.owner)?,
            FileType::Symlink => {
                let link = readlinkat(source, &name, Vec::new()).map_err(failed)?;
                symlink(OsStr::from_bytes(link.as_bytes()), &target)?;
            }
            _ => {}
        }
    }
    let mode = fstat(source).map_err(|error| file_error(from, error))?.st_mode;
    let handle = fs::File::open(to)?;
    fchmod(handle.file(), Mode::from_raw_mode(mode & COPIED)).map_err(|error| file_error(to, error))
}

fn copy_file(source: &OwnedFd, (from, to): (&Path, &Path), owner: u32) -> Result<()> {
    let failed = |error| file_error(from, error);
    let name = from.file_name().unwrap_or_default();
    // It may have become a pipe by now, which would be waited for.
    let file = openat(source, name, READ | OFlags::NONBLOCK, Mode::empty()).map_err(failed)?;
    let about = fstat(&file).map_err(failed)?;
    if FileType::from_raw_mode(about.st_mode) != FileType::RegularFile || about.st_uid != owner {
        return Err(Error::ForeignFile { path: from.to_owned(), owner });
    }
    let mut options = std::fs::OpenOptions::new();
    let mut target = options.write(true).create_new(true).mode(0o600).open(to)?;
    let mut file = std::fs::File::from(file);
    if ioctl_ficlone(&target, &file).is_err() {
        std::io::copy(&mut file, &mut target).map_err(|error| file_error(to, error))?;
    }
    // By their times `make` knows which files follow from which.
    target.set_modified(file.metadata()?.modified()?)?;
    fchmod(&target, Mode::from_raw_mode(about.st_mode & COPIED))
        .map_err(|error| file_error(to, error))
}

/// Makes a folder of the caller's, which nobody else can change, readable by all: archives and
/// umasks differ. Links are left as they are.
pub(crate) fn make_readable(path: &Path) -> Result<()> {
    let about = fs::symlink_metadata(path)?;
    if about.is_symlink() {
        return Ok(());
    }
    let search = if about.is_dir() || about.mode() & 0o100 != 0 { 0o111 } else { 0 };
    let wanted = (about.mode() | 0o644 | search) & 0o755;
    if about.mode() & 0o7777 != wanted {
        fs::set_permissions(path, std::fs::Permissions::from_mode(wanted))?;
    }
    if about.is_dir() {
        for entry in fs::read_dir(path)? {
            make_readable(&entry?.path())?;
        }
    }
    Ok(())
}

/// Removes a folder with all that is in it, also folders that deny their owner to write.
pub(crate) fn remove(folder: &Path) -> std::io::Result<()> {
    match fs::remove_dir_all(folder) {
        // Root needs no permission, and follows no name that a server user could have replaced.
        Err(error)
            if error.kind() == std::io::ErrorKind::PermissionDenied && !geteuid().is_root() =>
        {
            make_writable(folder)?;
            fs::remove_dir_all(folder)
        }
        removed => removed,
    }
}

/// Removes an earlier build at a place. Fails where something of it runs: it would go on without
/// its files, and its next start be of another build.
pub(crate) fn remove_build(target: &Path) -> Result<()> {
    if !target.exists() {
        return Ok(());
    }
    if task::executes_below(&fs::canonicalize(target)?) {
        return Err(Error::FolderInUse { path: target.to_owned() });
    }
    Ok(remove(target)?)
}

/// Lets the owner write into a folder of the caller's, which nobody else can change, and into all
/// folders below it.
pub(crate) fn make_writable(folder: &Path) -> std::io::Result<()> {
    open_to_owner(folder)?;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            make_writable(&entry.path())?;
        }
    }
    Ok(())
}

/// Lets the owner of a folder enter it and write into it. A link is left as it is.
pub(crate) fn open_to_owner(folder: &Path) -> std::io::Result<()> {
    let about = fs::symlink_metadata(folder)?;
    if !about.is_dir() || about.mode() & OWNERS == OWNERS {
        return Ok(());
    }
    let mode = (about.mode() & 0o777) | OWNERS;
    fs::set_permissions(folder, std::fs::Permissions::from_mode(mode))
}

/// Names in an open folder.
fn names(folder: &OwnedFd, path: &Path) -> Result<Vec<PathBuf>> {
    let failed = |error| file_error(path, error);
    let mut found = Vec::new();
    for entry in Dir::read_from(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name().to_bytes();
        if name != b"." && name != b".." {
            found.push(PathBuf::from(OsStr::from_bytes(name)));
        }
    }
    Ok(found)
}

/// An error of a call that knows no path, with the path that it was about.
pub(crate) fn file_error(path: &Path, error: impl Into<std::io::Error>) -> Error {
    let error = error.into();
    Error::File(std::io::Error::new(error.kind(), format!("{error}: `{}`", path.display())))
}

#[cfg(test)]
mod tests;
