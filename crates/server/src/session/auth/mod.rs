//! Who may use the server: SASL PLAIN on the binary protocol (`-S`), or a first `set` on the text
//! protocol (`-Y`).

mod sasl;
mod text;
mod users;

pub(crate) use sasl::{MECHANISMS, plain};
pub(crate) use text::{TextStep, text_step};
pub use users::Users;

use crate::settings::{Protocol, Settings};
use std::io;

/// What is asked of clients before they may use the server.
#[derive(Debug, Default)]
pub enum Auth {
    /// Nothing.
    #[default]
    Open,
    /// SASL on the binary protocol; the text protocol is refused.
    Sasl(Users),
    /// A `set` whose value is user and password on the text protocol; the binary one is refused.
    Text(Users),
}

impl Auth {
    /// What the operator chose. The user file is read at the first authentication or by
    /// [`Auth::load`].
    pub fn new(settings: &Settings) -> Auth {
        match &settings.auth_file {
            _ if settings.sasl => {
                Auth::Sasl(Users::new(settings.auth_file.clone().unwrap_or_default()))
            }
            Some(path) => Auth::Text(Users::new(path.clone())),
            None => Auth::Open,
        }
    }

    /// Reads the user file; a server does this at its start, to find out that it cannot.
    ///
    /// # Errors
    /// The file cannot be read or holds no user.
    pub fn load(&self) -> io::Result<()> {
        match self {
            Auth::Open => Ok(()),
            Auth::Sasl(users) | Auth::Text(users) => users.load(),
        }
    }

    /// The one protocol that clients may speak where they have to authenticate.
    pub(crate) fn protocol(&self) -> Option<Protocol> {
        match self {
            Auth::Open => None,
            Auth::Sasl(_) => Some(Protocol::Binary),
            Auth::Text(_) => Some(Protocol::Ascii),
        }
    }

    /// The users who may authenticate by SASL, if that is on.
    pub(crate) fn sasl_users(&self) -> Option<&Users> {
        match self {
            Auth::Sasl(users) => Some(users),
            _ => None,
        }
    }

    /// The users who may authenticate by a text `set`, if that is on.
    pub(crate) fn text_users(&self) -> Option<&Users> {
        match self {
            Auth::Text(users) => Some(users),
            _ => None,
        }
    }
}
