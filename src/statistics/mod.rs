// SPDX-License-Identifier: MIT OR Apache-2.0

//! Statistics: numbers in, numbers out. Pure functions, each with its source.
//!
//! [`order`]: median, its interval, quantiles. [`means`]: geometric mean, coefficient of variation.
//! [`distributions`]: Student's t, chi square, binomial. [`adjust`]: p values of many tests.
//! [`permutation`]: the joint test of all metrics of two runs.

pub mod adjust;
pub mod distributions;
pub mod means;
pub mod order;
pub mod permutation;
