//! Maven: a jar per version. A range goes through a throw-away project, because only projects may
//! name ranges; an exact version does not, because some jars belong to projects that are not there
//! any more.

use super::{Destination, Registry};
use crate::{Places, Result, client, package::Package};
use fs_err as fs;
use std::path::PathBuf;

pub(super) const REGISTRY: Registry =
    Registry { name: "maven", lookup: super::as_written, fetch, unpack: super::unpacked };

fn fetch(package: &Package, _: &Places, to: &Destination<'_>) -> Result<Vec<PathBuf>> {
    let mut arguments =
        ["--quiet", "--batch-mode", "--strict-checksums"].map(str::to_owned).to_vec();
    if is_range(&package.at) {
        fs::write(to.scratch.join("pom.xml"), project(package))?;
        arguments.push("dependency:copy-dependencies".to_owned());
        arguments.push("-DexcludeTransitive=true".to_owned());
    } else {
        let name = package.names.first().map_or("", String::as_str);
        arguments.push("dependency:copy".to_owned());
        arguments.push(format!("-Dartifact={name}:{}", package.at));
    }
    arguments.push(format!("-DoutputDirectory={}", to.scratch.join("jars").display()));
    client::run("mvn", &arguments, to.scratch, &package.label())?;
    super::only(super::files_in(&to.scratch.join("jars"), "jar")?, "mvn", package)
}

fn is_range(version: &str) -> bool {
    version.starts_with(['[', '('])
}

fn project(package: &Package) -> String {
    let name = package.names.first().map_or("", String::as_str);
    let (group, artifact) = name.split_once(':').unwrap_or((name, name));
    format!(
        "<project xmlns=\"http://maven.apache.org/POM/4.0.0\"><modelVersion>4.0.0</modelVersion>\n\
         <groupId>dbdyno</groupId><artifactId>fetch</artifactId><version>1</version>\n\
         <packaging>pom</packaging>\n\
         <dependencies><dependency><groupId>{group}</groupId><artifactId>{artifact}</artifactId>\n\
         <version>{}</version></dependency></dependencies></project>\n",
        package.at
    )
}
