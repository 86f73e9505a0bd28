// SPDX-License-Identifier: MIT OR Apache-2.0

//! Runs in PostgreSQL: every statement of `doc/postgresql.md`, against a server that is started for
//! the test.

// Other test programs need the rest of it.
#[allow(dead_code)]
mod common;
#[path = "common/saved.rs"]
mod saved;
#[path = "common/seen.rs"]
mod seen;
#[path = "common/tool.rs"]
mod tool;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::{here, skipped, succeeds};
use saved::stream;
use seen::Seen;
use tool::tool_in;

/// The user whom a server runs as if the test runs as root, which no server accepts.
const NOBODY: &str = "65534";

/// The folder with the programs of a PostgreSQL server.
fn programs() -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = env::split_paths(&path).collect();
    // Debian keeps them out of the path.
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten();
    folders.extend(versions.flatten().map(|version| version.path().join("bin")));
    let has_all = |folder: &PathBuf| {
        ["initdb", "pg_ctl", "psql"]
            .iter()
            .all(|one| folder.join(one).is_file())
    };
    folders.into_iter().find(has_all)
}

/// A server in a folder of its own, which only listens on a socket there.
struct Server {
    programs: PathBuf,
    folder: tempfile::TempDir,
}

impl Server {
    fn start(programs: PathBuf) -> Server {
        // The path of a socket must be short.
        let folder = tempfile::tempdir_in("/tmp").unwrap();
        let server = Server { programs, folder };
        if rustix::process::geteuid().is_root() {
            let owner = format!("{NOBODY}:{NOBODY}");
            succeeds(Command::new("chown").arg(owner).arg(server.folder.path()));
        }
        succeeds(server.program("initdb").args([
            "-D",
            "data",
            "-A",
            "trust",
            "-U",
            "kernmark",
            "--no-sync",
        ]));
        let options = format!(
            "-c listen_addresses='' -c fsync=off -k {}",
            server.folder.path().display()
        );
        succeeds(server.program("pg_ctl").args([
            "start", "-s", "-w", "-D", "data", "-l", "log", "-o", &options,
        ]));
        server
    }

    /// A program of PostgreSQL, as a user whom the server accepts.
    fn program(&self, name: &str) -> Command {
        let program = self.programs.join(name);
        let mut command = if rustix::process::geteuid().is_root() {
            let mut command = Command::new("setpriv");
            let ids = [format!("--reuid={NOBODY}"), format!("--regid={NOBODY}")];
            command.args(ids).arg("--clear-groups").arg(program);
            command
        } else {
            Command::new(program)
        };
        command.current_dir(self.folder.path());
        command
    }

    /// What psql prints for these statements: values without decoration.
    fn ask(&self, statements: &str) -> String {
        let script = self.folder.path().join("script.sql");
        fs::write(&script, statements).unwrap();
        let mut command = Command::new(self.programs.join("psql"));
        command.current_dir(self.folder.path()).args([
            "-X",
            "-q",
            "-A",
            "-t",
            "-v",
            "ON_ERROR_STOP=1",
        ]);
        command
            .args(["-U", "kernmark", "-d", "postgres", "-f"])
            .arg(&script);
        command.arg("-h").arg(self.folder.path());
        succeeds(&mut command)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let mut stop = self.program("pg_ctl");
        let _ = stop
            .args(["stop", "-s", "-m", "immediate", "-D", "data"])
            .status();
    }
}

/// The SQL of a page, block by block.
fn statements(page: &str) -> Vec<String> {
    let blocks = page.split("```sql\n").skip(1);
    let block = |text: &str| text.split("```").next().unwrap().to_owned();
    blocks.map(block).collect()
}

fn save(folder: &Path, day: u64, kernel: &str, cost: u64) {
    let started = format!("2026-01-{day:02}T12:00:00Z");
    let facts = [
        ("started", started.as_str()),
        ("kernel_release", kernel),
        ("machine", "lab, \"the\" first"),
        ("label.commit", "1a2b3c"),
        ("label.note", "a 'quoted', \"long\" text \\ \u{e9}"),
    ];
    let samples = |cost| vec![vec![cost; 20]; 3];
    let metrics = [
        ("clock.read", samples(20)),
        ("semaphore.take.blocking.k_to_k", samples(cost)),
        ("fifo.put.user", vec![Vec::new(); 3]),
    ];
    let text = stream("cycles", &facts, &metrics);
    fs::write(
        folder.join(format!("202601{day:02}T120000Z-linux-0.km")),
        text,
    )
    .unwrap();
}

#[test]
fn runs_are_loaded_and_asked_as_the_page_says() {
    let Some(programs) = programs() else {
        return skipped(
            "runs in PostgreSQL",
            "initdb, pg_ctl and psql are missing (postgresql)",
        );
    };
    let bed = tempfile::tempdir().unwrap();
    let runs = bed.path().join("data/kernmark/runs");
    fs::create_dir_all(&runs).unwrap();
    for (day, kernel, cost) in [
        (1, "6.1", 1000),
        (2, "6.1", 1010),
        (3, "6.6", 1200),
        (4, "6.6", 1210),
    ] {
        save(&runs, day, kernel, cost);
    }
    let csv = tool_in(bed.path(), &["runs", "--format", "csv"])
        .output()
        .unwrap();
    let csv = Seen::from(csv);
    csv.expect(0, "semaphore.take.blocking.k_to_k", "");
    let server = Server::start(programs);
    fs::write(server.folder.path().join("runs.csv"), &csv.out).unwrap();
    let page = fs::read_to_string(here("doc/postgresql.md")).unwrap();
    let [schema, load, history, changes, of_commit] = &statements(&page)[..] else {
        panic!("the page has other statements");
    };
    server.ask(schema);
    server.ask(load);
    // A second time changes nothing.
    server.ask(load);
    assert_eq!(
        server.ask("SELECT count(*) FROM figure; SELECT count(*) FROM run;"),
        "8\n4\n"
    );
    let history = server.ask(history);
    let history: Vec<Vec<&str>> = history
        .lines()
        .map(|line| line.split('|').collect())
        .collect();
    let costs: Vec<&str> = history.iter().map(|line| line[3]).collect();
    assert_eq!(costs, ["1000", "1010", "1200", "1210"]);
    assert_eq!(history[0][1], "lab, \"the\" first");
    let changes = server.ask(changes);
    let line = "lab, \"the\" first|6.1|6.6|semaphore.take.blocking.k_to_k|1005|1205|19.9\n";
    assert_eq!(changes, line);
    assert_eq!(server.ask(of_commit).lines().count(), 4);
    let note = server.ask("SELECT DISTINCT labels ->> 'note' FROM run;");
    assert_eq!(note, "a 'quoted', \"long\" text \\ \u{e9}\n");
}
