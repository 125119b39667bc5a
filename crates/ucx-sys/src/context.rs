//! UCX's resources of this process.

use crate::ending::InUse;
use crate::error::Error;
use crate::library::Library;
use crate::raw::*;
use std::ffi::CString;
use std::ptr;
use std::sync::Arc;

/// The setting by which shared memory reports dead peers, under the name that `ucp_config_modify`
/// knows it by: there the parts of a transport's name that tell its kinds apart are left out.
const SHARED_MEMORY_SETTING: &str = "MM_ERROR_HANDLING";

/// The variables by which the user decides the same.
const SHARED_MEMORY_VARIABLES: &[&str] = &[
    "UCX_POSIX_ERROR_HANDLING",
    "UCX_SYSV_ERROR_HANDLING",
    "UCX_MM_ERROR_HANDLING",
];

/// The transports and devices of this process, shared by its workers. Clones are the same context;
/// it is closed when the last clone and the last worker are gone.
#[derive(Debug, Clone)]
pub struct Context {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    library: &'static Library,
    handle: ucp_context_h,
}

// SAFETY: the context is opened with `mt_workers_shared`, so UCX locks what its threads share.
unsafe impl Send for Inner {}
// SAFETY: as for Send.
unsafe impl Sync for Inner {}

impl Context {
    /// Opens the transports for active messages, one-sided access and sleeping.
    ///
    /// `settings` are names without `UCX_`, and values. A setting for which the environment has a
    /// `UCX_` variable is left to the user. So is one that is always made here: that shared memory
    /// reports dead peers. Our endpoints ask for that, and UCX would otherwise leave shared memory
    /// out without a word and take TCP, eight times slower, or find no way at all.
    ///
    /// # Errors
    /// What UCX says: no device for the transports asked for, a value that it does not understand.
    /// `UCS_ERR_INVALID_PARAM` for a name or value with a zero byte, `UCS_ERR_CANCELED` when the
    /// process is ending.
    pub fn new(library: &'static Library, settings: &[(&str, &str)]) -> Result<Context, Error> {
        let in_use = InUse::begin();
        let _in_use = in_use.ok_or_else(|| library.error("ucp_init_version", UCS_ERR_CANCELED))?;
        let config = Config::read(library)?;
        let variable = |name: &str| {
            let value = std::env::var_os(name);
            value.map(|value| value.to_string_lossy().into_owned())
        };
        for (name, value) in chosen_settings(settings, variable) {
            config.modify(name, value)?;
        }
        // SAFETY: all fields are numbers, nullable functions and pointers: zero is valid.
        let mut params: ucp_params_t = unsafe { std::mem::zeroed() };
        params.field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_MT_WORKERS_SHARED;
        params.features = UCP_FEATURE_AM | UCP_FEATURE_RMA | UCP_FEATURE_WAKEUP;
        params.mt_workers_shared = 1;
        let mut handle = ptr::null_mut();
        let (major, minor) = API_VERSION;
        let init = library.functions().ucp_init_version;
        // SAFETY: parameters and settings outlive the call, which writes the handle on success.
        let status = unsafe { init(major, minor, &params, config.handle, &mut handle) };
        library.check("ucp_init_version", status)?;
        Ok(Context {
            inner: Arc::new(Inner { library, handle }),
        })
    }

    /// The library that it was opened with.
    pub fn library(&self) -> &'static Library {
        self.inner.library
    }

    /// For calls through [`Library::functions`]; valid while this context or a worker of it lives.
    pub fn handle(&self) -> ucp_context_h {
        self.inner.handle
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        let Some(_in_use) = InUse::begin() else {
            return;
        };
        // SAFETY: workers hold this value, so none is left, and it is given up once.
        unsafe { (self.library.functions().ucp_cleanup)(self.handle) };
    }
}

