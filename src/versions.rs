//! Which servers and versions there are, for the planner, which does not know server products.

use dbms::Places;
use model::{
    attach::Attach,
    lua::LuaFound,
    subject::{Build, Subject},
};

use std::collections::BTreeMap;

/// Answers the planner from the table of server products and the builds on this host.
pub(crate) struct HostVersions<'a> {
    /// Where installed builds lie.
    pub(crate) places: &'a Places,
}

impl plan::Versions for HostVersions<'_> {
    fn products(&self) -> Vec<String> {
        dbms::product::DBMSES.iter().map(|product| product.name().to_owned()).collect()
    }

    fn available(&self, server: &str) -> Vec<String> {
        let product = dbms::product::DBMSES.iter().find(|product| product.name() == server);
        let releases = product.map(|product| product.releases()).unwrap_or_default();
        releases.into_iter().map(|release| release.version).collect()
    }

    fn is_embedded(&self, server: &str) -> bool {
        dbms::is_embedded(server)
    }

    fn resolve(&self, server: &str, version: &str) -> Result<String, String> {
        let build = Build::of(server, version);
        dbms::resolve(&build, self.places)
            .map(|resolved| resolved.version)
            .map_err(|error| error.to_string())
    }

    fn product_of(&self, attach: &Attach) -> Result<String, String> {
        dbms::attach::product_of(attach).map(str::to_owned).map_err(|error| error.to_string())
    }

    fn check_basedir(&self, build: &Build) -> Result<(), String> {
        dbms::check_basedir(build, self.places).map_err(|error| error.to_string())
    }

    fn check_prefix(&self, build: &Build) -> Result<(), String> {
        dbms::factor::check_prefix(&build.prefix, build)
    }

    fn check_source(&self, build: &Build) -> Result<(), String> {
        dbms::check_source(build).map_err(|error| error.to_string())
    }

    fn script(&self, path: &str, options: &BTreeMap<String, String>) -> Result<LuaFound, String> {
        lua::inspect(path, options)
    }

    fn start_with(
        &self,
        factor: &str,
        level: &str,
        subject: &mut Subject,
    ) -> Result<String, String> {
        dbms::factor::give(factor, level, subject, self.places)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A plan of the quickstart with other keys.
    pub(crate) fn plan_of(set: &[&str]) -> model::plan::Plan {
        let catalog = plan::Catalog::embedded().unwrap();
        let set = set.iter().map(|text| (*text).to_owned()).collect();
        let overrides = plan::Overrides { set, seed: Some(1), ..plan::Overrides::default() };
        let draft = plan::load_experiment("quickstart", &catalog, &overrides).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let places = Places::at(folder.path(), None).unwrap();
        plan::plan(&draft, &catalog, &HostVersions { places: &places }).unwrap()
    }
}
