//! Several servers with one map: whoever is asked for a key answers as its owner does.

mod fleet;
#[path = "../support/mod.rs"]
mod support;
mod text;

use fleet::Fleet;
