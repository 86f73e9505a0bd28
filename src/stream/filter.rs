// SPDX-License-Identifier: MIT OR Apache-2.0

//! Filters over ids: `semaphore`, `semaphore.take`, `sema`, `*.u_to_u`.

use wildmatch::WildMatch;

/// Whether a filter selects an id: a glob with `*` or `?` the whole of it, anything else its start.
#[must_use]
pub fn matches(filter: &str, id: &str) -> bool {
    if filter.contains(['*', '?']) {
        WildMatch::new(filter).matches(id)
    } else {
        id.starts_with(filter)
    }
}

/// Checks that every filter selects something.
///
/// # Errors
///
/// The first filter that selects none of the ids, with the ids that are nearest to it.
pub fn verify(filters: &[String], ids: &[&str]) -> Result<(), String> {
    for filter in filters {
        if !ids.iter().any(|id| matches(filter, id)) {
            return Err(format!(
                "nothing is called `{filter}` (`kernmark list` shows every id){}",
                suggestion(filter, &starts(filter, ids))
            ));
        }
    }
    Ok(())
}

/// `; did you mean ...?` with the candidates nearest to `text`, at most three; empty when none is
/// near.
#[must_use]
pub fn suggestion(text: &str, candidates: &[&str]) -> String {
    const LIKE: f64 = 0.6;
    let mut near: Vec<(f64, &str)> = Vec::new();
    for &candidate in candidates {
        let like = if candidate.starts_with(text) {
            1.0
        } else {
            strsim::normalized_damerau_levenshtein(text, candidate)
        };
        if like >= LIKE && !near.iter().any(|&(_, other)| other == candidate) {
            near.push((like, candidate));
        }
    }
    near.sort_by(|a, b| b.0.total_cmp(&a.0));
    let near: Vec<&str> = near.into_iter().take(3).map(|(_, id)| id).collect();
    if near.is_empty() {
        String::new()
    } else {
        format!("; did you mean {}?", near.join(", "))
    }
}

/// The ids, and their starts of as many parts as `filter` has, so that a short typo finds its
/// object.
fn starts<'a>(filter: &str, ids: &[&'a str]) -> Vec<&'a str> {
    let dots = filter.matches('.').count();
    let start = |id: &'a str| id.match_indices('.').nth(dots).map(|(at, _)| &id[..at]);
    let starts = ids.iter().filter_map(|id| start(id));
    starts.chain(ids.iter().copied()).collect()
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
    fn a_filter_is_a_start_or_a_glob() {
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
    fn a_filter_that_selects_nothing_is_named_with_its_neighbours() {
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
