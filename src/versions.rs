//! Which servers and versions there are, for the planner, which does not know server products.

use dbms::Places;
use model::subject::Build;

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
        let build = build(server, version);
        dbms::resolve(&build, self.places)
            .map(|resolved| resolved.version)
            .map_err(|error| error.to_string())
    }
}

/// A build that is named by server and version only.
pub(crate) fn build(server: &str, version: &str) -> Build {
    Build {
        server: server.to_owned(),
        version: version.to_owned(),
        basedir: None,
        attach: None,
        prefix: Vec::new(),
        environment: Vec::new(),
    }
}
