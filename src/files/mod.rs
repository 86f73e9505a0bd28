// SPDX-License-Identifier: MIT OR Apache-2.0

//! What is kept in files: saved runs, and the published figures that come with the tool.

pub mod reference;
pub mod store;
