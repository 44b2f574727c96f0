//! Where a build comes from, from its manifest, and how it was compiled, from notes in its program
//! and from what the server reports.

use crate::{
    Installed, Places, Result,
    known::{self, Wanted},
    manifest::{Compiled, Manifest},
    package::{Moves, Release, is_repackaged},
    product::Dbms,
    version::numbers,
};
use model::{Levels, provenance::Provenance};
use object::{Object, ObjectSection, ReadCache};
use std::{
    collections::BTreeSet,
    fmt::Write,
    path::{Path, PathBuf},
};

/// More bytes of debug strings than this are not searched for compiler options.
const DEBUG_STRINGS_MAX: u64 = 64 << 20;

/// A build that can be had or is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Available {
    /// Version.
    pub version: String,
    /// Whether its registry replaces it by newer ones; none for what no registry holds.
    pub moves: Option<Moves>,
    /// Registry and package.
    pub origin: String,
    /// Whether dbdyno knows the SHA-256 of its file.
    pub is_known: bool,
    /// Whether neither the server's vendor nor a distribution made the package.
    pub is_repackaged: bool,
    /// Whether it is compiled on this host.
    pub is_source: bool,
    /// What is known of it where it is installed, with the SHA-256 of its program.
    pub installed: Option<(Provenance, String)>,
    /// The folder where it is installed.
    pub folder: Option<PathBuf>,
}

impl Installed {
    /// Where this build comes from, with what the server `reports` of it.
    pub fn provenance(&self, reported: Levels) -> Result<Provenance> {
        let manifest = Manifest::read(&self.basedir)?;
        Ok(complete(of_files(manifest.as_ref(), &self.basedir, &self.binary), reported))
    }
}

/// The same for the engine that is a part of dbdyno.
pub fn of_bundled(reported: Levels) -> Provenance {
    let found = Provenance {
        source: "bundled".to_owned(),
        package: "a part of dbdyno".to_owned(),
        packager: "dbdyno".to_owned(),
        ..Provenance::default()
    };
    complete(found, reported)
}

/// The same for a server that is there already, whose own answers are all that is known of it.
pub fn of_attached(place: String, reported: Levels) -> Provenance {
    let source = "attach".to_owned();
    complete(Provenance { source, package: place, ..Provenance::default() }, reported)
}

/// All builds of a product that registries hold or that are installed here, oldest first.
pub fn available(product: &dyn Dbms, places: &Places) -> Result<Vec<Available>> {
    let mut manifests = crate::install::cached(product, places)?;
    let mut found: Vec<Available> = Vec::new();
    for release in product.releases() {
        // One that is compiled here may be there with several options.
        let mut is_there = false;
        while let Some(at) = manifests.iter().position(|manifest| is_of(manifest, &release)) {
            is_there = true;
            found.push(one(product, places, Some(&release), Some(manifests.remove(at))));
        }
        if !is_there {
            found.push(one(product, places, Some(&release), None));
        }
    }
    for manifest in manifests {
        found.push(one(product, places, None, Some(manifest)));
    }
    found.sort_by_key(|build| numbers(&build.version));
    Ok(found)
}

/// The versions of a product by which a build can be asked for, each once, oldest first: those that
/// registries hold, those that are installed here, and `others`. What was compiled of a user's own
/// tree is none, whatever it says of itself.
pub fn versions(product: &dyn Dbms, places: &Places, others: &[String]) -> Result<Vec<String>> {
    let cached = crate::install::cached(product, places)?.into_iter();
    let installed = cached.filter(|manifest| manifest.compiled.is_none());
    let held = product.releases().into_iter().map(|release| release.version);
    let all = held.chain(installed.map(|manifest| manifest.version)).chain(others.iter().cloned());
    let mut found: Vec<String> = all.collect::<BTreeSet<_>>().into_iter().collect();
    found.sort_by_key(|version| numbers(version));
    Ok(found)
}

/// Whether a cached build is a release: one that was compiled from the user's own tree is not,
/// whatever version it has.
fn is_of(manifest: &Manifest, release: &Release) -> bool {
    let is_ours = match manifest.compiled {
        Some(_) => manifest.origin == release.package.origin(),
        None => !release.package.is_source(),
    };
    is_ours && manifest.version == release.version
}

