// SPDX-License-Identifier: MIT OR Apache-2.0

//! The arguments. The help, the man page and the completions come from here.

use std::path::PathBuf;
use std::sync::LazyLock;
use std::time::Duration;

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

use crate::export::{self, Foreign};
use crate::files::reference::Reference;
use crate::import::FORMATS;
use crate::judge::quantity::Quantity;
use crate::target::spec::Spec;

/// Exit status: everything was measured and every proof held.
pub const OK: u8 = 0;
/// Exit status: a benchmark failed, data is missing, or the run could not be saved.
pub const FAILED: u8 = 1;
/// Exit status: the arguments make no sense.
pub const USAGE: u8 = 2;
/// Exit status of a gate: a metric regressed, or is over its limit.
pub const REGRESSED: u8 = 3;
/// Exit status of a gate: neither a change nor its absence is shown, or a limit cannot be judged.
pub const INCONCLUSIVE: u8 = 4;
/// Exit status of a gate: something could not be compared.
pub const INCOMPARABLE: u8 = 5;
/// Exit status: stopped by SIGINT, SIGTERM or SIGHUP.
pub const INTERRUPTED: u8 = 130;

/// What the exit status says, for people.
pub const EXIT_STATUS: &str = "\
0    everything asked for was measured (or skipped for a reason that is shown)
1    a benchmark failed, data is missing or cannot be read, or the run could not be saved
2    the arguments make no sense
3    compare --fail-on regression: a metric regressed; --budget: one is over its limit
4    compare --fail-on inconclusive: a metric is inconclusive; --budget: a limit cannot be judged
5    compare --fail-on incomparable, missing: a metric is; or a gate had nothing to judge
130  interrupted; what was measured until then is saved and shown
";

/// What `--on` takes, for people.
pub const ON: &str = "What to measure: linux, NAME[:BOARD][,variant=A+B][,OPTION=VALUE], \
    PATH.toml[:BOARD], serial:DEVICE[@BAUD], exec:COMMAND, file:PATH";

/// The same, and what these are.
pub const ON_LONG: &str = "What to measure: linux, NAME[:BOARD][,variant=A+B][,OPTION=VALUE], \
    PATH.toml[:BOARD], serial:DEVICE[@BAUD], exec:COMMAND, file:PATH

linux is this machine. NAME is one that `kernmark targets` lists, PATH.toml a file like those: a \
kernel that is built with the agent and runs in an emulator or on a board. A comma in a VALUE is \
written twice. The others only have to \
print records: over a serial line, from a shell command, from a file (- is standard input).";

/// What the environment changes, for people.
pub const ENVIRONMENT: &str = "\
XDG_DATA_HOME   runs are saved in kernmark/runs below it, what `kernmark noise` finds in
                kernmark/noise (default: ~/.local/share)
XDG_CACHE_HOME  what is built for other kernels is kept in kernmark below it, and the agent where
                programs must not run from memory (default: ~/.cache)
XDG_CONFIG_HOME descriptions of targets are looked for in kernmark/targets below it (default:
                ~/.config)
KERNMARK_AGENT  a program to run in place of the built-in agent
KERNMARK_LOCK   the file that keeps two runs apart (default: kernmark.lock in /dev/shm, /run/lock
                or /tmp); a file of its own lets a run measure beside another
COLUMNS         how wide reports are (default: as the terminal, or 100)
NO_COLOR        no colours when set
";

fn after_help() -> String {
    let indented = |text: &str| text.replace('\n', "\n  ").trim_end().to_owned();
    format!(
        "Exit status:\n  {}\n\nEnvironment:\n  {}",
        indented(EXIT_STATUS),
        indented(ENVIRONMENT)
    )
}

