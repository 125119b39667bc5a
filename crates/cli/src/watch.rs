//! The status, again and again.

use crate::ask::Asking;
use crate::failure::Failure;
use crate::overview::Overview;
use crate::source::Source;
use crate::table;
use std::io::{self, IsTerminal, Write};
use std::thread;
use std::time::Duration;

/// Moves to the first line and clears the rest of the screen (ECMA-48: CUP, ED).
const REDRAW: &str = "\x1b[H\x1b[J";

/// Shows the status every `interval` seconds until the terminal or the pipe is closed. What goes
/// wrong meanwhile is shown, too.
///
/// # Errors
/// Nothing can be shown any more.
pub fn run(source: &mut Source, asking: &Asking, interval: u64) -> Result<(), Failure> {
    let mut out = io::stdout();
    let is_terminal = out.is_terminal();
    loop {
        let text = match source.read() {
            Ok(standing) => {
                let reports = asking.all(&standing.map);
                table::shown(&Overview::new(&standing, &reports, &source.place()))
            }
            Err(failure) => format!("{failure}\n"),
        };
        let head = if is_terminal { REDRAW } else { "" };
        let shown = writeln!(out, "{head}{text}").and_then(|()| out.flush());
        match shown {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(()),
            shown => shown?,
        }
        thread::sleep(Duration::from_secs(interval));
    }
}
