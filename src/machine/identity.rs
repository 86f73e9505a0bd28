// SPDX-License-Identifier: MIT OR Apache-2.0

//! The identity of a machine: the content of `/etc/machine-id` in, a keyed hash out.
//!
//! The machine-id itself is confidential, so programs show a hash that nobody can turn back and that
//! differs from the one of any other program (`machine-id(5)`). Machines that were cloned with their
//! machine-id have the same identity.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// The application id of kernmark, from `systemd-id128 new`. It never changes.
pub const APPLICATION: u128 = 0xc6ae_53b2_ed44_4727_bdb3_d9b1_f225_ab92;

/// The identity of the machine with this machine-id for the application with this id, as
/// `sd_id128_get_machine_app_specific()` computes it. `None` if the text is no machine-id, such as
/// `uninitialized`.
#[must_use]
pub fn of(machine_id: &str, application: u128) -> Option<String> {
    let digits = machine_id.trim();
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    if digits.len() != 32 || !digits.bytes().all(is_digit) {
        return None;
    }
    let key = u128::from_str_radix(digits, 16)
        .ok()
        .filter(|id| *id != 0)?;
    let mut hash = <Hmac<Sha256> as KeyInit>::new_from_slice(&key.to_be_bytes()).ok()?;
    hash.update(&application.to_be_bytes());
    let hash = hash.finalize().into_bytes();
    let mut id: [u8; 16] = hash[..16].try_into().ok()?;
    // A UUID of version 4, variant DCE.
    id[6] = id[6] & 0x0f | 0x40;
    id[8] = id[8] & 0x3f | 0x80;
    Some(format!("{:032x}", u128::from_be_bytes(id)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identity_is_what_systemd_says_of_this_machine() {
        let machine = std::fs::read_to_string("/etc/machine-id").unwrap_or_default();
        let systemd = std::process::Command::new("systemd-id128")
            .arg("machine-id")
            .arg(format!("--app-specific={APPLICATION:032x}"))
            .output();
        match (of(&machine, APPLICATION), systemd) {
            (Some(identity), Ok(systemd)) if systemd.status.success() => {
                assert_eq!(identity, String::from_utf8_lossy(&systemd.stdout).trim());
            }
            _ => eprintln!("SKIPPED: this machine's identity: no machine-id or no systemd-id128"),
        }
    }

    #[test]
    fn identity_is_a_keyed_hash_of_a_machine_id() {
        // HMAC-SHA256 with the machine-id as its key, by Python's hmac.
        let machine = "0123456789abcdef0123456789abcdef\n";
        let identity = of(machine, APPLICATION);
        assert_eq!(
            identity.as_deref(),
            Some("6e315c9624d749dcbb77b1559552e018")
        );
        assert_ne!(of(machine, APPLICATION + 1), identity);
        for text in [
            "",
            "uninitialized",
            "0123",
            &"0".repeat(32),
            &"g".repeat(32),
        ] {
            assert_eq!(of(text, APPLICATION), None, "{text}");
        }
    }
}
