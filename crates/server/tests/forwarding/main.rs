//! Several servers with one map: whoever is asked for a key answers as its owner does.

mod failures;
mod fleet;
mod given_back;
mod over_fabric;
mod runs;
mod same;
#[path = "../support/mod.rs"]
mod support;
mod text;

use fleet::Fleet;
