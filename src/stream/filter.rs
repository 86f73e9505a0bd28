// SPDX-License-Identifier: MIT OR Apache-2.0

//! Selects ids by filters: `semaphore`, `semaphore.take`, `sema`, `*.u_to_u`.

use wildmatch::WildMatch;

/// Whether a filter selects an id. A filter with `*` or `?` is a glob and must match the whole id. Any
/// other filter must match the start of the id.
#[must_use]
pub fn matches(filter: &str, id: &str) -> bool {
    if filter.contains(['*', '?']) {
        WildMatch::new(filter).matches(id)
    } else {
        id.starts_with(filter)
    }
}

/// The ids that filters select, without those that further filters exclude.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// Filters that select; none selects everything.
    pub filters: Vec<String>,
    /// Filters that exclude.
    pub exclude: Vec<String>,
}

impl Selection {
    /// Whether it selects this id.
    #[must_use]
    pub fn selects(&self, id: &str) -> bool {
        let chosen = self.filters.is_empty() || self.filters.iter().any(|one| matches(one, id));
        chosen && !self.excludes(id)
    }

    /// Whether it leaves this id out.
    #[must_use]
    pub fn excludes(&self, id: &str) -> bool {
        self.exclude.iter().any(|one| matches(one, id))
    }

    /// Checks that every filter matches an id, and that something is selected.
    ///
    /// # Errors
    ///
    /// A message that names the first filter that matches nothing, or says that nothing is left.
    pub fn verify(&self, ids: &[&str]) -> Result<(), String> {
        verify(&self.filters, ids)?;
        verify(&self.exclude, ids)?;
        if !ids.is_empty() && !ids.iter().any(|id| self.selects(id)) {
            return Err("nothing is left: --exclude leaves out all that is selected".to_owned());
        }
        Ok(())
    }
}

/// Checks that every filter selects at least one id.
///
/// # Errors
///
/// A message that names the first filter that selects no id and suggests similar ids.
pub fn verify(filters: &[String], ids: &[&str]) -> Result<(), String> {
    for filter in filters {
        if !ids.iter().any(|id| matches(filter, id)) {
            return Err(format!(
                "nothing is called `{filter}` (`kernmark list` shows every id){}",
                suggestion(filter, &with_prefixes(filter, ids))
            ));
        }
    }
    Ok(())
}

/// `; did you mean ...?` with up to three candidates similar to `text`. Empty if none is similar.
#[must_use]
pub fn suggestion(text: &str, candidates: &[&str]) -> String {
    /// The lowest similarity that counts, between 0 and 1.
    const MIN_SIMILARITY: f64 = 0.6;
    let mut similar: Vec<(f64, &str)> = Vec::new();
    for &candidate in candidates {
        let similarity = if candidate.starts_with(text) {
            1.0
        } else {
            strsim::normalized_damerau_levenshtein(text, candidate)
        };
        if similarity >= MIN_SIMILARITY && !similar.iter().any(|&(_, other)| other == candidate) {
            similar.push((similarity, candidate));
        }
    }
    similar.sort_by(|a, b| b.0.total_cmp(&a.0));
    let names: Vec<&str> = similar.into_iter().take(3).map(|(_, id)| id).collect();
    if names.is_empty() {
        String::new()
    } else {
        format!("; did you mean {}?", names.join(", "))
    }
}

/// The ids, preceded by their prefixes with as many parts as `filter` has. Thus `mutx` is compared
/// with `mutex`, not only with whole ids.
fn with_prefixes<'a>(filter: &str, ids: &[&'a str]) -> Vec<&'a str> {
    let dots = filter.matches('.').count();
    let prefix = |id: &'a str| id.match_indices('.').nth(dots).map(|(at, _)| &id[..at]);
    let prefixes = ids.iter().filter_map(|id| prefix(id));
    prefixes.chain(ids.iter().copied()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const IDS: [&str; 4] = [
        "clock.read",
        "semaphore.give.immediate.user",
        "semaphore.give.wake+ctx.u_to_u",
        "mutex.lock.immediate.user",
    ];

    #[test]
    fn filter_is_a_prefix_or_a_glob() {
        assert!(matches("sem", IDS[1]));
        assert!(matches("semaphore.give", IDS[2]));
        assert!(matches("*.u_to_u", IDS[2]));
        assert!(matches("semaphore.give.wake+ctx", IDS[2]));
        assert!(matches("c?ock*", IDS[0]));
        assert!(!matches("give", IDS[1]));
        assert!(!matches("*.give", IDS[1]));
        assert!(!matches("clock.reads", IDS[0]));
    }

    #[test]
    fn excluding_comes_after_selecting() {
        let owned = |filters: &[&str]| filters.iter().map(|&one| one.to_owned()).collect();
        let of = |filters: &[&str], exclude: &[&str]| Selection {
            filters: owned(filters),
            exclude: owned(exclude),
        };
        let selected = |selection: &Selection| -> Vec<&str> {
            IDS.into_iter().filter(|id| selection.selects(id)).collect()
        };
        assert_eq!(selected(&of(&[], &[])), IDS);
        assert_eq!(selected(&of(&["sem", "mutex"], &["*.user"])), [IDS[2]]);
        assert_eq!(selected(&of(&[], &["sem"])), [IDS[0], IDS[3]]);
        assert_eq!(of(&["sem"], &["*.user"]).verify(&IDS), Ok(()));
        for wrong in [of(&["give"], &[]), of(&[], &["give"])] {
            assert!(wrong.verify(&IDS).unwrap_err().contains("`give`"));
        }
        let nothing = of(&["mutex"], &["*.user"]).verify(&IDS).unwrap_err();
        assert!(nothing.contains("nothing is left"), "{nothing}");
    }

    #[test]
    fn unmatched_filter_is_named_with_suggestions() {
        let all = |filters: &[&str]| {
            let filters: Vec<String> = filters.iter().map(|&filter| filter.to_owned()).collect();
            verify(&filters, &IDS)
        };
        assert_eq!(all(&[]), Ok(()));
        assert_eq!(all(&["clock", "*"]), Ok(()));
        let error = all(&["clock", "semaphor.giv"]).unwrap_err();
        assert!(error.contains("`semaphor.giv`"), "{error}");
        assert!(error.contains("did you mean semaphore.give"), "{error}");
        let error = all(&["mutx"]).unwrap_err();
        assert!(error.contains("did you mean mutex?"), "{error}");
        assert!(!all(&["zzzz"]).unwrap_err().contains("did you mean"));
    }
}