/// What does each kernel primitive cost, on this machine, in this kernel, in this configuration?
///
/// Without a command: run.
#[derive(Debug, Parser)]
#[command(name = "kernmark", version, after_help = after_help(), disable_help_subcommand = true)]
pub struct Arguments {
    /// What to do; nothing is `run`.
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Measure this machine, or what --on names, save the run and show it
    #[command(after_help = after_help())]
    Run(Run),
    /// List what can be measured
    List(List),
    /// Measure several targets or variants and show them side by side
    #[command(after_help = after_help())]
    Matrix(Matrix),
    /// Show a saved run
    Show(Show),
    /// Read the results of another tool as a run, and save it where -o says
    #[command(after_help = after_help())]
    Import(Import),
    /// Say whether two saved runs differ, metric by metric
    #[command(after_help = after_help())]
    Compare(Compare),
    /// Measure two targets or variants in turns and say whether they differ
    ///
    /// A and B are measured replicate by replicate, in random order within blocks, so that what
    /// changes on the machine meanwhile befalls both. Both runs are saved; `kernmark compare` says
    /// the same of the two files. --runs and --samples are for each side, --time-budget is for both
    /// together; where `run` would make one replicate, this makes two of instructions that are
    /// exact, and ten of what takes no orders. Two agents on one Linux are two commands: 'exec:AGENT run'.
    #[command(after_help = after_help())]
    Ab(Ab),
    /// Find out how far unchanged runs lie apart here, for compare and ab to allow for
    ///
    /// Measures the same again and again, each time a run of its own that is saved. How far these
    /// lie apart is kept, metric by metric: from then on `compare` and `ab` call no smaller change
    /// of what was measured on this machine in this configuration a change. Also says how often
    /// the gate of `compare` would have raised a false alarm.
    #[command(after_help = after_help())]
    Noise(Noise),
    /// Say what a metric's cost is made of: its parts, which are metrics too, and the residual
    Explain(Explain),
    /// Say from a saved run how many replicates find a change of a given size
    Plan(Plan),
    /// List the targets that `--on` can name, their boards and variants
    Targets(Targets),
    /// Look for what disturbs measurements on this machine, and say what to do about it
    Doctor,
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Print the man page
    Man,
}

/// How a result is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// A table for people
    #[default]
    Table,
    /// JSON
    Json,
    /// Comma-separated values
    Csv,
    /// Markdown
    Md,
}

/// How a run is printed.
#[derive(Clone, Copy, Debug)]
pub enum RunFormat {
    /// As every result can be.
    Own(Format),
    /// In a format of other programs.
    Foreign(&'static Foreign),
}

impl Default for RunFormat {
    fn default() -> Self {
        RunFormat::Own(Format::default())
    }
}

impl ValueEnum for RunFormat {
    fn value_variants<'a>() -> &'a [Self] {
        static ALL: LazyLock<Vec<RunFormat>> = LazyLock::new(|| {
            let own = Format::value_variants().iter().copied();
            let foreign = export::FOREIGN.into_iter();
            own.map(RunFormat::Own)
                .chain(foreign.map(RunFormat::Foreign))
                .collect()
        });
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        match self {
            RunFormat::Own(format) => format.to_possible_value(),
            RunFormat::Foreign(format) => {
                let help = format!("{}; leaves out {}", format.about, format.leaves_out);
                Some(PossibleValue::new(format.name).help(help))
            }
        }
    }
}

/// The arguments of `run`.
#[derive(Args, Debug, Default)]
pub struct Run {
    /// Only these: the start of an id (`semaphore`, `semaphore.take`) or a glob (`*.u_to_u`)
    #[arg(value_name = "FILTER")]
    pub filters: Vec<String>,

    /// What to measure
    #[arg(long, value_name = "SPEC", value_parser = spec, default_value = "linux", help = ON, long_help = ON_LONG)]
    pub on: Spec,

    /// How much is measured.
    #[command(flatten)]
    pub effort: Effort,

    /// Only check that everything can be measured here and that every proof holds
    ///
    /// Few replicates with few samples; their numbers are not saved unless -o says where.
    #[arg(long, conflicts_with = "quick")]
    pub check: bool,

    /// Under what conditions it is measured.
    #[command(flatten)]
    pub conditions: Conditions,

    /// Save the run in FILE, which must not exist [default: a file below the data directory]
    ///
    /// Without it, what --on file: reads from a file is not saved again.
    ///
    /// Until the run is over it grows in FILE.part; that is what a tool that is killed leaves, and
    /// `kernmark show` reads it.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// Judge the run by the absolute limits in FILE
    ///
    /// A TOML file with the most that a metric may cost: see doc/ci.md. A limit that is exceeded
    /// is exit status 3, one that cannot be judged 4.
    #[arg(long, value_name = "FILE", conflicts_with = "check")]
    pub budget: Option<PathBuf>,

    /// How to print the result
    ///
    /// The formats of other programs, and what each keeps, are in doc/formats.md.
    #[arg(long, value_enum, default_value_t)]
    pub format: RunFormat,

