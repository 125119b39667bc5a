//! One list of checks that is run over every transport: what a client sees of a server must not
//! depend on how they talk.
//!
//! | part | what it checks |
//! |---|---|
//! | `operations` | every operation, with its errors |
//! | `values` | values of every size, lent and received in place |
//! | `batches` | operations that are under way together |
//! | `mixed` | sockets and fabric on the same keys at once |
//! | `refused` | servers that have no fabric |
//! | `death` | clients and servers that are killed |
//!
//! A check gets keys of its own, so that they can run against a server that others use too; those
//! that end or need servers of their own are left out there.
#![forbid(unsafe_code)]

mod batches;
mod caller;
pub mod death;
mod expect;
pub mod fixture;
mod mixed;
mod operations;
mod refused;
mod sample;
mod values;

use fixture::Fixture;
use std::time::Instant;

/// What a check found; an error says what was wrong.
pub type Outcome = Result<(), Box<dyn std::error::Error>>;

/// One thing that must hold.
#[derive(Clone, Copy)]
pub struct Check {
    /// Says it.
    pub name: &'static str,
    /// Finds out.
    pub run: fn(&Fixture) -> Outcome,
    /// Whether servers are started for it.
    pub starts_servers: bool,
}

impl Check {
    /// One that any server will do for.
    const fn of_any_server(name: &'static str, run: fn(&Fixture) -> Outcome) -> Self {
        Check {
            name,
            run,
            starts_servers: false,
        }
    }

    /// One that starts servers.
    const fn of_own_servers(name: &'static str, run: fn(&Fixture) -> Outcome) -> Self {
        Check {
            name,
            run,
            starts_servers: true,
        }
    }
}

/// Every check.
pub fn all() -> impl Iterator<Item = &'static Check> {
    let parts = [
        operations::CHECKS,
        values::CHECKS,
        batches::CHECKS,
        mixed::CHECKS,
        refused::CHECKS,
        death::CHECKS,
    ];
    parts.into_iter().flatten()
}

/// How many checks ended how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// That held.
    pub passed: usize,
    /// That did not.
    pub failed: usize,
    /// That could not be tried on this fixture.
    pub left_out: usize,
}

/// Runs the checks whose names contain `filter`, and prints what came of each as Rust's test runner
/// does.
pub fn run(fixture: &Fixture, filter: &str) -> Summary {
    let mut summary = Summary::default();
    for check in all().filter(|check| check.name.contains(filter)) {
        if check.starts_servers && !fixture.starts_servers() {
            summary.left_out += 1;
            println!("test {} ... ignored, needs servers of its own", check.name);
            continue;
        }
        let start = Instant::now();
        let outcome = (check.run)(fixture);
        let seconds = start.elapsed().as_secs_f64();
        match outcome {
            Ok(()) => {
                summary.passed += 1;
                println!("test {} ... ok ({seconds:.1} s)", check.name);
            }
            Err(fault) => {
                summary.failed += 1;
                println!(
                    "test {} ... FAILED ({seconds:.1} s)\n    {fault}",
                    check.name
                );
            }
        }
    }
    summary
}
