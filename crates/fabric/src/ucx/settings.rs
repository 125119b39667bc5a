//! What UCX is told.

use std::path::Path;

/// Where Linux lists devices that speak verbs.
const VERBS_DEVICES: &str = "/sys/class/infiniband";

/// The user's choice, as far as it is not made by `UCX_*` variables.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// UCX's settings by name without `UCX_`, and their values, such as `("TLS", "tcp,self")`.
    pub ucx: Vec<(String, String)>,
}

impl Settings {
    /// These settings, given in a program.
    pub fn new(ucx: &[(&str, &str)]) -> Settings {
        let owned = |(name, value): &(&str, &str)| (name.to_string(), value.to_string());
        Settings {
            ucx: ucx.iter().map(owned).collect(),
        }
    }

    /// These settings, and those defaults that they leave open.
    pub(super) fn list(self, defaults: Vec<(&str, &str)>) -> Vec<(String, String)> {
        let mut list = self.ucx;
        for (name, value) in defaults {
            if list.iter().all(|(chosen, _)| chosen != name) {
                list.push((name.into(), value.into()));
            }
        }
        list
    }
}

/// How dead peers are noticed unless somebody says otherwise, by UCX's version.
pub(super) fn defaults(version: (u32, u32, u32)) -> Vec<(&'static str, &'static str)> {
    let has_verbs = Path::new(VERBS_DEVICES)
        .read_dir()
        .is_ok_and(|mut devices| devices.next().is_some());
    defaults_for(version, has_verbs)
}

/// Keeping endpoints alive costs a message a second each, and notices an idle peer's death in about
/// two. Over verbs UCX before 1.14 aborts when such an endpoint is closed before it is wired up
/// (docs/journal/2026-11-22-closing-before-wire-up.md); there the life line must do. UCX's own limits for
/// unanswered verbs are tens of seconds; these come to about two.
fn defaults_for(version: (u32, u32, u32), has_verbs: bool) -> Vec<(&'static str, &'static str)> {
    let keeps_alive = !has_verbs || (version.0, version.1) >= (1, 14);
    let mut settings = vec![("KEEPALIVE_INTERVAL", if keeps_alive { "1s" } else { "inf" })];
    if has_verbs {
        settings.push(("RC_TIMEOUT", "100ms"));
        settings.push(("RC_RETRY_COUNT", "3"));
        settings.push(("UD_TIMEOUT", "4s"));
    }
    settings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_goes_before_defaults() {
        let settings = Settings::new(&[("RC_TIMEOUT", "7s"), ("TLS", "tcp")]);
        let list = settings.list(defaults_for((1, 13, 1), true));
        let value = |name| {
            let found = list.iter().find(|(known, _)| known == name);
            found.map(|(_, value)| value.as_str())
        };
        assert_eq!(value("RC_TIMEOUT"), Some("7s"));
        assert_eq!(value("TLS"), Some("tcp"));
        assert_eq!(value("KEEPALIVE_INTERVAL"), Some("inf"));
        assert_eq!(list.len(), 5);
    }

    #[test]
    fn endpoints_are_kept_alive_where_that_does_not_abort() {
        assert_eq!(
            defaults_for((1, 13, 1), false),
            [("KEEPALIVE_INTERVAL", "1s")]
        );
        assert!(defaults_for((1, 14, 0), true).contains(&("KEEPALIVE_INTERVAL", "1s")));
        assert!(defaults_for((1, 13, 9), true).contains(&("KEEPALIVE_INTERVAL", "inf")));
    }
}