    /// Seconds without output after which the agent counts as hung
    #[arg(long, value_name = "S", value_parser = seconds, hide = true)]
    pub case_timeout: Option<Duration>,
}

/// How much is measured.
#[derive(Args, Clone, Debug, Default)]
pub struct Effort {
    /// Fewer replicates, fewer samples: this Linux is done within 5 s, what --on names makes one
    /// replicate and takes as long as that needs
    #[arg(long)]
    pub quick: bool,

    /// Replicates: processes or boots that each measure everything afresh [default: 10; quick: 7;
    /// check: 3; --on: as its description says, or 1; --on, quick: 1]
    #[arg(long, value_name = "R", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub runs: Option<u32>,

    /// Most samples of each case in a replicate [default: 500; quick: 100; check: 20;
    /// --on: as its description says]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(5..=1_000_000))]
    pub samples: Option<u32>,

    /// Seconds that the whole run may take; 0 is no bound [default: 25; quick: 4.2; check: 10;
    /// --on: 0]
    #[arg(long, value_name = "S", value_parser = seconds)]
    pub time_budget: Option<Duration>,

    /// Seed of the order of cases [default: from the time]
    #[arg(long, value_name = "N")]
    pub seed: Option<u32>,
}

/// Under what conditions is measured, and what of them is recorded.
#[derive(Args, Clone, Debug, Default)]
pub struct Conditions {
    /// CPU to measure on [default: the last one allowed]
    #[arg(long, value_name = "N")]
    pub cpu: Option<u32>,

    /// Never use real-time priority, also where it is permitted
    #[arg(long)]
    pub no_realtime: bool,

    /// Seconds to wait while another kernmark measures on this machine [default: 120]
    #[arg(long, value_name = "S", value_parser = seconds)]
    pub wait: Option<Duration>,

    /// Record the host's name in the run
    #[arg(long)]
    pub host_name: bool,
}

/// The arguments of `matrix`.
#[derive(Args, Debug)]
pub struct Matrix {
    /// Only these: the start of an id (`semaphore`, `semaphore.take`) or a glob (`*.u_to_u`)
    #[arg(value_name = "FILTER")]
    pub filters: Vec<String>,

    /// What to measure; several make a column each [default: linux]
    #[arg(long, value_name = "SPEC", long_help = ON_LONG)]
    pub on: Vec<String>,

    /// A variant of it, `default` or such as `canaries+O3`, or an option, `key=value`; several make
    /// a column each
    #[arg(long = "variant", value_name = "VARIANT")]
    pub variants: Vec<String>,

    /// How much is measured.
    #[command(flatten)]
    pub effort: Effort,

    /// Under what conditions it is measured.
    #[command(flatten)]
    pub conditions: Conditions,

    /// How to print the matrix
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

/// The arguments of `list`.
#[derive(Args, Debug)]
pub struct List {
    /// Only these: the start of an id (`semaphore`, `semaphore.take`) or a glob (`*.u_to_u`)
    #[arg(value_name = "FILTER")]
    pub filters: Vec<String>,

    /// What to measure
    #[arg(long, value_name = "SPEC", value_parser = spec, default_value = "linux", help = ON, long_help = ON_LONG)]
    pub on: Spec,

    /// List the benchmarks of another suite instead, such as reference:zephyr: which metric and
    /// target here measure the nearest thing, and why others have none
    ///
    /// NAME is zephyr, zircon, composite, or one of their datasets, such as
    /// zephyr/latest/userspace. FILTER selects by the names of benchmarks and of metrics.
    #[arg(long, value_name = "reference:NAME", value_parser = reference, conflicts_with = "on")]
    pub coverage: Option<Reference>,

    /// List the datasets of published figures instead, which reference:NAME names: their rows, what
    /// was measured, on what machine and by which clock
    ///
    /// FILTER selects by their names.
    #[arg(long, conflicts_with_all = ["on", "coverage"])]
    pub reference: bool,

