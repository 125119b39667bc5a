//! Servers that make their cluster's map together, with Debian's etcd: one node, and three.

#[path = "../support/mod.rs"]
mod support;

mod cut_off;
mod deaths;
mod fleet;
mod following;
mod forwarding;
mod joining;
mod losses;
mod moving;
mod node;
mod proxy;
