// SPDX-License-Identifier: MIT OR Apache-2.0

//! Work for all CPUs.

use std::thread;

/// Applies a function to each item; the results are in the order of the items.
pub(super) fn map<T: Sync, R: Send>(items: &[T], function: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let share = items.len().div_ceil(threads).max(1);
    let all = |part: &[T]| part.iter().map(&function).collect::<Vec<R>>();
    let mut parts = items.chunks(share);
    let first = parts.next().unwrap_or_default();
    thread::scope(|scope| {
        let others: Vec<_> = parts.map(|part| scope.spawn(|| all(part))).collect();
        let mut results = all(first);
        for other in others {
            match other.join() {
                Ok(part) => results.extend(part),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        results
    })
}
