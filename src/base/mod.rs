// SPDX-License-Identifier: MIT OR Apache-2.0

//! What knows nothing of measuring: text and numbers for people, the terminal, the signals.

#[macro_use]
pub mod screen;

pub mod interrupt;
pub mod markdown;
pub mod number;
pub mod text;
