//! Handles made by a text: `--SERVER=host:port --BINARY-PROTOCOL ...`,
//! libmemcached_configuration(3).

use crate::context::Context;
use crate::lifecycle;
use farcache_client::Transport;
use farcache_libmemcached_abi::{
    Behavior, DEFAULT_PORT, Distribution, HashAlgorithm, Return, flags,
};
use std::ffi::{CString, OsStr};
use std::os::unix::ffi::OsStrExt;

/// Names a text where the application gave none.
const VARIABLE: &str = "LIBMEMCACHED";

/// Options that are switched on by being there.
const SWITCHES: &[(&str, Behavior)] = &[
    ("BINARY-PROTOCOL", Behavior::BINARY_PROTOCOL),
    ("BUFFER-REQUESTS", Behavior::BUFFER_REQUESTS),
    ("HASH-WITH-NAMESPACE", Behavior::HASH_WITH_PREFIX_KEY),
    ("META-PROTOCOL", Behavior::META_PROTOCOL),
    ("NOREPLY", Behavior::NOREPLY),
    ("RANDOMIZE-REPLICA-READ", Behavior::RANDOMIZE_REPLICA_READ),
    ("SORT-HOSTS", Behavior::SORT_HOSTS),
    ("SUPPORT-CAS", Behavior::SUPPORT_CAS),
    ("TCP-KEEPALIVE", Behavior::TCP_KEEPALIVE),
    ("TCP-KEEPIDLE", Behavior::TCP_KEEPIDLE),
    ("TCP-NODELAY", Behavior::TCP_NODELAY),
    ("USE-UDP", Behavior::USE_UDP),
    ("VERIFY-KEY", Behavior::VERIFY_KEY),
];

/// Options with a number.
const NUMBERS: &[(&str, Behavior)] = &[
    ("CONNECT-TIMEOUT", Behavior::CONNECT_TIMEOUT),
    ("IO-BYTES-WATERMARK", Behavior::IO_BYTES_WATERMARK),
    ("IO-KEY-PREFETCH", Behavior::IO_KEY_PREFETCH),
    ("IO-MSG-WATERMARK", Behavior::IO_MSG_WATERMARK),
    ("NUMBER-OF-REPLICAS", Behavior::NUMBER_OF_REPLICAS),
    ("POLL-TIMEOUT", Behavior::POLL_TIMEOUT),
    ("RCV-TIMEOUT", Behavior::RCV_TIMEOUT),
    ("REMOVE-FAILED-SERVERS", Behavior::REMOVE_FAILED_SERVERS),
    ("RETRY-TIMEOUT", Behavior::RETRY_TIMEOUT),
    ("SND-TIMEOUT", Behavior::SND_TIMEOUT),
    ("SOCKET-RECV-SIZE", Behavior::SOCKET_RECV_SIZE),
    ("SOCKET-SEND-SIZE", Behavior::SOCKET_SEND_SIZE),
];

/// Hash functions that a text may name: MurmurHash3 and the default are not among libmemcached's.
const HASHES: &[(&str, HashAlgorithm)] = &[
    ("MD5", HashAlgorithm::MD5),
    ("CRC", HashAlgorithm::CRC),
    ("FNV1_64", HashAlgorithm::FNV1_64),
    ("FNV1A_64", HashAlgorithm::FNV1A_64),
    ("FNV1_32", HashAlgorithm::FNV1_32),
    ("FNV1A_32", HashAlgorithm::FNV1A_32),
    ("HSIEH", HashAlgorithm::HSIEH),
    ("MURMUR", HashAlgorithm::MURMUR),
    ("JENKINS", HashAlgorithm::JENKINS),
];

const DISTRIBUTIONS: &[(&str, Distribution)] = &[
    ("CONSISTENT", Distribution::CONSISTENT),
    ("MODULA", Distribution::MODULA),
    ("RANDOM", Distribution::RANDOM),
];

const TRANSPORTS: &[(&str, Transport)] = &[
    ("auto", Transport::Auto),
    ("off", Transport::Tcp),
    ("require", Transport::Fabric),
];

/// Who moves non-blocking operations on, and whether that is a thread.
const MOVERS: &[(&str, bool)] = &[("caller", false), ("thread", true)];

fn named<T: Copy>(table: &[(&str, T)], name: &str) -> Option<T> {
    let is_it = |(known, _): &&(&str, T)| known.eq_ignore_ascii_case(name);
    table.iter().find(is_it).map(|(_, value)| *value)
}

/// Why a text cannot be read.
type Fault = String;

/// The statements of a text, which stand between single spaces. Tabulators and ends of lines do not
/// count.
fn statements(text: &str) -> Vec<String> {
    let mut found = vec![String::new()];
    let mut is_quoted = false;
    for character in text.chars() {
        match character {
            '\t' | '\r' | '\n' if !is_quoted => continue,
            ' ' if !is_quoted => {
                found.push(String::new());
                continue;
            }
            '"' => is_quoted = !is_quoted,
            _ => {}
        }
        if let Some(last) = found.last_mut() {
            last.push(character);
        }
    }
    found
}

/// A string of an option: in quotes, or of at least three letters, digits, dots, underlines and
/// hyphens.
fn string(text: &str) -> Result<&str, Fault> {
    if let Some(quoted) = text.strip_prefix('"') {
        return quoted
            .strip_suffix('"')
            .ok_or_else(|| "a quote is missing".to_owned());
    }
    word(text).ok_or_else(|| format!("Error occured while parsing ({text})"))
}

/// A word as libmemcached reads it, which names hosts as well.
fn word(text: &str) -> Option<&str> {
    let is_inner = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
    let (first, last) = (text.bytes().next()?, text.bytes().next_back()?);
    let fits = text.len() >= 3
        && first.is_ascii_alphanumeric()
        && last.is_ascii_alphanumeric()
        && text.bytes().all(is_inner);
    fits.then_some(text)
}

/// What C's `atoi` makes of digits; `None` of anything else.
fn number(text: &str) -> Option<u64> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse::<u64>().unwrap_or(u64::MAX))
}

/// Takes `/?weight` off the end.
fn split_weight(text: &str) -> Result<(&str, u32), Fault> {
    match text.split_once("/?") {
        None => Ok((text, 1)),
        Some((rest, weight)) => {
            let fits = number(weight).filter(|_| weight.len() <= 5);
            let weight = fits.ok_or_else(|| format!("Error occured while parsing ({weight})"))?;
            Ok((rest, weight as u32))
        }
    }
}

/// Takes `:port` off the end.
fn split_port(text: &str) -> Result<(&str, u16), Fault> {
    match text.split_once(':') {
        None => Ok((text, DEFAULT_PORT)),
        Some((host, port)) => {
            let fits = number(port).filter(|_| port.len() <= 5);
            let port = fits.ok_or_else(|| format!("Error occured while parsing ({port})"))?;
            Ok((host, port as u16))
        }
    }
}

fn c_string(text: &str) -> Result<CString, Fault> {
    CString::new(text).map_err(|_| "a zero byte".to_owned())
}

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
