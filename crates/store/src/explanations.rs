//! Explanations of a run: files of its folder that are added after it.

use crate::{Error, Result, Results, RunWriter, layout, run_files::RunFiles, run_writer};
use model::explanation::{EXPLANATION_FORMAT, Explanation};
use std::path::PathBuf;

/// Explanations of one run, at most.
const MOST: usize = 1000;

impl Results {
    /// Adds an explanation to a run, in the place of an earlier one of the same costs of
    /// this phase on these subjects.
    /// Fails if the run is being written.
    pub fn keep_explanation(&self, run: &str, explanation: &Explanation) -> Result<()> {
        let dir = self.dir().join(layout::RUNS).join(run);
        let _lock = run_writer::lock(&dir, run)?;
        keep(dir, &self.explanations(run)?, explanation)
    }

    /// The explanations of a run, oldest first.
    pub fn explanations(&self, run: &str) -> Result<Vec<Explanation>> {
        let dir = self.dir().join(layout::RUNS).join(run);
        let files = RunFiles::new(dir.clone());
        let mut found = Vec::new();
        for place in 0..MOST {
            let Some(explanation) = files.json::<serde_json::Value>(&name(place))? else { break };
            let path = dir.join(name(place));
            let format = explanation["format"].as_u64().and_then(|known| u32::try_from(known).ok());
            if let Some(format) = format.filter(|format| *format > EXPLANATION_FORMAT) {
                return Err(Error::Newer { path, found: format, known: EXPLANATION_FORMAT });
            }
            let read = serde_json::from_value(explanation);
            found.push(read.map_err(|error| layout::malformed(&path, &error))?);
        }
        Ok(found)
    }
}

impl RunWriter {
    /// Adds an explanation to the run, as [`Results::keep_explanation`] does to one that is over.
    pub fn keep_explanation(&self, explanation: &Explanation) -> Result<()> {
        keep(self.dir().to_owned(), &self.explanations()?, explanation)
    }

    /// The explanations of the run, oldest first.
    pub fn explanations(&self) -> Result<Vec<Explanation>> {
        self.results().explanations(self.id())
    }
}

fn keep(dir: PathBuf, known: &[Explanation], explanation: &Explanation) -> Result<()> {
    let same = |one: &Explanation| one.what() == explanation.what();
    let place = known.iter().position(same).unwrap_or(known.len());
    let name = name(place);
    let bytes = serde_json::to_vec(explanation)
        .map_err(|error| layout::malformed(&dir.join(&name), &error))?;
    RunFiles::new(dir).write(&[(&name, bytes)])
}

fn name(place: usize) -> String {
    format!("explained-{}.json", place + 1)
}
