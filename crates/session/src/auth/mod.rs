//! How clients authenticate: by SASL PLAIN in the binary protocol (`-S`), or by a first `set` in
//! the text protocol (`-Y`). Who the users are is the host's affair.

mod sasl;
mod text;

pub(crate) use sasl::{MECHANISMS, plain};
pub(crate) use text::{TextStep, text_step};

use crate::Protocol;

/// What is asked of clients before they may use the server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Auth {
    /// Nothing.
    #[default]
    Open,
    /// SASL on the binary protocol; the text protocol is refused.
    Sasl,
    /// A `set` whose value is user and password on the text protocol; the binary one is refused.
    Text,
}

impl Auth {
    /// The one protocol that clients may speak where they have to authenticate.
    pub fn protocol(self) -> Option<Protocol> {
        match self {
            Auth::Open => None,
            Auth::Sasl => Some(Protocol::Binary),
            Auth::Text => Some(Protocol::Ascii),
        }
    }
}
