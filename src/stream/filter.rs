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
