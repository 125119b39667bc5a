//! Processes that measure, and start together.
//!
//! The conversation on a worker's pipes: it gets its task as one line of JSON, answers with a line
//! once it is connected, starts measuring when it gets another line, and ends with a line of JSON,
//! its outcome.

use farcache_harness::pinning::pinned;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// Workers that are ready.
pub struct Workers(Vec<Worker>);

impl Workers {
    /// Starts a worker for each task, which take the cores in turn, and waits until all are ready.
    ///
    /// # Errors
    /// If one cannot be started or fails; what went wrong stands on standard error.
    pub fn start(
        program: &Path,
        argument: &str,
        tasks: &[impl Serialize],
        cpus: &[usize],
    ) -> io::Result<Workers> {
        let cpu = |index: usize| (!cpus.is_empty()).then(|| cpus[index % cpus.len()]);
        let start = |index| Worker::start(program, argument, cpu(index));
        let mut workers = (0..tasks.len())
            .map(start)
            .collect::<io::Result<Vec<_>>>()?;
        for (worker, task) in workers.iter_mut().zip(tasks) {
            worker.tell(&serde_json::to_string(task)?)?;
        }
        for worker in &mut workers {
            worker.hear()?;
        }
        Ok(Workers(workers))
    }

    /// Has all of them begin.
    ///
    /// # Errors
    /// As [`Workers::start`].
    pub fn go(&mut self) -> io::Result<()> {
        self.0.iter_mut().try_for_each(|worker| worker.tell("go"))
    }

    /// What they have done, when all have ended.
    ///
    /// # Errors
    /// As [`Workers::start`].
    pub fn outcomes<O: DeserializeOwned>(&mut self) -> io::Result<Vec<O>> {
        let outcome = |worker: &mut Worker| Ok(serde_json::from_str(&worker.hear()?)?);
        self.0.iter_mut().map(outcome).collect()
    }
}

/// A worker's process; killed when dropped.
struct Worker {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Drop for Worker {
    fn drop(&mut self) {
        // An error means that it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Worker {
    fn start(program: &Path, argument: &str, cpu: Option<usize>) -> io::Result<Worker> {
        let mut command = Command::new(program);
        command
            .arg(argument)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut child = pinned(cpu, || command.spawn())??;
        let pipes = child.stdin.take().zip(child.stdout.take());
        let (input, output) = pipes.expect("both were asked for");
        Ok(Worker {
            child,
            input,
            output: BufReader::new(output),
        })
    }

    fn tell(&mut self, line: &str) -> io::Result<()> {
        writeln!(self.input, "{line}")?;
        self.input.flush()
    }

    fn hear(&mut self) -> io::Result<String> {
        let mut line = String::new();
        match self.output.read_line(&mut line)? {
            0 => Err(io::Error::other("a client process has failed")),
            _ => Ok(line),
        }
    }
}

/// A worker's side: hears the task, prepares, and measures when told to.
///
/// # Errors
/// If `prepare` or `measure` fails, or the conversation breaks off.
pub fn be_worker<T: DeserializeOwned, S, O: Serialize>(
    prepare: impl FnOnce(&T) -> io::Result<S>,
    measure: impl FnOnce(&T, S) -> io::Result<O>,
) -> io::Result<()> {
    let mut lines = io::stdin().lock().lines();
    let mut hear = || lines.next().ok_or(io::ErrorKind::UnexpectedEof)?;
    let task: T = serde_json::from_str(&hear()?)?;
    let prepared = prepare(&task)?;
    println!("ready");
    hear()?;
    println!("{}", serde_json::to_string(&measure(&task, prepared)?)?);
    Ok(())
}
