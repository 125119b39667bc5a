//! What a port takes of messages that come whole.

/// How long a message may be that comes whole. A longer one is not put together: it comes without
/// its body, and whoever gets it knows by its frame how long that was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most bytes of any message, its head included.
    pub message_bytes_max: usize,
    /// Most bytes of a message with a head that carries the key of a session: a value with its
    /// packet.
    pub value_bytes_max: usize,
}

impl Default for Limits {
    /// None.
    fn default() -> Self {
        Limits {
            message_bytes_max: usize::MAX,
            value_bytes_max: usize::MAX,
        }
    }
}

impl Limits {
    /// Whether a message may be so long, in parts, `is_known` being whether it carries the key of a
    /// session.
    #[inline]
    pub(crate) fn allow(&self, head: &[u8], body: &[u8], is_known: impl FnOnce() -> bool) -> bool {
        let bytes = head.len() + body.len();
        bytes <= self.message_bytes_max
            || (!head.is_empty() && bytes <= self.value_bytes_max && is_known())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_values_of_sessions_may_be_longer_than_messages() {
        let limits = Limits {
            message_bytes_max: 10,
            value_bytes_max: 20,
        };
        let body = [0; 20];
        assert!(limits.allow(b"", &body[..10], || false));
        assert!(!limits.allow(b"", &body[..11], || true));
        assert!(limits.allow(b"head", &body[..16], || true));
        assert!(!limits.allow(b"head", &body[..16], || false));
        assert!(!limits.allow(b"head", &body[..17], || true));
    }
}
