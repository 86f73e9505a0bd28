// SPDX-License-Identifier: MIT OR Apache-2.0

//! Files: the store of saved runs and their digests, and the published figures that come with the tool.

pub mod digest;
pub mod index;
pub mod reference;
pub mod runs;
pub mod store;
