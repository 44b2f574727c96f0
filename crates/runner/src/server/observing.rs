//! An observation of an instance, on each host that knows a part of it: this one, and that of an
//! attached server by its agent.

use super::Instance;
use crate::{Error, agent::Agent};
use model::{
    observed::{HostLoad, Observation, Observed},
    reading::{Reading, Scope},
};
use std::path::Path;

/// An open observation.
pub(crate) struct Observing {
    observation: Observation,
    here: Box<dyn probe::Observer>,
    there: Option<Agent>,
}

/// How many hosts an agent and this process are on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hosts {
    One,
    Two,
}

impl Instance {
    /// Opens an observation of it. It must be frozen where it can be.
    pub(crate) fn observe(&self, observation: Observation) -> Result<Observing, Error> {
        let is_here = self.server.is_some() || self.is_embedded();
        let mut here = probe::Target::new(if is_here { &self.data } else { Path::new("") });
        here.client_pids = vec![self.driver.pid()];
        let tasks = &self.foreground.tasks;
        let there = self.agent.as_ref().map(|agent| (agent.clone(), tasks.as_slice()));
        if there.is_none() {
            here.server_pids = self.server.iter().map(dbms::Server::pid).collect();
            here.foreground.clone_from(tasks);
        }
        Observing::open(observation, &here, there)
    }

    /// Whether its process is known, so that its costs are.
    pub(crate) fn is_seen(&self) -> bool {
        self.server.is_some() || self.agent_found.as_ref().is_some_and(|found| found.pid.is_some())
    }
}

impl Observing {
    /// Opens it. With an agent, `here` has the client alone, and `foreground` is of the agent's
    /// host.
    fn open(
        observation: Observation,
        here: &probe::Target,
        agent: Option<(Agent, &[u32])>,
    ) -> Result<Self, Error> {
        let there = agent.map(|(agent, foreground)| {
            agent.open(observation, foreground)?;
            Ok::<_, Error>(agent)
        });
        let here = probe::observer(observation, here)?;
        Ok(Self { observation, here, there: there.transpose()? })
    }

    /// Begins to observe, on this host last, where the work starts.
    pub(crate) fn begin(&mut self) -> Result<(), Error> {
        if let Some(agent) = &self.there {
            agent.begin(self.observation)?;
        }
        Ok(self.here.begin()?)
    }

    /// What it has found since it began, as far as it can tell before its end.
    pub(crate) fn so_far(&mut self) -> Result<Observed, Error> {
        let here = self.here.so_far()?;
        self.with_there(here, Agent::so_far)
    }

    /// Ends, on this host first, and tells what it found.
    pub(crate) fn end(&mut self) -> Result<Observed, Error> {
        let here = self.here.end()?;
        self.with_there(here, Agent::end)
    }

    fn with_there(
        &self,
        here: Observed,
        ask: fn(&Agent, Observation) -> Result<Observed, Error>,
    ) -> Result<Observed, Error> {
        let Some(agent) = &self.there else { return Ok(here) };
        let there = ask(agent, self.observation)?;
        Ok(whole(here, there, if agent.is_here() { Hosts::One } else { Hosts::Two }))
    }
}

/// The client of this host, and the server, its host and its device of the other.
fn whole(here: Observed, there: Observed, hosts: Hosts) -> Observed {
    let mut whole = there;
    let is_client = |reading: &Reading| reading.scope == Scope::Client;
    whole.readings.extend(here.readings.into_iter().filter(is_client));
    whole.series.extend(here.series.into_iter().filter(|row| row.scope == Scope::Client));
    whole.series.sort_by_key(|row| row.time_us);
    let more = here.marks.into_iter().filter(|mark| !whole.marks.contains(mark));
    whole.marks.extend(more.collect::<Vec<_>>());
    whole.load = match (here.load, whole.load) {
        (Some(here), Some(there)) => Some(both(here, there, hosts)),
        (_, _) => None,
    };
    whole
}

/// Who used the CPUs of both hosts; one host counts once.
fn both(here: HostLoad, there: HostLoad, hosts: Hosts) -> HostLoad {
    let once = |here: f64, there: f64| match hosts {
        Hosts::One => there,
        Hosts::Two => here + there,
    };
    HostLoad {
        host_ns: once(here.host_ns, there.host_ns),
        own_ns: here.own_ns + there.own_ns,
        kernel_ns: once(here.kernel_ns, there.kernel_ns),
        window_ns: there.window_ns,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn observed(scopes: &[Scope], end: f64) -> Observed {
        let reading = |scope: &Scope| {
            let (scope, counter) = (*scope, "cpu_ns".to_owned());
            Reading { scope, counter, start: 0.0, end }
        };
        Observed { readings: scopes.iter().map(reading).collect(), ..Observed::default() }
    }

    #[test]
    fn the_client_is_of_this_host_and_all_else_of_the_servers() {
        let here = Observed {
            marks: vec!["a".to_owned(), "b".to_owned()],
            ..observed(&[Scope::Client, Scope::Host], 1.0)
        };
        let there = Observed {
            marks: vec!["b".to_owned()],
            ..observed(&[Scope::Server, Scope::Host, Scope::Device], 2.0)
        };
        let whole = whole(here, there, Hosts::Two);
        let found: Vec<_> = whole.readings.iter().map(|one| (one.scope, one.end)).collect();
        let [server, host, device] = [Scope::Server, Scope::Host, Scope::Device];
        assert_eq!(found, [(server, 2.0), (host, 2.0), (device, 2.0), (Scope::Client, 1.0)]);
        assert_eq!(whole.marks, ["b", "a"]);
        assert_eq!(whole.load, None);
    }

    #[test]
    fn one_host_is_used_once_and_two_are_added_up() {
        let load =
            |host_ns, own_ns, kernel_ns| HostLoad { host_ns, own_ns, kernel_ns, window_ns: 1000.0 };
        let (here, there) = (load(100.0, 30.0, 5.0), load(101.0, 50.0, 6.0));
        assert_eq!(both(here, there, Hosts::One).others_ns(), 101.0 - 80.0 - 6.0);
        assert_eq!(both(here, there, Hosts::Two).others_ns(), 65.0 + 45.0);
    }
}