/// The settings to make: those wanted that the user's variables leave open, and the one for shared
/// memory where that may be used (UCX warns of settings for what is not in use).
fn chosen_settings<'a>(
    wanted: &[(&'a str, &'a str)],
    variable: impl Fn(&str) -> Option<String>,
) -> Vec<(&'a str, &'a str)> {
    let is_open = |(name, _): &&(&str, &str)| variable(&format!("UCX_{name}")).is_none();
    let mut chosen: Vec<_> = wanted.iter().filter(is_open).copied().collect();
    let ours = chosen
        .iter()
        .find_map(|(name, value)| (*name == "TLS").then(|| value.to_string()));
    let transports = variable("UCX_TLS").or(ours);
    let is_decided = SHARED_MEMORY_VARIABLES
        .iter()
        .any(|name| variable(name).is_some());
    if !is_decided && transports.as_deref().is_none_or(may_be_shared_memory) {
        chosen.push((SHARED_MEMORY_SETTING, "y"));
    }
    chosen
}

/// Whether a list of transports, as in `UCX_TLS`, has one of shared memory in it.
fn may_be_shared_memory(transports: &str) -> bool {
    let names = ["all", "sm", "shm", "mm", "posix", "sysv"];
    transports.starts_with('^')
        || transports
            .split(',')
            .any(|name| names.contains(&name.trim()))
}

/// UCX's settings, as read from the environment.
struct Config {
    library: &'static Library,
    handle: ucp_config_h,
}

impl Config {
    fn read(library: &'static Library) -> Result<Config, Error> {
        let mut handle = ptr::null_mut();
        // SAFETY: null asks for the usual prefix and files; the handle is written on success.
        let status =
            unsafe { (library.functions().ucp_config_read)(ptr::null(), ptr::null(), &mut handle) };
        library.check("ucp_config_read", status)?;
        Ok(Config { library, handle })
    }

    fn modify(&self, name: &str, value: &str) -> Result<(), Error> {
        let (name, value) = (self.text(name)?, self.text(value)?);
        let modify = self.library.functions().ucp_config_modify;
        // SAFETY: both texts end in zero and outlive the call, which copies them.
        let status = unsafe { modify(self.handle, name.as_ptr(), value.as_ptr()) };
        self.library.check("ucp_config_modify", status)
    }

    fn text(&self, text: &str) -> Result<CString, Error> {
        CString::new(text).map_err(|_| {
            self.library
                .error("ucp_config_modify", UCS_ERR_INVALID_PARAM)
        })
    }
}

impl Drop for Config {
    fn drop(&mut self) {
        // SAFETY: read by `read`, released once.
        unsafe { (self.library.functions().ucp_config_release)(self.handle) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is chosen where the user has set these variables.
    fn chosen<'a>(
        wanted: &[(&'a str, &'a str)],
        variables: &[(&str, &str)],
    ) -> Vec<(&'a str, &'a str)> {
        chosen_settings(wanted, |name| {
            let found = variables.iter().find(|(variable, _)| *variable == name);
            found.map(|(_, value)| value.to_string())
        })
    }

    #[test]
    fn shared_memory_is_told_to_report_dead_peers() {
        assert_eq!(chosen(&[], &[]), [(SHARED_MEMORY_SETTING, "y")]);
    }

    #[test]
    fn the_users_settings_stand() {
        let wanted = [("TLS", "posix"), ("KEEPALIVE_INTERVAL", "1s")];
        let variables = [
            ("UCX_KEEPALIVE_INTERVAL", "9s"),
            ("UCX_POSIX_ERROR_HANDLING", "n"),
        ];
        assert_eq!(chosen(&wanted, &variables), [("TLS", "posix")]);
    }

    #[test]
    fn nothing_is_said_of_shared_memory_where_it_is_not_used() {
        let ours = (SHARED_MEMORY_SETTING, "y");
        assert!(!chosen(&[("TLS", "self,tcp")], &[]).contains(&ours));
        assert!(!chosen(&[("TLS", "all")], &[("UCX_TLS", "rc_verbs,self")]).contains(&ours));
        assert!(chosen(&[("TLS", "self,tcp")], &[("UCX_TLS", "self, posix")]).contains(&ours));
        assert!(chosen(&[("TLS", "^tcp")], &[]).contains(&ours));
    }
}