    /// How to print the list
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

/// The arguments of `targets`.
#[derive(Args, Debug)]
pub struct Targets {
    /// How to print the list
    #[arg(long, value_enum, default_value_t)]
    pub format: TargetsFormat,
}

/// How the list of targets is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum TargetsFormat {
    /// A table for people
    #[default]
    Table,
    /// JSON
    Json,
}

/// The arguments of `show`.
#[derive(Args, Debug)]
pub struct Show {
    /// The saved run or file of another tool, `-` for standard input, or a dataset of published
    /// figures, such as reference:zircon/2018-01-02 [default: the newest whole run of --on]
    pub file: Option<PathBuf>,

    /// The target whose latest run is meant
    #[arg(long, value_name = "SPEC", value_parser = spec, default_value = "linux", conflicts_with = "file")]
    pub on: Spec,

    /// Show how the samples of this one metric are distributed
    #[arg(long, value_name = "ID", conflicts_with = "format")]
    pub metric: Option<String>,

    /// Judge the run by the absolute limits in FILE
    ///
    /// A TOML file with the most that a metric may cost: see doc/ci.md. A limit that is exceeded
    /// is exit status 3, one that cannot be judged 4.
    #[arg(long, value_name = "FILE", conflicts_with = "metric")]
    pub budget: Option<PathBuf>,

    /// How to print the result
    ///
    /// The formats of other programs, and what each keeps, are in doc/formats.md.
    #[arg(long, value_enum, default_value_t)]
    pub format: RunFormat,
}

/// The arguments of `import`.
#[derive(Args, Debug)]
pub struct Import {
    /// What another tool printed or wrote; `-` for standard input
    ///
    /// Several files make one run: each process or boot that they tell of is a replicate. `show`
    /// and `compare` read such files, too.
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,

    /// Read them as this format [default: the one that they have]
    #[arg(long = "as", value_name = "FORMAT", value_parser = import_format())]
    pub format: Option<String>,

    /// Save the run in FILE, which must not exist
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// The formats that can be imported.
fn import_format() -> PossibleValuesParser {
    let values = FORMATS
        .iter()
        .map(|format| PossibleValue::new(format.name).help(format.about));
    PossibleValuesParser::new(values)
}

/// The arguments of `compare`.
#[derive(Args, Debug)]
pub struct Compare {
    /// The saved run, or file of another tool, that the other is compared with; `-` for standard
    /// input, or a dataset of published figures, such as reference:zircon/2017-08-17
    #[arg(value_name = "BASE")]
    pub base: PathBuf,

    /// The run that may have changed, a file of another tool, or a dataset
    ///
    /// Figures of another suite are compared with those metrics of a run that measure the nearest
    /// thing, and only --across.
    #[arg(value_name = "NEW")]
    pub new: PathBuf,

    /// One more run of the base side; may be given several times
    #[arg(long = "base", value_name = "FILE")]
    pub more_base: Vec<PathBuf>,

    /// One more run of the new side; may be given several times
    #[arg(long = "new", value_name = "FILE")]
    pub more_new: Vec<PathBuf>,

    /// How the runs are compared.
    #[command(flatten)]
    pub judging: Judging,
}

/// How runs are compared, and what is made of it.
#[derive(Args, Debug, Default)]
pub struct Judging {
    /// Ignore changes up to this percentage: 3, or p99=10 for one quantity
    ///
    /// Without it the margins are p50 2 %, p90 5 %, and 25 % for p99, p99.9 and cold. A bare number
    /// is the margin of medians; tails keep their own where that is more. Whatever `kernmark noise`
    /// has found for a metric applies where it is more. Exact instructions have no margin unless
    /// one is given.
    #[arg(long, value_name = "[QUANTITY=]PERCENT", value_parser = margin, value_delimiter = ',')]
    pub margin: Vec<Margin>,

    /// Judge only these quantities: p50, p90, p99, p99.9, cold
    #[arg(long, value_name = "QUANTITY", value_delimiter = ',')]
    pub only: Vec<Quantity>,

    /// Compare also what was measured on another machine or in another configuration
    #[arg(long)]
    pub across: bool,

    /// Do not widen margins by what `kernmark noise` has found
    #[arg(long)]
    pub no_floors: bool,

    /// Be a gate: fail when a metric has such a verdict
    ///
    /// A gate also fails when it could not have seen a change: with exit status 5 when its
    /// resolution is too coarse, with 4 when the processor's speed changed. `inconclusive` looks at
    /// medians, or at what --only names.
    #[arg(long, value_enum, value_delimiter = ',', value_name = "VERDICT")]
    pub fail_on: Vec<FailOn>,

