// SPDX-License-Identifier: MIT OR Apache-2.0

//! Times, values, events and changes in words.

use std::time::{Duration, SystemTime};

use crate::base::number::{self, Place, TimeUnit};
use crate::base::text::plain;
use crate::judge::history::{Change, Event};
use crate::stream::run::Unit;

/// `2026-11-22 16:15` in UTC, from seconds since 1970.
pub(super) fn moment(seconds: u64) -> String {
    // Dates after the year 9999 cannot be shown.
    const LAST: u64 = 253_402_300_799;
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds.min(LAST));
    let text = humantime::format_rfc3339_seconds(time).to_string();
    text[..16].replace('T', " ")
}

/// A value of a series with its unit.
pub(super) fn shown(unit: Unit, value: f64) -> String {
    let place = Place::significant(value, 4);
    match unit {
        Unit::Cycles if value.is_finite() => {
            let unit = TimeUnit::of(value);
            let value = unit.convert(value);
            format!("{} {}", Place::significant(value, 3).show(value), unit.name)
        }
        _ => place.show(value),
    }
}

/// What changed at an event, in words: `kernel release 6.1 -> 6.2; microcode 0x1 -> 0x2`.
pub(super) fn in_words(event: &Event) -> String {
    let parts = event.changes.iter().map(|(name, before, after)| {
        let name = name.replace('_', " ");
        match (before.as_str(), after.as_str()) {
            ("", after) => format!("{name} {after}"),
            (before, "") => format!("{name} {before} is gone"),
            (before, after) => format!("{name} {before} \u{2192} {after}"),
        }
    });
    parts.collect::<Vec<_>>().join("; ")
}

/// The same in a few letters, for a picture.
pub(super) fn in_short(event: &Event) -> String {
    const LETTERS: usize = 26;
    let Some((name, _, after)) = event.changes.first() else {
        return String::new();
    };
    let more = match event.changes.len() {
        1 => String::new(),
        count => format!(" +{}", count - 1),
    };
    let name = name.replace("kernel_release", "").replace('_', " ");
    let label = plain(format!("{name} {after}").trim());
    let room = LETTERS - more.len();
    if label.chars().count() <= room {
        return label + &more;
    }
    let start: String = label.chars().take(room - 1).collect();
    format!("{start}\u{2026}{more}")
}

/// The size of a change, as a difference in per cent.
pub(super) fn percent(change: &Change) -> String {
    number::change((change.ratio - 1.0) * 100.0)
}
