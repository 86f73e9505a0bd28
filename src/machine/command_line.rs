// SPDX-License-Identifier: MIT OR Apache-2.0

//! Hides private data in the kernel's command line: the line in, a line that can be published out.

/// Kernel parameters whose values can identify a machine and do not affect speed.
const PRIVATE_PARAMETERS: &[&str] = &[
    "root",
    "resume",
    "cryptdevice",
    "nfsroot",
    "ip",
    "netconsole",
    "ds",
    "BOOTIF",
    "hostname",
];

/// Parameters with one of these in their name have private values too.
const PRIVATE_PARTS: &[&str] = &[
    "uuid",
    "luks",
    "lvm",
    "hostname",
    "password",
    "token",
    "secret",
    "serial",
    "credential",
];

/// Drops the arguments of init and replaces private values by `(hidden)`.
pub fn public_command_line(line: &str) -> String {
    line.split_whitespace()
        .take_while(|&word| word != "--")
        .map(|word| match word.split_once('=') {
            Some((name, _)) if is_private(name) => format!("{name}=(hidden)"),
            _ => word.to_owned(),
        })
        .collect::<Vec<_>>()
        .join(" ")
}

fn is_private(parameter: &str) -> bool {
    let lower = parameter.to_ascii_lowercase();
    PRIVATE_PARAMETERS.contains(&parameter) || PRIVATE_PARTS.iter().any(|part| lower.contains(part))
}
