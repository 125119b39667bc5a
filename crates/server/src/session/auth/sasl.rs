//! SASL PLAIN. Source: RFC 4616.

use super::Users;

/// The mechanisms offered, separated by spaces.
pub(crate) const MECHANISMS: &str = "PLAIN";

/// Whether a PLAIN message (`[authzid] NUL authcid NUL passwd`) names a user and its password. Who
/// asks to act for another user is refused: there is nothing to act on behalf of here.
pub(crate) fn plain(users: &Users, message: &[u8]) -> bool {
    let mut parts = message.split(|&byte| byte == 0);
    let (Some(acts_for), Some(name), Some(password), None) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return false;
    };
    (acts_for.is_empty() || acts_for == name) && users.check(name, password)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_message_has_three_parts() {
        let path = std::env::temp_dir().join(format!("farcache-sasl-{}", std::process::id()));
        std::fs::write(&path, "anna:secret\n").unwrap();
        let users = Users::new(path.clone());
        assert!(plain(&users, b"\0anna\0secret"));
        assert!(plain(&users, b"anna\0anna\0secret"));
        for wrong in [
            &b"anna\0secret"[..],
            b"bert\0anna\0secret",
            b"\0anna\0secret\0",
            b"\0anna\0wrong",
            b"",
        ] {
            assert!(!plain(&users, wrong), "{wrong:?}");
        }
        std::fs::remove_file(path).unwrap();
    }
}
