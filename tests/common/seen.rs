// SPDX-License-Identifier: MIT OR Apache-2.0

//! The result of running the tool.

use std::process::Output;

#[derive(Debug)]
pub struct Seen {
    pub status: Option<i32>,
    pub out: String,
    pub err: String,
}

impl From<Output> for Seen {
    fn from(output: Output) -> Seen {
        Seen {
            status: output.status.code(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

impl Seen {
    /// Asserts the exit status and what standard output and standard error contain.
    #[track_caller]
    pub fn expect(&self, status: i32, out: &str, err: &str) {
        assert_eq!(self.status, Some(status), "{self:#?}");
        assert!(self.out.contains(out), "no {out:?} in {self:#?}");
        assert!(self.err.contains(err), "no {err:?} in {self:#?}");
    }
}
