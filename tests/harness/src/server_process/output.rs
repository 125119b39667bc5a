//! What a server writes, kept so that it can be told of one that fails.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::process::Stdio;

/// As many bytes of the end are told.
const END_BYTES: u64 = 2000;

/// A file without a name for a server's standard output and standard error.
pub(super) struct Output(File);

impl Output {
    /// Nothing is written yet.
    ///
    /// # Errors
    /// If the file cannot be made.
    pub(super) fn new() -> io::Result<Self> {
        Ok(Output(tempfile::tempfile()?))
    }

    /// For the server: all writers go on where the last one has ended.
    ///
    /// # Errors
    /// If there are too many descriptors.
    pub(super) fn writer(&self) -> io::Result<Stdio> {
        Ok(self.0.try_clone()?.into())
    }

    /// The end of what is written, whole lines; empty if it cannot be read.
    pub(super) fn end(&self) -> String {
        let length = self.0.metadata().map_or(0, |about| about.len());
        let from = length.saturating_sub(END_BYTES);
        let mut bytes = vec![0; (length - from) as usize];
        if self.0.read_exact_at(&mut bytes, from).is_err() {
            return String::new();
        }
        let text = String::from_utf8_lossy(&bytes);
        match text.split_once('\n') {
            Some((_, whole)) if from > 0 => whole.into(),
            _ => text.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn the_end_of_both_streams_is_told() {
        let output = Output::new().unwrap();
        let mut command = Command::new("sh");
        command.args(["-c", "seq 1000; echo last >&2"]);
        command.stdout(output.writer().unwrap());
        command.stderr(output.writer().unwrap());
        assert!(command.status().unwrap().success());
        let end = output.end();
        assert!(end.ends_with("\n1000\nlast\n"), "{end}");
        assert!(end.len() as u64 <= END_BYTES);
        assert_eq!(end.lines().next().unwrap().len(), 3, "a line is cut: {end}");
    }
}
