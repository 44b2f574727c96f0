//! Several comparisons as several pages, with an index of them.

use crate::{
    Details, Error, Names, Report,
    format::{self, IndexEntry},
    render, words,
};
use analysis::mean_of_tests;
use std::collections::BTreeSet;

/// File of the index.
pub const INDEX: &str = "index.html";

/// One HTML file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageFile {
    /// Name in the folder of all pages.
    pub file: String,
    /// The bytes.
    pub text: String,
}

/// A page for each comparison, and the index, which comes last.
pub fn pages(report: &Report) -> Result<Vec<PageFile>, Error> {
    let mut taken = BTreeSet::from([INDEX.to_owned()]);
    let (mut files, mut entries) = (Vec::new(), Vec::new());
    for (index, comparison) in report.comparisons.iter().enumerate() {
        let file = file(&comparison.experiment, &mut taken);
        let details = report.details.get(index).cloned();
        let single = Report {
            comparisons: vec![comparison.clone()],
            details: vec![details.unwrap_or_else(Details::default)],
            metrics: report.metrics.clone(),
            view: report.view.clone(),
            screen: report.screen,
        };
        files.push(PageFile { file: file.clone(), text: render(&single, "html")? });
        entries.push(entry(report, index, file));
    }
    files.push(PageFile { file: INDEX.to_owned(), text: format::index(&entries) });
    Ok(files)
}

/// The name of a page, which no other one has.
fn file(experiment: &str, taken: &mut BTreeSet<String>) -> String {
    let slug = match words::slug(experiment) {
        slug if slug.trim_matches('.').is_empty() => "unnamed".to_owned(),
        slug => slug.chars().take(100).collect(),
    };
    let mut file = format!("{slug}.html");
    let mut count = 1;
    while !taken.insert(file.clone()) {
        count += 1;
        file = format!("{slug}-{count}.html");
    }
    file
}

fn entry(report: &Report, index: usize, file: String) -> IndexEntry {
    let own = &report.comparisons[index];
    let names = Names::of(&own.subjects, &report.view.aliases);
    let (counted, lead) = (own.counted(), own.lead().name);
    let mean = |subject: &String| {
        let cells = counted.iter().filter_map(|phase| phase.cell(subject, lead));
        let ratios: Vec<f64> = cells.filter_map(|cell| cell.ratio).collect();
        mean_of_tests(&ratios).map(|mean| mean.ratio)
    };
    let means: Vec<f64> = own.subjects.iter().filter_map(mean).collect();
    let range = means.iter().fold(None, |range: Option<(f64, f64)>, mean| {
        let (low, high) = range.unwrap_or((*mean, *mean));
        Some((low.min(*mean), high.max(*mean)))
    });
    IndexEntry {
        file,
        name: own.experiment.clone(),
        variants: own.subjects.len().saturating_sub(own.bases.len()),
        tests: own.phases.len(),
        bases: own.bases.iter().map(|base| names.short(base).to_owned()).collect(),
        range,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_has_a_file_of_its_own_inside_the_folder() {
        let mut taken = BTreeSet::from([INDEX.to_owned()]);
        let mut check = |name: &str, expected: &str| assert_eq!(file(name, &mut taken), expected);
        check("nov25.maria.sb", "nov25.maria.sb.html");
        check("nov25.maria.sb", "nov25.maria.sb-2.html");
        check("index", "index-2.html");
        check("../../etc/passwd", "..-..-etc-passwd.html");
        check("..", "unnamed.html");
        check("", "unnamed-2.html");
        check("ä/ö", "unnamed-3.html");
        assert_eq!(file(&"x".repeat(5000), &mut taken).len(), 105);
    }
}
