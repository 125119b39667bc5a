//! Finding UCX on this machine.

use crate::ending;
use crate::error::Error;
use crate::raw::{API_VERSION, Functions, loader_reason, ucs_status_t};
use crate::signals::SignalHandlers;
use libloading::os::unix::{self, RTLD_LOCAL, RTLD_NOW};
use std::ffi::CStr;
use std::fmt;
use std::sync::OnceLock;

/// The file that is looked for, where the dynamic loader looks for libraries.
pub const LIBRARY_FILE: &str = "libucp.so.0";

/// The package of Debian that holds it.
const PACKAGE: &str = "libucx0";

/// UCX, loaded.
///
/// One per process. It is never unloaded: UCX has threads and exit handlers of its own, which would
/// run on after its code was gone. As soon as it is loaded it reads `UCX_*` from the environment.
#[derive(Debug)]
pub struct Library {
    functions: Functions,
    version: (u32, u32, u32),
    /// Keeps the code of `functions` in memory.
    _code: unix::Library,
}

/// Why there is no UCX.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoadError {
    /// The library could not be opened; on most machines because UCX is not installed.
    Absent {
        /// The file that was looked for.
        file: String,
        /// What the dynamic loader said.
        reason: String,
    },
    /// The library lacks a function, so it is not UCX, or is too old.
    Incomplete {
        /// The file that was opened.
        file: String,
        /// The function.
        function: &'static str,
        /// What the dynamic loader said.
        reason: String,
    },
    /// UCX is of another major version, or older than [`API_VERSION`].
    Incompatible {
        /// The file that was opened.
        file: String,
        /// Its version: major, minor and release number.
        version: (u32, u32, u32),
    },
}

impl Library {
    /// UCX, loaded at the first call; later calls give the same answer.
    ///
    /// # Errors
    /// Where UCX is not installed, or is one that this crate cannot use.
    pub fn load() -> Result<&'static Library, &'static LoadError> {
        static LOADED: OnceLock<Result<Library, LoadError>> = OnceLock::new();
        LOADED.get_or_init(|| Library::open(LIBRARY_FILE)).as_ref()
    }

    fn open(file: &str) -> Result<Library, LoadError> {
        let handlers = SignalHandlers::save();
        // SAFETY: UCX's initialisers do not depend on anything of ours; should the name belong to
        // another library, the same is assumed of it, as of every installed library.
        let code = unsafe { unix::Library::open(Some(file), RTLD_NOW | RTLD_LOCAL) };
        handlers.restore();
        if code.is_ok() {
            ending::watch();
        }
        let code = code.map_err(|error| LoadError::Absent {
            file: file.into(),
            reason: loader_reason(&error),
        })?;
        // SAFETY: UCX promises its interface for this library name; it stays in `_code`.
        let functions =
            unsafe { Functions::find(&code) }.map_err(|missing| LoadError::Incomplete {
                file: file.into(),
                function: missing.name,
                reason: missing.reason,
            })?;
        let version = version(&functions);
        if !is_compatible(version) {
            return Err(LoadError::Incompatible {
                file: file.into(),
                version,
            });
        }
        Ok(Library {
            functions,
            version,
            _code: code,
        })
    }

    /// UCX's functions.
    pub fn functions(&self) -> &Functions {
        &self.functions
    }

    /// UCX's version: major, minor and release number.
    pub fn version(&self) -> (u32, u32, u32) {
        self.version
    }

    /// UCX's text for a status.
    pub fn status_text(&self, status: ucs_status_t) -> String {
        // SAFETY: it takes any code, and gives a text that ends in zero and is not freed.
        let text = unsafe { CStr::from_ptr((self.functions.ucs_status_string)(status)) };
        text.to_string_lossy().into_owned()
    }

    /// What this function has failed with, with UCX's text for the code.
    pub fn error(&self, operation: &'static str, status: ucs_status_t) -> Error {
        Error {
            operation,
            status,
            message: self.status_text(status),
        }
    }

    /// Ok for success.
    ///
    /// # Errors
    /// Any other status, with the name of the function.
    pub fn check(&self, operation: &'static str, status: ucs_status_t) -> Result<(), Error> {
        if status.is_error() {
            Err(self.error(operation, status))
        } else {
            Ok(())
        }
    }
}

fn version(functions: &Functions) -> (u32, u32, u32) {
    let (mut major, mut minor, mut release) = (0, 0, 0);
    // SAFETY: the three places outlive the call.
    unsafe { (functions.ucp_get_version)(&mut major, &mut minor, &mut release) };
    (major, minor, release)
}

fn is_compatible((major, minor, _): (u32, u32, u32)) -> bool {
    major == API_VERSION.0 && minor >= API_VERSION.1
}

impl fmt::Display for LoadError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LoadError::Absent { file, reason } => {
                write!(
                    formatter,
                    "UCX is not installed: looked for {file} ({reason}); on Debian it is the package {PACKAGE}"
                )
            }
            LoadError::Incomplete {
                file,
                function,
                reason,
            } => {
                write!(
                    formatter,
                    "UCX cannot be used: {file} lacks {function} ({reason})"
                )
            }
            LoadError::Incompatible {
                file,
                version: (major, minor, release),
            } => write!(
                formatter,
                "UCX cannot be used: {file} is version {major}.{minor}.{release}, \
                 needed is {}.{} or later of the same major version",
                API_VERSION.0, API_VERSION.1
            ),
        }
    }
}

impl std::error::Error for LoadError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_without_ucx_is_told_what_was_looked_for() {
        let error = Library::open("libucp-that-nobody-has.so.0").unwrap_err();
        assert!(matches!(&error, LoadError::Absent { .. }));
        let text = error.to_string();
        assert!(text.starts_with("UCX is not installed: looked for libucp-that-nobody-has.so.0 ("));
        assert!(text.contains("No such file"), "{text}");
        assert!(text.ends_with("the package libucx0"), "{text}");
    }

    #[test]
    fn another_library_under_its_name_is_refused() {
        let error = Library::open("libc.so.6").unwrap_err();
        let LoadError::Incomplete { file, function, .. } = error else {
            panic!("{error}")
        };
        assert_eq!(
            (file.as_str(), function),
            ("libc.so.6", "ucs_status_string")
        );
    }

    #[test]
    fn versions_from_1_13_on_will_do() {
        let good = [(1, 13, 0), (1, 13, 1), (1, 20, 0)];
        let bad = [(1, 12, 9), (0, 13, 0), (2, 0, 0)];
        assert!(good.into_iter().all(is_compatible) && !bad.into_iter().any(is_compatible));
    }
}
