//! Handles made by a text: `--SERVER=host:port --BINARY-PROTOCOL ...`,
//! libmemcached_configuration(3).

use crate::context::Context;
use crate::lifecycle;
use crate::option_text::*;
use farcache_libmemcached_abi::{Return, flags};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

/// Names a text where the application gave none.
const VARIABLE: &str = "LIBMEMCACHED";

/// Reads one text for one handle.
struct Reader<'c, 'h> {
    context: &'c mut Context<'h>,
    has_hash: bool,
}

impl Reader<'_, '_> {
    fn read(&mut self, text: &str) -> Result<(), Fault> {
        let mut statements = statements(text).into_iter();
        while let Some(statement) = statements.next() {
            // A comment is a whole line, which its end ends.
            if statement.starts_with('#') && text.ends_with('\n') {
                return Ok(());
            }
            match statement.to_ascii_uppercase().as_str() {
                "END" => return Ok(()),
                "RESET" => self
                    .context
                    .reset()
                    .map_err(|_| "RESET failed".to_owned())?,
                "DEBUG" => {}
                "CSL_ERROR" => return Err("ERROR called directly".to_owned()),
                "INCLUDE" => self.include(&statements.next().unwrap_or_default())?,
                _ => self.option(&statement)?,
            }
        }
        Ok(())
    }

    fn include(&mut self, name: &str) -> Result<(), Fault> {
        let name = c_string(string(name)?)?;
        let failed = |_| "Failed to parse configuration file".to_owned();
        read_file(self.context, &name).map_err(failed)
    }

    fn option(&mut self, statement: &str) -> Result<(), Fault> {
        let Some(option) = statement.strip_prefix("--") else {
            return Err(format!("Error occured while parsing ({statement})"));
        };
        match option.split_once('=') {
            Some((name, value)) => self.option_with(&name.to_ascii_uppercase(), value, statement),
            None => self.switch(&option.to_ascii_uppercase(), statement),
        }
    }

    fn switch(&mut self, name: &str, statement: &str) -> Result<(), Fault> {
        match (name, named(SWITCHES, name)) {
            ("FETCH-VERSION", _) => self.context.handle.set(flags::IS_FETCHING_VERSION, true),
            ("USER-DATA", _) => {}
            (_, Some(behavior)) => {
                let could_not = |_| format!("Could not set: {}", behavior.name().to_string_lossy());
                self.context.set_behavior(behavior, 1).map_err(could_not)?;
            }
            (_, None) => return Err(format!("Unknown option: {statement}")),
        }
        Ok(())
    }

    fn option_with(&mut self, name: &str, value: &str, statement: &str) -> Result<(), Fault> {
        match name {
            "SERVER" => self.server(value),
            "SOCKET" => self.socket(value),
            "NAMESPACE" => self.namespace(value),
            "DISTRIBUTION" => self.distribution(value),
            "HASH" => self.hash(value),
            "FABRIC" => self.fabric(value),
            "PROGRESS" => self.progress(value),
            "REDUNDANCY" => self.redundancy(value),
            "CONFIGURE-FILE" => {
                self.context.state.file = Some(c_string(string(value)?)?);
                Ok(())
            }
            "POOL-MIN" => {
                self.context.handle.configure.initial_pool_size = self.amount(value)? as u32;
                Ok(())
            }
            "POOL-MAX" => {
                self.context.handle.configure.max_pool_size = self.amount(value)? as u32;
                Ok(())
            }
            _ => self.number(name, value, statement),
        }
    }

    fn amount(&self, value: &str) -> Result<u64, Fault> {
        number(value).ok_or_else(|| format!("Error occured while parsing ({value})"))
    }

    fn number(&mut self, name: &str, value: &str, statement: &str) -> Result<(), Fault> {
        let behavior =
            named(NUMBERS, name).ok_or_else(|| format!("Unknown option: {statement}"))?;
        let value = self.amount(value)?;
        let could_not = |_| "Unable to set behavior".to_owned();
        self.context
            .set_behavior(behavior, value)
            .map_err(could_not)
    }

    fn server(&mut self, value: &str) -> Result<(), Fault> {
        let (address, weight) = split_weight(value)?;
        let (host, port) = split_port(address)?;
        let host = word(host).ok_or_else(|| format!("Error occured while parsing ({host})"))?;
        let failed = |_| format!("Failed to add server: {host}:{port}");
        self.context
            .add_host(Some(&c_string(host)?), port, weight)
            .map_err(failed)
    }

    fn socket(&mut self, value: &str) -> Result<(), Fault> {
        let (path, weight) = split_weight(value)?;
        let path = string(path)?;
        let failed = |_| format!("Failed to add socket: {path}");
        self.context
            .add_socket(Some(&c_string(path)?), weight)
            .map_err(failed)
    }

