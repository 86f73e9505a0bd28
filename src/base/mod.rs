// SPDX-License-Identifier: MIT OR Apache-2.0

//! Helpers that know nothing about measuring.
//!
//! [`number`] formats numbers for people. [`text`] escapes and wraps text, [`markdown`] escapes it for
//! Markdown. [`settings`] reads a kernel's configuration. [`screen`] writes messages and asks the terminal for its width. [`interrupt`] turns
//! signals into something that can be polled.

#[macro_use]
pub mod screen;

pub mod interrupt;
pub mod markdown;
pub mod number;
pub mod settings;
pub mod text;
