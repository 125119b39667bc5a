//! SASL PLAIN. Source: RFC 4616.

/// The mechanisms offered, separated by spaces.
pub(crate) const MECHANISMS: &str = "PLAIN";

/// Whether a PLAIN message (`[authzid] NUL authcid NUL passwd`) names a user and its password. Who
/// asks to act for another user is refused: there is nothing to act on behalf of here.
pub(crate) fn plain(is_user: impl Fn(&[u8], &[u8]) -> bool, message: &[u8]) -> bool {
    let mut parts = message.split(|&byte| byte == 0);
    let (Some(acts_for), Some(name), Some(password), None) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return false;
    };
    (acts_for.is_empty() || acts_for == name) && is_user(name, password)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_message_has_three_parts() {
        let is_anna = |name: &[u8], password: &[u8]| name == b"anna" && password == b"secret";
        assert!(plain(is_anna, b"\0anna\0secret"));
        assert!(plain(is_anna, b"anna\0anna\0secret"));
        for wrong in [
            &b"anna\0secret"[..],
            b"bert\0anna\0secret",
            b"\0anna\0secret\0",
            b"\0anna\0wrong",
            b"",
        ] {
            assert!(!plain(is_anna, wrong), "{wrong:?}");
        }
    }
}
