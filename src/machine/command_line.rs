// SPDX-License-Identifier: MIT OR Apache-2.0

//! The kernel's command line without what can identify a machine.

/// Kernel parameters whose values say nothing about speed and can identify a machine.
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

/// Parts of parameter names whose values are private too.
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

/// Drops the arguments of init and hides values that can identify a machine.
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
