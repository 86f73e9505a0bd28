// SPDX-License-Identifier: MIT OR Apache-2.0

//! Kernels that misbehave. The proofs must catch it in every case that it affects.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::thread;

use kernmark::stream::run::{Entry, Outcome};

use crate::emulated::{attempt, cases, catalog, measure, order, replicate, Image, Session};

/// A kernel that misbehaves.
pub struct Sabotage {
    pub name: &'static str,
    pub settings: &'static [&'static str],
    /// The affected cases.
    pub matters: fn(&str, &[&Entry]) -> bool,
    /// One of these proofs must fail if the case ends; empty: any.
    pub proofs: &'static [&'static str],
}

/// Whether a thread of the case waits for another one that exists all the time.
pub fn switches(_: &str, entries: &[&Entry]) -> bool {
    entries.iter().any(|e| e.switches > 0)
}

/// Whether the case creates a thread itself.
pub fn makes_a_thread(case: &str) -> bool {
    ["thread.create", "thread.exit", "thread.abort"]
        .iter()
        .any(|made| case.starts_with(made))
}

/// Whether a thread of the case waits in a call that can block. A thread of the kernel switches too,
/// when it runs timers or work.
pub fn waits(case: &str, entries: &[&Entry]) -> bool {
    let other = ["thread.", "timer.", "workqueue."];
    switches(case, entries) && !other.iter().any(|prefix| case.starts_with(prefix))
}

/// Whether the case depends on what another thread or an interrupt does.
pub fn relies(case: &str, entries: &[&Entry]) -> bool {
    switches(case, entries) || case.starts_with("isr.")
}

/// Whether a thread of the case runs in user mode.
pub fn user(case: &str, _: &[&Entry]) -> bool {
    case.split('.')
        .any(|word| word == "user" || word.starts_with("u_to_") || word.ends_with("_to_u"))
}

impl Sabotage {
    /// How the sabotage shows in this case; `None`: not at all.
    fn caught(&self, session: &Session, entries: &[&Entry]) -> Option<String> {
        let run = session.run();
        let mut ways = BTreeSet::new();
        for entry in entries {
            let Some(metric) = run
                .metrics
                .iter()
                .find(|m| m.id == entry.metric || m.id == entry.case)
            else {
                ways.insert("nothing printed".to_owned());
                continue;
            };
            let replicate = replicate(metric);
            match &replicate.outcome {
                Outcome::Ok | Outcome::Skipped(_) => return None,
                Outcome::Incomplete(_) if session.status == Some(0) => return None,
                Outcome::Incomplete(_) => {
                    ways.insert(session.status.map_or("no end", |_| "died").to_owned());
                }
                Outcome::Failed(why) => {
                    let failed: Vec<_> = replicate
                        .proofs
                        .iter()
                        .filter(|p| !(p.low..=p.high).contains(&p.counted))
                        .map(|p| p.name.as_str())
                        .collect();
                    let named = |name: &&str| self.proofs.contains(name);
                    ways.insert(match failed.iter().find(|name| named(name)) {
                        Some(name) => (*name).to_owned(),
                        None if failed.is_empty() => why.clone(),
                        None if self.proofs.is_empty() => failed.join("+"),
                        None => return None,
                    });
                }
            }
        }
        Some(ways.into_iter().collect::<Vec<_>>().join(", "))
    }

    /// The affected cases that are ok in the sound image and in which the sabotaged one is not caught.
    pub fn missed(&self, sound: &Image, sabotaged: &Image) -> Vec<String> {
        let catalog = catalog(sound);
        let all = cases(&catalog);
        let entries =
            |case: &str| -> Vec<&Entry> { catalog.iter().filter(|e| e.case == case).collect() };
        // The control: cases that are ok without sabotage.
        let run = order(sound, "run samples=20").run();
        let ok = |case: &str| {
            let mut metrics = run.metrics.iter().filter(|m| m.case == case);
            metrics.any(|m| replicate(m).outcome == Outcome::Ok)
        };
        let left = Mutex::new(
            all.iter()
                .copied()
                .filter(|case| ok(case) && (self.matters)(case, &entries(case)))
                .collect::<Vec<_>>(),
        );
        assert!(
            !left.lock().unwrap().is_empty(),
            "{} affects no case",
            self.name
        );
        let ways = Mutex::new(BTreeMap::<String, Vec<&str>>::new());
        let found = Mutex::new(Vec::new());
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    while let Some(case) = { left.lock().unwrap().pop() } {
                        let session = attempt(sabotaged, &measure(&all, 20, |c| c == case));
                        match self.caught(&session, &entries(case)) {
                            Some(way) => ways.lock().unwrap().entry(way).or_default().push(case),
                            None => found
                                .lock()
                                .unwrap()
                                .push(format!("{}: {case}", sabotaged.name)),
                        }
                    }
                });
            }
        });
        for (way, cases) in ways.into_inner().unwrap() {
            println!(
                "{} {:?}: {} by {way}",
                self.name,
                self.settings,
                cases.len()
            );
        }
        found.into_inner().unwrap()
    }
}
