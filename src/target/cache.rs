// SPDX-License-Identifier: MIT OR Apache-2.0

//! The tool's folder in the user's cache directory, for files that can be made again.

use std::env;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The folder `kernmark` in the cache directory. Creates it if necessary, readable only by this
/// user.
///
/// # Errors
///
/// It cannot be created, or neither `XDG_CACHE_HOME` nor `HOME` is set.
pub fn folder() -> Result<PathBuf, String> {
    let cache = env::var_os("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .filter(|path| path.is_absolute())
        .or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".cache")))
        .ok_or("no cache folder: set XDG_CACHE_HOME")?;
    let folder = cache.join("kernmark");
    fs::create_dir_all(&folder)
        .and_then(|()| fs::set_permissions(&folder, Permissions::from_mode(0o700)))
        .map_err(|error| {
            format!(
                "cannot create {}: {error}; set XDG_CACHE_HOME to a directory that you can write to",
                folder.display()
            )
        })?;
    Ok(folder)
}

/// A 64-bit hash (FNV-1a) of the pieces and their lengths.
#[must_use]
pub fn hash<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> u64 {
    const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0100_0000_01b3;
    let mix = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(PRIME);
    pieces.into_iter().fold(OFFSET, |hash, piece| {
        let length = (piece.len() as u64).to_le_bytes();
        piece.iter().chain(&length).fold(hash, mix)
    })
}

/// The text of a path, for the words of a command.
///
/// # Errors
///
/// It is not UTF-8.
pub(super) fn utf8(path: &Path) -> Result<&str, String> {
    path.to_str().ok_or_else(|| {
        format!(
            "{} is not UTF-8; set XDG_CACHE_HOME to another directory",
            path.display()
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn different_pieces_have_different_hashes() {
        let of = |pieces: &[&str]| hash(pieces.iter().map(|piece| piece.as_bytes()));
        assert_eq!(of(&["ab", "c"]), of(&["ab", "c"]));
        assert_ne!(of(&["ab", "c"]), of(&["a", "bc"]));
        assert_ne!(of(&["ab"]), of(&["ab", ""]));
        assert_ne!(of(&["ab"]), of(&["ac"]));
    }
}
