//! Data folders: templates, which are loaded once, and the copies that blocks work on.

use super::attached;
use crate::{Error, host::files, run::Run};
use fs_err as fs;
use std::path::{Path, PathBuf};

/// Marks a template as complete once all of it is on the disk: after a power cut a marker without
/// its data would make a torn template pass for a whole one.
pub(crate) fn complete(folder: &Path) -> Result<(), Error> {
    files::sync_file_system(folder)?;
    Ok(fs::write(folder.with_extension("complete"), b"")?)
}

/// Whether there is a template that was loaded to its end.
pub(crate) fn is_complete(folder: &Path) -> bool {
    folder.is_dir() && folder.with_extension("complete").exists()
}

/// A fresh copy of a template, for one block.
pub(crate) fn copy_for_block(run: &Run<'_>, subject: usize, load: u32) -> Result<PathBuf, Error> {
    copy_to(run, subject, load, block_path(run, subject))
}

/// The same for the server that an instrument has for itself.
pub(crate) fn copy_for(
    run: &Run<'_>,
    subject: usize,
    load: u32,
    name: &str,
) -> Result<PathBuf, Error> {
    let parent = run.place.data().join(name.replace(' ', "-"));
    copy_to(run, subject, load, parent.join(folder_name(run, subject)))
}

fn copy_to(run: &Run<'_>, subject: usize, load: u32, copy: PathBuf) -> Result<PathBuf, Error> {
    files::remove_folder(&copy)?;
    make_parent(run, &copy)?;
    dbms::copy_folder(&template_path(run, subject, load), &copy)?;
    Ok(copy)
}

/// The data folder of a trial of the classic design: a copy, unless nobody else will need the
/// template.
pub(crate) fn take_for_trial(run: &Run<'_>, subject: usize, load: u32) -> Result<PathBuf, Error> {
    let users = run.plan.blocks.iter().filter(|block| block.load == load).count();
    if users > 1 && !attached::is_attached(run, subject) {
        return copy_for_block(run, subject, load);
    }
    let (template, taken) = (template_path(run, subject, load), block_path(run, subject));
    files::remove_folder(&taken)?;
    make_parent(run, &taken)?;
    if attached::is_attached(run, subject) {
        fs::rename(template, &taken)?;
        return Ok(taken);
    }
    fs::remove_file(template.with_extension("complete"))?;
    fs::rename(template, &taken)?;
    Ok(taken)
}

fn block_path(run: &Run<'_>, subject: usize) -> PathBuf {
    run.place.data().join("block").join(folder_name(run, subject))
}

/// Where a template lies.
pub(crate) fn template_path(run: &Run<'_>, subject: usize, load: u32) -> PathBuf {
    run.place.data().join(format!("load-{load}")).join(folder_name(run, subject))
}

/// A name for the folders of a subject, another one for each.
pub(super) fn folder_name(run: &Run<'_>, subject: usize) -> String {
    let label = &run.subject(subject).label;
    format!("{subject}-{}", plain(label))
}

/// A label as a part of a file name: labels may hold what file names may not.
fn plain(label: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    label.chars().map(plain).collect()
}

pub(super) fn make_parent(run: &Run<'_>, folder: &Path) -> Result<(), Error> {
    let parent = folder.parent().filter(|parent| *parent != run.place.data());
    if let Some(name) = parent.and_then(Path::file_name) {
        run.place.folder_for_data(&name.to_string_lossy())?;
    }
    Ok(())
}
