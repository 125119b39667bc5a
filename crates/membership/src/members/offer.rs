//! What a running server says of itself, under a key that lives as long as its lease.

use farcache_cluster::Address;
use farcache_cluster::ServerId;
use farcache_cluster::map::{Epoch, Incarnation, Name};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Longest text of an offer that is read, in bytes.
pub const OFFER_BYTES_MAX: usize = 4096;

/// Most senders of which one offer tells; those beyond are told of when these are done.
const RECEIVED_MAX: usize = 200;

/// What a server has done about the moves of a map.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// All of the server goes by the map of this epoch.
    pub epoch: Epoch,
    /// The old owners from which nothing more will come, of the moves that this very map lists as
    /// `streaming` to the server.
    pub received: Vec<ServerId>,
}

/// A server that runs, and how it wants to stand in the map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    /// Which process it is: a random word. Of two with one address the later one counts.
    pub session: String,
    /// Which life of the server it is.
    pub life: Incarnation,
    /// Where it is reached, and the name by which the map knows it again.
    pub address: Address,
    /// The share of the keys that it wants, at least 1.
    pub weight: u32,
    /// What it may fail together with.
    pub zone: Option<Name>,
    /// The epoch of the map that it had when it made the offer; 0 without one.
    pub held: Epoch,
    /// It stops in order: others may have its keys at once.
    pub is_leaving: bool,
    /// What it has done about moves.
    pub done: Done,
}

/// Why a text is no offer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidOffer(String);

impl fmt::Display for InvalidOffer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for InvalidOffer {}

/// The form in JSON. Members that are not known are ignored: newer servers may say more.
#[derive(Serialize, Deserialize)]
struct Written {
    session: String,
    life: u64,
    address: String,
    weight: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    zone: Option<String>,
    #[serde(default)]
    held: u64,
    #[serde(default)]
    leaving: bool,
    #[serde(default)]
    follows: u64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    received: Vec<u32>,
}

impl Offer {
    /// Reads an offer.
    ///
    /// # Errors
    /// What is wrong with the text.
    pub fn read(text: &[u8]) -> Result<Self, InvalidOffer> {
        let invalid = |reason: &dyn fmt::Display| InvalidOffer(reason.to_string());
        if text.len() > OFFER_BYTES_MAX {
            return Err(invalid(&"it is too long"));
        }
        let written: Written = serde_json::from_slice(text).map_err(|error| invalid(&error))?;
        let is_word = |byte: u8| byte.is_ascii_graphic() && byte != b',';
        if !written.address.bytes().all(is_word) {
            return Err(invalid(&"its address is no word"));
        }
        let address = written.address.parse().map_err(|error| invalid(&error))?;
        let zone = written.zone.map(|zone| zone.parse()).transpose();
        let offer = Self {
            session: written.session,
            life: Incarnation(written.life),
            address,
            weight: written.weight,
            zone: zone.map_err(|error| invalid(&error))?,
            held: Epoch(written.held),
            is_leaving: written.leaving,
            done: Done {
                epoch: Epoch(written.follows),
                received: written.received.into_iter().map(ServerId).collect(),
            },
        };
        match () {
            () if offer.weight == 0 => Err(invalid(&"it has weight 0")),
            () if offer.life.0 == 0 => Err(invalid(&"it has no life")),
            () => Ok(offer),
        }
    }

    /// The text that [`read`](Self::read) reads.
    ///
    /// # Panics
    /// Never: what an offer says can be written.
    #[must_use]
    pub fn written(&self) -> String {
        let received = self.done.received.iter().take(RECEIVED_MAX);
        let written = Written {
            session: self.session.clone(),
            life: self.life.0,
            address: self.address.to_string(),
            weight: self.weight,
            zone: self.zone.as_ref().map(Name::to_string),
            held: self.held.0,
            leaving: self.is_leaving,
            follows: self.done.epoch.0,
            received: received.map(|server| server.0).collect(),
        };
        serde_json::to_string(&written).expect("strings and numbers can be written")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offer() -> Offer {
        Offer {
            session: "5eed".to_owned(),
            life: Incarnation(3),
            address: "[fd00::1]:11211".parse().expect("an address"),
            weight: 2,
            zone: Some("rack-a".parse().expect("a name")),
            held: Epoch(7),
            is_leaving: true,
            done: Done {
                epoch: Epoch(6),
                received: vec![ServerId(2), ServerId(9)],
            },
        }
    }

    #[test]
    fn an_offer_is_read_as_it_was_written() {
        let plain = Offer {
            zone: None,
            is_leaving: false,
            done: Done::default(),
            ..offer()
        };
        for offer in [offer(), plain] {
            assert_eq!(Offer::read(offer.written().as_bytes()), Ok(offer));
        }
    }

    #[test]
    fn what_newer_servers_add_is_ignored() {
        let text = r#"{"session":"s","life":1,"address":"a:1","weight":1,"colour":"red"}"#;
        let read = Offer::read(text.as_bytes()).expect("an offer");
        assert_eq!((read.held, read.is_leaving), (Epoch(0), false));
    }

    #[test]
    fn what_is_no_offer_is_refused() {
        let text = |life: u64, address: &str, weight: u32, zone: &str| {
            let numbers = format!(r#""life":{life},"weight":{weight}"#);
            format!(r#"{{"session":"s",{numbers},"address":"{address}","zone":{zone}}}"#)
        };
        assert!(Offer::read(text(1, "a:1", 1, "null").as_bytes()).is_ok());
        for wrong in [
            String::new(),
            "{}".to_owned(),
            text(0, "a:1", 1, "null"),
            text(1, "a b:1", 1, "null"),
            text(1, "a:b", 1, "null"),
            text(1, "a:1", 0, "null"),
            text(1, "a:1", 1, r#""-""#),
            text(1, "a:1", 1, "null") + &" ".repeat(OFFER_BYTES_MAX),
        ] {
            assert!(Offer::read(wrong.as_bytes()).is_err(), "{wrong}");
        }
    }
}
