//! Several servers with one map: whoever is asked for a key answers as its owner does.

mod failures;
mod fleet;
mod runs;
mod same;
#[path = "../support/mod.rs"]
mod support;
mod text;

use fleet::Fleet;
