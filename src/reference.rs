//! The published figures of other suites, `reference/` in the repository, which the tool has with
//! it: what they measured, and which metrics here measure the nearest thing.

use std::fmt;
use std::str::FromStr;

use serde::de::DeserializeOwned;
use serde::Deserialize;

use crate::filter;

/// What comes before a name.
const PREFIX: &str = "reference:";

/// A suite and its figures, as CSV.
#[derive(Debug, PartialEq, Eq)]
struct Suite {
    name: &'static str,
    figures: &'static str,
}

static SUITES: [Suite; 3] = [
    Suite {
        name: "zephyr",
        figures: include_str!("../reference/zephyr.csv"),
    },
    Suite {
        name: "zircon",
        figures: include_str!("../reference/zircon.csv"),
    },
    Suite {
        name: "composite",
        figures: include_str!("../reference/composite.csv"),
    },
];

const ALIASES: &str = include_str!("../reference/aliases.csv");

/// A published figure.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Figure {
    /// What it is part of: `zephyr-latest/userspace`.
    pub dataset: String,
    /// What its source calls it.
    pub benchmark: String,
}

/// A metric that measures the nearest thing to a benchmark of another suite, or
/// that there is none.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Counterpart {
    /// The suite: `zephyr`, `zircon` ...
    #[serde(rename = "dataset")]
    pub suite: String,
    /// What it is called there.
    pub benchmark: String,
    /// What measures it here: `linux`, `linux-vm`; empty when nothing does.
    pub target: String,
    /// The metric; empty when there is none.
    pub metric: String,
    /// How the two differ, empty when they do not; or why there is none.
    pub note: String,
}

/// What `reference:NAME` names: a suite, or one dataset of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    suite: &'static Suite,
    dataset: Option<String>,
}

impl Reference {
    /// The suite: `zephyr`, `zircon` ...
    #[must_use]
    pub fn suite(&self) -> &'static str {
        self.suite.name
    }

    fn name(&self) -> &str {
        self.dataset.as_deref().unwrap_or(self.suite.name)
    }

    /// The figures that it names, in the order of the data.
    ///
    /// # Errors
    ///
    /// The data is broken.
    pub fn figures(&self) -> Result<Vec<Figure>, String> {
        let mut figures: Vec<Figure> = rows(self.suite.name, self.suite.figures)?;
        if let Some(dataset) = &self.dataset {
            figures.retain(|figure| figure.dataset == *dataset);
        }
        Ok(figures)
    }
}

impl FromStr for Reference {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let name = text.strip_prefix(PREFIX);
        let wanted = name.unwrap_or(text);
        let mut known = Vec::new();
        for suite in &SUITES {
            let whole = Self {
                suite,
                dataset: None,
            };
            let figures = whole.figures()?;
            known.push(whole);
            for figure in figures {
                let part = Self {
                    suite,
                    dataset: Some(figure.dataset),
                };
                if !known.contains(&part) {
                    known.push(part);
                }
            }
        }
        let names: Vec<&str> = known.iter().map(Self::name).collect();
        match (name, names.iter().position(|known| *known == wanted)) {
            (Some(_), Some(place)) => Ok(known[place].clone()),
            (None, Some(_)) => Err(format!("it is written {PREFIX}{wanted}")),
            (_, None) => Err(format!(
                "{PREFIX} is followed by one of {}{}",
                names.join(", "),
                filter::suggestion(wanted, &names)
            )),
        }
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{}", self.name())
    }
}

/// The counterparts of all benchmarks, in the order of the data.
///
/// # Errors
///
/// The data is broken.
pub fn counterparts() -> Result<Vec<Counterpart>, String> {
    counterparts_in(ALIASES)
}

/// The same of a text: columns `dataset`, `benchmark`, `target`, `metric`, `note`.
///
/// # Errors
///
/// A column is missing, or a row has another number of fields: which, and where.
pub fn counterparts_in(csv: &str) -> Result<Vec<Counterpart>, String> {
    rows("aliases", csv)
}

/// The target by which the counterparts know the port of an agent.
#[must_use]
pub fn target(port: &str) -> Option<&'static str> {
    match port {
        "linux-user" => Some("linux"),
        "linux-kernel" => Some("linux-vm"),
        _ => None,
    }
}

fn rows<T: DeserializeOwned>(name: &str, csv: &str) -> Result<Vec<T>, String> {
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    let rows: Result<Vec<T>, csv::Error> = reader.deserialize().collect();
    rows.map_err(|error| format!("reference/{name}.csv: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counterparts_are_read_by_the_names_of_the_columns() {
        let text = "note,metric,target,benchmark,dataset\n\"a, b\",m.x,linux,B/1,zircon\n";
        let all = counterparts_in(text).unwrap();
        let expected = Counterpart {
            suite: "zircon".to_owned(),
            benchmark: "B/1".to_owned(),
            target: "linux".to_owned(),
            metric: "m.x".to_owned(),
            note: "a, b".to_owned(),
        };
        assert_eq!(all, [expected]);
    }

    #[test]
    fn a_broken_table_is_refused_by_what_is_wrong() {
        let missing = counterparts_in("dataset,benchmark,target,note\na,b,c,d\n").unwrap_err();
        assert!(missing.contains("aliases.csv") && missing.contains("`metric`"));
        let short = counterparts_in("dataset,benchmark,target,metric,note\na,b\n").unwrap_err();
        assert!(short.contains("line: 2"), "{short}");
    }

    #[test]
    fn a_reference_is_a_suite_or_one_of_its_datasets() {
        let figures = |text: &str| text.parse::<Reference>().unwrap().figures().unwrap();
        let all = figures("reference:zephyr");
        let one = figures("reference:zephyr-latest/userspace");
        assert!(!one.is_empty() && one.len() < all.len());
        assert!(one.iter().all(|f| f.dataset == "zephyr-latest/userspace"));
        for text in ["reference:zircon", "reference:composite-2007/hardware"] {
            assert_eq!(text.parse::<Reference>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn a_reference_that_is_none_is_refused_with_those_that_there_are() {
        let refused = |text: &str| text.parse::<Reference>().unwrap_err();
        assert_eq!(refused("zephyr"), "it is written reference:zephyr");
        let message = refused("reference:zefyr");
        let dataset = "composite-2007/linux-2.6.22";
        assert_eq!(message.matches(dataset).count(), 1, "{message}");
        assert!(message.ends_with("; did you mean zephyr?"), "{message}");
        assert!(refused("").contains("composite"));
    }
}