fn one(
    product: &dyn Dbms,
    places: &Places,
    release: Option<&Release>,
    manifest: Option<Manifest>,
) -> Available {
    let folder = manifest.as_ref().map(|manifest| places.builds().join(manifest.folder()));
    let installed = manifest.as_ref().zip(folder.as_ref()).map(|(manifest, folder)| {
        let binary = product.program(folder).map(|program| program.binary);
        let binary = binary.unwrap_or_else(|_| folder.clone());
        let found = of_files(Some(manifest), folder, &binary);
        (complete(found, Levels::new()), manifest.binary_sha256.clone())
    });
    let version = release.map(|release| &release.version);
    let origin = match &manifest {
        Some(manifest) => manifest.origin.clone(),
        None => release.map(|release| release.package.origin()).unwrap_or_default(),
    };
    Available {
        version: version.or(manifest.as_ref().map(|m| &m.version)).cloned().unwrap_or_default(),
        moves: release.map(|release| release.moves),
        origin,
        is_known: release.is_some_and(|release| {
            let wanted = Wanted { server: product.name(), version: &release.version };
            known::shipped(wanted).is_some()
        }),
        is_repackaged: release.is_some_and(|release| release.package.is_repackaged()),
        is_source: release.is_some_and(|release| release.package.is_source())
            || manifest.is_some_and(|manifest| manifest.compiled.is_some()),
        installed,
        folder,
    }
}

/// What a build's files tell.
fn of_files(manifest: Option<&Manifest>, basedir: &Path, binary: &Path) -> Provenance {
    let mut found = Provenance::default();
    match manifest.and_then(|manifest| manifest.origin.split_once(": ")) {
        None => {
            "basedir".clone_into(&mut found.source);
            found.package = basedir.display().to_string();
        }
        Some((source, package)) => {
            source.clone_into(&mut found.source);
            package.clone_into(&mut found.package);
            let name = package.split(' ').next().unwrap_or_default();
            found.packager = match source {
                "debian" => "Debian".to_owned(),
                "import" => String::new(),
                _ if is_repackaged(source, name) => format!("{source} {name} (third party)"),
                _ => format!("{source} {name}"),
            };
            let name = name.rsplit(':').next().unwrap_or_default();
            let downloads = manifest.into_iter().flat_map(|manifest| &manifest.downloads);
            if let Some(main) = downloads.into_iter().find(|one| one.file.starts_with(name)) {
                found.archive.clone_from(&main.file);
                found.archive_sha256.clone_from(&main.sha256);
            }
        }
    }
    notes(binary, &mut found);
    if let Some(compiled) = manifest.and_then(|manifest| manifest.compiled.as_ref()) {
        of_compiled(compiled, &mut found);
    }
    found
}

/// What is known of a build because it was compiled here.
fn of_compiled(compiled: &Compiled, found: &mut Provenance) {
    "compiled here".clone_into(&mut found.packager);
    found.tree.clone_from(&compiled.tree);
    found.revision.clone_from(&compiled.revision);
    found.compiler_notes.insert(0, compiled.compiler.clone());
    found.flags = match compiled.flags == compiled.options {
        true => compiled.options.clone(),
        false => format!("{}: {}", compiled.flags, compiled.options),
    };
    if let Some(name) = compiler(&compiled.compiler) {
        found.compiler = name;
    }
}

/// Adds what the server reports, which is nearer to the truth than notes of start files.
fn complete(mut found: Provenance, reported: Levels) -> Provenance {
    let said = reported.values().find_map(|value| {
        let (_, rest) = value.split_once("compiled by ").or(value.split_once("COMPILER="))?;
        compiler(rest)
    });
    found.compiler = said.unwrap_or(found.compiler);
    // What was compiled here is known by the name of its options.
    if let (Some(flags), true) = (reported.get("CFLAGS"), found.tree.is_empty()) {
        found.flags.clone_from(flags);
    }
    if found.packager.is_empty() {
        found.packager = reported.get("version_comment").cloned().unwrap_or_default();
    }
    found.reported = reported;
    found
}