    /// Let idioms count at the gate too: objects that a port builds of other primitives
    #[arg(long)]
    pub idioms: bool,

    /// The change that half of the metrics must be able to show, in per cent, for a gate to pass
    /// [default: 10, or twice --margin where that is more]
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub resolution: Option<f64>,

    /// Let a change of the processor's speed pass the gate, up to this percentage (50 at most)
    ///
    /// Every time is still judged in readings of the clock too, so that what only follows the
    /// processor's speed is never called a change.
    #[arg(long, value_name = "PERCENT", value_parser = speed, num_args = 0..=1, default_missing_value = "10", require_equals = true)]
    pub accept_speed: Option<f64>,

    /// Judge the new side too, by the absolute limits in FILE
    ///
    /// A TOML file with the most that a metric may cost: see doc/ci.md. A limit that is exceeded
    /// is exit status 3, one that cannot be judged 4.
    #[arg(long, value_name = "FILE")]
    pub budget: Option<PathBuf>,

    /// How to print the comparison
    #[arg(long, value_enum, default_value_t)]
    pub format: CompareFormat,

    /// Append the comparison to FILE too, in Markdown: --summary `"$GITHUB_STEP_SUMMARY"`
    ///
    /// FILE stays below 1 MiB, more than which GitHub does not show: what is equivalent is left
    /// out first.
    #[arg(long, value_name = "FILE")]
    pub summary: Option<PathBuf>,
}

/// The arguments of `plan`.
#[derive(Args, Debug)]
pub struct Plan {
    /// The saved run that is the pilot, `-` for standard input [default: the newest whole run of
    /// --on]
    pub file: Option<PathBuf>,

    /// The target whose latest run is meant
    #[arg(long, value_name = "SPEC", value_parser = spec, default_value = "linux", conflicts_with = "file")]
    pub on: Spec,

    /// Only these metrics, which are then the family: the start of an id or a glob; may be given
    /// several times
    #[arg(long = "only", value_name = "FILTER")]
    pub filters: Vec<String>,

    /// The change that is to be found, in per cent
    #[arg(long, value_name = "PERCENT", value_parser = percent, default_value = "5")]
    pub change: f64,

    /// How often it is to be found, in per cent of comparisons: 50 to 99
    #[arg(long, value_name = "PERCENT", value_parser = power, default_value = "90")]
    pub power: f64,

    /// The margin of medians that `compare` will use, in per cent
    #[arg(long, value_name = "PERCENT", value_parser = percent, default_value = "2")]
    pub margin: f64,

    /// How to print the plan
    #[arg(long, value_enum, default_value_t)]
    pub format: TargetsFormat,
}

/// The arguments of `ab`.
#[derive(Args, Debug)]
pub struct Ab {
    /// The base: a target as --on takes it elsewhere (linux, freertos:m4, exec:COMMAND); with
    /// --on a variant (default, canaries+O3) or an option (key=value) of that target
    #[arg(value_name = "A")]
    pub base: String,

    /// What it is compared with, given in the same way; the same as A shows what this machine
    /// lets one see
    #[arg(value_name = "B")]
    pub new: String,

    /// Only these: the start of an id (`semaphore`, `semaphore.take`) or a glob (`*.u_to_u`)
    #[arg(value_name = "FILTER")]
    pub filters: Vec<String>,

    /// The target that A and B are variants of
    #[arg(long, value_name = "SPEC", long_help = ON_LONG)]
    pub on: Option<String>,

    /// How much is measured: replicates and samples of each side, the time of both together.
    #[command(flatten)]
    pub effort: Effort,

    /// Under what conditions both are measured.
    #[command(flatten)]
    pub conditions: Conditions,

    /// Save the runs in NAME-base.km and NAME-new.km, which must not exist [default: files below the
    /// data directory]
    #[arg(short, long, value_name = "NAME")]
    pub output: Option<PathBuf>,

    /// How the two are compared.
    #[command(flatten)]
    pub judging: Judging,
}

/// The arguments of `noise`.
#[derive(Args, Debug)]
pub struct Noise {
    /// Only these: the start of an id (`semaphore`, `semaphore.take`) or a glob (`*.u_to_u`)
    #[arg(value_name = "FILTER")]
    pub filters: Vec<String>,

    /// What to measure
    #[arg(long, value_name = "SPEC", value_parser = spec, default_value = "linux", help = ON, long_help = ON_LONG)]
    pub on: Spec,

