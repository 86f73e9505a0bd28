//! What people read: each report is text made from values, without I/O.

pub mod doctor;