    fn namespace(&mut self, value: &str) -> Result<(), Fault> {
        let namespace = c_string(string(value)?)?;
        if self.context.state.namespace.is_some() {
            return Err("--NAMESPACE can only be called once".to_owned());
        }
        let invalid = |code: Return| code.text().to_string_lossy().into_owned();
        self.context
            .set_namespace(Some(&namespace))
            .map_err(invalid)
    }

    fn distribution(&mut self, value: &str) -> Result<(), Fault> {
        let (name, hash) = match value.split_once(',') {
            Some((name, hash)) => (name, Some(hash)),
            None => (value, None),
        };
        let unknown = || format!("Error occured while parsing ({value})");
        let distribution = named(DISTRIBUTIONS, name).ok_or_else(unknown)?;
        let hash = match hash {
            Some(hash) => Some(named(HASHES, hash).ok_or_else(unknown)?),
            None => None,
        };
        let refused = |_| "--DISTRIBUTION can only be called once".to_owned();
        self.context
            .set_distribution(distribution)
            .map_err(refused)?;
        let unable = |_| "Unable to set the hash for the DISTRIBUTION requested".to_owned();
        hash.map_or(Ok(()), |hash| self.context.set_distribution_hash(hash))
            .map_err(unable)
    }

    fn hash(&mut self, value: &str) -> Result<(), Fault> {
        let unknown = || format!("Error occured while parsing ({value})");
        let hash = named(HASHES, value).ok_or_else(unknown)?;
        let is_set = !self.has_hash && self.context.set_key_hash(hash).is_ok();
        self.has_hash = true;
        is_set
            .then_some(())
            .ok_or_else(|| "--HASH can only be set once".to_owned())
    }

    fn fabric(&mut self, value: &str) -> Result<(), Fault> {
        let wrong = || "--FABRIC is auto, off or require".to_owned();
        self.context.state.transport = named(TRANSPORTS, value).ok_or_else(wrong)?;
        self.context.disconnect();
        Ok(())
    }

    fn redundancy(&mut self, value: &str) -> Result<(), Fault> {
        let policy = farcache_client::parse_redundancy(value);
        self.context.state.redundancy = Some(policy.map_err(|why| why.to_string())?);
        self.context.disconnect();
        Ok(())
    }

    fn progress(&mut self, value: &str) -> Result<(), Fault> {
        let wrong = || "--PROGRESS is caller or thread".to_owned();
        self.context.state.has_progress_thread = named(MOVERS, value).ok_or_else(wrong)?;
        self.context.disconnect();
        Ok(())
    }
}

/// Reads a text into a handle.
fn read(context: &mut Context<'_>, text: &[u8]) -> Result<(), Return> {
    let text = String::from_utf8_lossy(text);
    let mut reader = Reader {
        context,
        has_hash: false,
    };
    let outcome = reader.read(&text);
    outcome.map_err(|fault| context.fail(Return::PARSE_ERROR, &fault))
}

/// Reads a file, each line a text of its own.
fn read_file(context: &mut Context<'_>, name: &std::ffi::CStr) -> Result<(), Return> {
    let path = OsStr::from_bytes(name.to_bytes());
    let content = match std::fs::read(path) {
        Ok(content) => content,
        Err(error) => {
            let what = name.to_string_lossy();
            return Err(context.fail_with(Return::ERRNO, &error, &what));
        }
    };
    let lines = content.split_inclusive(|&byte| byte == b'\n');
    let mut outcome = Err(Return::INVALID_ARGUMENTS);
    for line in lines.filter(|line| *line != b"\n") {
        read(context, line)?;
        outcome = Ok(());
    }
    outcome
}

/// Reads the file that the handle's options name, if any.
fn read_file_of(context: &mut Context<'_>) -> Result<(), Return> {
    match context.state.file.clone() {
        Some(file) => read_file(context, &file),
        None => Ok(()),
    }
}

impl Context<'_> {
    /// Sets everything back to how it was made, servers and error messages included; the
    /// configuration file is read again.
    pub(crate) fn reset(&mut self) -> Result<(), Return> {
        lifecycle::renew(self);
        read_file_of(self)
    }
}

/// Makes the handle what the text says, or the environment where the text is empty.
pub(crate) fn configure(context: &mut Context<'_>, text: &[u8]) -> Result<(), Return> {
    let from_environment = match text.is_empty() {
        true => std::env::var_os(VARIABLE).unwrap_or_default(),
        false => Default::default(),
    };
    let text = if text.is_empty() {
        from_environment.as_bytes()
    } else {
        text
    };
    if text.is_empty() {
        return Ok(());
    }
    read(context, text)?;
    read_file_of(context)
}
