//! What is measured.

use crate::sizes::size_text;
use serde::{Deserialize, Serialize};

/// Bytes of a binary GET request with a key of 16 bytes.
pub const GET_REQUEST_BYTES: usize = 24 + 16;
/// Bytes in front of the value in the binary reply to a GET: header and flags.
pub const GET_REPLY_HEAD_BYTES: usize = 24 + 4;
/// Bytes in front of the value in a binary SET request: header, flags and expiry, key.
pub const SET_REQUEST_HEAD_BYTES: usize = 24 + 8 + 16;
/// Bytes of the binary reply to a SET.
pub const SET_REPLY_BYTES: usize = 24;

/// Which way the value goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Operation {
    /// Small request, the value in the reply.
    Get,
    /// The value in the request, small reply.
    Set,
}

/// One measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scenario {
    /// Which way the value goes.
    pub operation: Operation,
    /// Size of a value, in bytes.
    pub value_bytes: usize,
    /// Keys whose requests, and whose replies, travel in one message.
    pub keys_per_message: usize,
    /// Messages without their reply at any time.
    pub window: usize,
}

impl Scenario {
    /// One value at a time.
    pub fn solo(operation: Operation, value_bytes: usize) -> Self {
        Scenario {
            operation,
            value_bytes,
            keys_per_message: 1,
            window: 1,
        }
    }

    /// Length of a request message's body.
    pub fn request_bytes(&self) -> usize {
        let each = match self.operation {
            Operation::Get => GET_REQUEST_BYTES,
            Operation::Set => SET_REQUEST_HEAD_BYTES + self.value_bytes,
        };
        each * self.keys_per_message
    }

    /// Length of a reply message's body.
    pub fn reply_bytes(&self) -> usize {
        let each = match self.operation {
            Operation::Get => GET_REPLY_HEAD_BYTES + self.value_bytes,
            Operation::Set => SET_REPLY_BYTES,
        };
        each * self.keys_per_message
    }

    /// For people.
    pub fn title(&self) -> String {
        let name = match self.operation {
            Operation::Get => "GET",
            Operation::Set => "SET",
        };
        let mut title = format!("{name} {}", size_text(self.value_bytes));
        if self.keys_per_message > 1 {
            title += &format!(", {} keys per message", self.keys_per_message);
        }
        if self.window > 1 {
            title += &format!(", {} outstanding", self.window);
        }
        title
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_carry_what_the_binary_protocol_would() {
        let batch = Scenario {
            keys_per_message: 48,
            window: 8,
            ..Scenario::solo(Operation::Get, 64)
        };
        assert_eq!(
            (batch.request_bytes(), batch.reply_bytes()),
            (48 * 40, 48 * 92)
        );
        assert_eq!(
            batch.title(),
            "GET 64 B, 48 keys per message, 8 outstanding"
        );
        let set = Scenario::solo(Operation::Set, 1 << 20);
        assert_eq!(
            (set.request_bytes(), set.reply_bytes()),
            ((1 << 20) + 48, 24)
        );
    }
}