    /// Runs that are made [of Linux each takes 25 s]
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u32).range(2..=1000), default_value = "10")]
    pub rounds: u32,

    /// How much is measured in each run.
    #[command(flatten)]
    pub effort: Effort,

    /// Under what conditions all are measured.
    #[command(flatten)]
    pub conditions: Conditions,
}

/// The arguments of `explain`.
#[derive(Args, Debug)]
pub struct Explain {
    /// The metric
    #[arg(value_name = "ID")]
    pub id: String,

    /// The saved run, `-` for standard input, or a dataset of published figures, such as
    /// reference:composite/2007/composite [default: the newest whole run of --on]
    pub file: Option<PathBuf>,

    /// The target whose latest run is meant
    #[arg(long, value_name = "SPEC", value_parser = spec, default_value = "linux", conflicts_with = "file")]
    pub on: Spec,

    /// How to print the explanation
    #[arg(long, value_enum, default_value_t)]
    pub format: ExplainFormat,
}

/// How an explanation is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ExplainFormat {
    /// A table for people
    #[default]
    Table,
    /// JSON
    Json,
    /// Markdown
    Md,
}

/// What a gate does not let through.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FailOn {
    /// A metric regressed
    Regression,
    /// Neither a change of a metric nor its absence is shown
    Inconclusive,
    /// A metric was measured under other conditions
    Incomparable,
    /// A metric of the base has no number in the new run
    Missing,
}

/// How a comparison or an explanation is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum CompareFormat {
    /// A table for people
    #[default]
    Table,
    /// JSON
    Json,
    /// Markdown
    Md,
    /// JUnit XML: a test case for each metric, which fails with a verdict that --fail-on names
    Junit,
}

/// A percentage, as a share.
fn percent(text: &str) -> Result<f64, String> {
    match without_sign(text).parse::<f64>() {
        Ok(percent) if (0.0..=1000.0).contains(&percent) => Ok(percent / 100.0),
        _ => Err("per cent from 0 to 1000 are needed".to_owned()),
    }
}

/// A margin that was asked for, as a share: of one quantity, or of everything.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Margin {
    /// The quantity; `None` where it is for all.
    pub quantity: Option<Quantity>,
    /// The margin.
    pub share: f64,
}

/// A margin: `3`, `p99=10`.
fn margin(text: &str) -> Result<Margin, String> {
    let (quantity, number) = match text.split_once('=') {
        Some((quantity, number)) => (Some(quantity.trim().parse()?), number.trim()),
        None => (None, text),
    };
    let share = percent(number)?;
    Ok(Margin { quantity, share })
}

/// How much the processor's speed may change, as a share: never any change.
fn speed(text: &str) -> Result<f64, String> {
    match without_sign(text).parse::<f64>() {
        Ok(percent) if (0.0..=50.0).contains(&percent) => Ok(percent / 100.0),
        _ => Err("per cent from 0 to 50 are needed".to_owned()),
    }
}

/// The power of a test, as a share.
fn power(text: &str) -> Result<f64, String> {
    match without_sign(text).parse::<f64>() {
        Ok(percent) if (50.0..=99.0).contains(&percent) => Ok(percent / 100.0),
        _ => Err("per cent from 50 to 99 are needed".to_owned()),
    }
}

/// `5` of `5%` and `5 %`.
fn without_sign(text: &str) -> &str {
    text.strip_suffix('%').map_or(text, str::trim_end)
}

/// A target.
fn spec(text: &str) -> Result<Spec, String> {
    text.parse()
}

/// Published figures.
fn reference(text: &str) -> Result<Reference, String> {
    text.parse()
}

/// Seconds, also with a fraction, from 0 to a day.
fn seconds(text: &str) -> Result<Duration, String> {
    match text.parse::<f64>() {
        Ok(seconds) if (0.0..=86_400.0).contains(&seconds) => Ok(Duration::from_secs_f64(seconds)),
        _ => Err("seconds from 0 to 86400 are needed".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_arguments_are_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn seconds_have_bounds() {
        assert_eq!(seconds("4.2"), Ok(Duration::from_millis(4200)));
        for text in ["-1", "nan", "inf", "86401", "x", ""] {
            assert!(seconds(text).is_err(), "{text}");
        }
    }
}