/// Reads the program's notes. What is no ELF file, or has none, leaves everything unknown.
fn notes(binary: &Path, found: &mut Provenance) {
    let Ok(file) = fs_err::File::open(binary) else { return };
    let cache = ReadCache::new(file.into_file());
    let Ok(program) = object::File::parse(&cache) else { return };
    for byte in program.build_id().ok().flatten().unwrap_or_default() {
        // Writing to a string cannot fail.
        let _ = write!(found.build_id, "{byte:02x}");
    }
    let strings = |name: &str| -> Vec<String> {
        let section = program.section_by_name(name).filter(|s| s.size() <= DEBUG_STRINGS_MAX);
        let bytes = section.and_then(|section| section.uncompressed_data().ok());
        let bytes = bytes.unwrap_or_default();
        let all = bytes.split(|byte| *byte == 0).filter(|text| !text.is_empty());
        let known = |text: &&[u8]| {
            ["GCC:", "GNU C"].iter().any(|start| text.starts_with(start.as_bytes()))
                || text.windows(6).any(|part| part == b"clang ")
        };
        all.filter(known).map(|text| String::from_utf8_lossy(text).into_owned()).collect()
    };
    let mut named = strings(".comment");
    named.sort();
    named.dedup();
    // Start files were often compiled by an older one.
    let newest = named.iter().filter_map(|note| compiler(note)).max_by_key(|name| {
        let version = name.rsplit(' ').next().unwrap_or_default();
        numbers(version)
    });
    found.compiler = newest.unwrap_or_default();
    found.compiler_notes = named;
    let options = strings(".debug_str").into_iter().filter(|text| text.contains(" -O"));
    let shortest = options.min_by_key(|text| (text.len(), text.clone()));
    let options = shortest.and_then(|text| Some(text[text.find(" -")?..].trim().to_owned()));
    found.flags = options.unwrap_or_default();
}

/// Name and version of a compiler as it names itself: `GCC: (Ubuntu 7.5.0-3) 7.5.0`,
/// `gcc (GCC) 4.4.7 20120313`, `gcc-12.2.0`, `Debian clang version 14.0.6`.
fn compiler(text: &str) -> Option<String> {
    let word = |text: &str| {
        let end = text.find(|c: char| c.is_whitespace() || c == ',').unwrap_or(text.len());
        let word = &text[..end];
        word.starts_with(|c: char| c.is_ascii_digit()).then(|| word.to_owned())
    };
    if let Some((_, rest)) = text.split_once("clang version ").or(text.split_once("clang-")) {
        return Some(format!("clang {}", word(rest)?));
    }
    let at = text.to_ascii_lowercase().find("gcc")?;
    let rest = text[at + "gcc".len()..].trim_start_matches([':', '-']).trim_start();
    let rest = match rest.strip_prefix('(') {
        Some(inside) => inside.split_once(')')?.1.trim_start(),
        None => rest,
    };
    Some(format!("GCC {}", word(rest)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::Download;

    #[test]
    fn compilers_are_named_in_one_way() {
        let check = |text, expected: &str| {
            assert_eq!(compiler(text).unwrap_or_default(), expected, "{text}");
        };
        check("GCC: (Ubuntu 7.5.0-3ubuntu1~18.04) 7.5.0", "GCC 7.5.0");
        check("GCC: (GNU) 4.1.2 20080704 (Red Hat 4.1.2-48)", "GCC 4.1.2");
        check("GCC: (Gentoo 4.5.3-r1 p1.0, pie-0.4.5) 4.5.3", "GCC 4.5.3");
        check("gcc (Ubuntu 7.5.0-3ubuntu1~18.04) 7.5.0, 64-bit", "GCC 7.5.0");
        check("x86_64-linux-gnu-gcc (Debian 12.2.0-14) 12.2.0, 64-bit", "GCC 12.2.0");
        check("gcc-12.2.0", "GCC 12.2.0");
        check("Debian clang version 14.0.6", "clang 14.0.6");
        check("clang-16.0.1", "clang 16.0.1");
        check("Linker: LLD 14", "");
        check("msvc-1900", "");
        check("GCC: (", "");
    }

    #[test]
    fn a_build_is_told_from_its_manifest_and_by_its_server() {
        let folder = tempfile::tempdir().unwrap();
        let manifest = Manifest {
            server: "postgres".to_owned(),
            version: "11.22".to_owned(),
            origin: "maven: group:binaries [11.22,11.23)".to_owned(),
            binary_sha256: "00".to_owned(),
            downloads: vec![Download {
                file: "binaries-11.22.1.jar".to_owned(),
                sha256: "aa".to_owned(),
            }],
            ..Manifest::default()
        };
        // A script in the place of the program.
        let binary = folder.path().join("postgres");
        fs_err::write(&binary, "#!/bin/sh").unwrap();
        let reported = Levels::from([
            ("version()".to_owned(), "PostgreSQL 11, compiled by gcc (X) 7.5.0, 64-bit".to_owned()),
            ("CFLAGS".to_owned(), "-O2".to_owned()),
        ]);
        let found = complete(of_files(Some(&manifest), folder.path(), &binary), reported);
        assert_eq!(
            (found.source.as_str(), found.packager.as_str()),
            ("maven", "maven group:binaries (third party)")
        );
        assert_eq!((found.archive_sha256.as_str(), found.compiler.as_str()), ("aa", "GCC 7.5.0"));
        assert_eq!((found.flags.as_str(), found.build_id.as_str()), ("-O2", ""));
        let own = Levels::from([("version_comment".to_owned(), "(Debian)".to_owned())]);
        let own = complete(of_files(None, folder.path(), &binary), own);
        assert_eq!((own.source.as_str(), own.packager.as_str()), ("basedir", "(Debian)"));
        assert_eq!(own.package, folder.path().display().to_string());
    }

    #[test]
    fn versions_are_those_that_can_be_asked_for_and_each_is_one() {
        let root = tempfile::tempdir().unwrap();
        let places = Places::at(root.path(), None).unwrap();
        let put = |name: &str, version: &str, compiled: Option<Compiled>| {
            let folder = places.builds().join(name);
            fs_err::create_dir(&folder).unwrap();
            let manifest = Manifest {
                server: "mysql".to_owned(),
                version: version.to_owned(),
                origin: "import: x.tar.xz".to_owned(),
                compiled,
                ..Manifest::default()
            };
            manifest.write(&folder).unwrap();
        };
        put("mysql-5.6.24", "5.6.24", None);
        put("mysql-8.0.44", "8.0.44", None);
        put("mysql-0a", "8.1.0", Some(Compiled::default()));
        let product = crate::find("mysql").unwrap();
        let found = versions(product, &places, &["9.10.0".to_owned(), "9.7.4".to_owned()]).unwrap();
        assert_eq!(found, ["5.5.9", "5.6.24", "8.0.44", "9.7.4", "9.10.0"]);
    }

    #[test]
    fn a_build_that_was_compiled_here_is_told_by_its_manifest() {
        let folder = tempfile::tempdir().unwrap();
        let mut manifest = Manifest {
            server: "postgres".to_owned(),
            version: "18.6".to_owned(),
            origin: "git: /src/postgres REL_18_6".to_owned(),
            binary_sha256: "00".to_owned(),
            compiled: Some(Compiled {
                key: "0a0b".to_owned(),
                tree: "git-tree:12".to_owned(),
                revision: "34".to_owned(),
                flags: "rel".to_owned(),
                options: "-O2".to_owned(),
                compiler: "gcc (Debian 12.2.0-14) 12.2.0".to_owned(),
            }),
            ..Manifest::default()
        };
        let told = |manifest: &Manifest| {
            let reported = Levels::from([("CFLAGS".to_owned(), "-O2 -Wall".to_owned())]);
            complete(of_files(Some(manifest), folder.path(), folder.path()), reported)
        };
        let found = told(&manifest);
        assert_eq!((found.source.as_str(), found.packager.as_str()), ("git", "compiled here"));
        assert_eq!((found.tree.as_str(), found.revision.as_str()), ("git-tree:12", "34"));
        assert_eq!((found.compiler.as_str(), found.flags.as_str()), ("GCC 12.2.0", "rel: -O2"));
        assert_eq!(manifest.folder(), "postgres-0a0b");
        let own = manifest.compiled.as_mut().unwrap();
        own.flags = "-O2".to_owned();
        assert_eq!(told(&manifest).flags, "-O2");
    }

    #[test]
    fn the_compiler_of_this_program_is_read_from_its_notes() {
        let mut found = Provenance::default();
        notes(&std::env::current_exe().unwrap(), &mut found);
        assert!(
            found.compiler.starts_with("GCC ") || found.compiler.starts_with("clang "),
            "{found:?}"
        );
    }
}
