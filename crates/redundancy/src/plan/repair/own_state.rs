//! How this server stands.

use crate::Version;

/// How this server stands when a pass begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OwnState {
    /// It may lack what it has acknowledged, or have what was overwritten.
    pub is_catching_up: bool,
    /// Writers of versions up to this one had ended when it began to catch up. Others may have
    /// begun without this server, and take effect at the other owners only.
    pub ended_at_return: Option<Version>,
    /// Up to which version it has forgotten keys.
    pub horizon: Option<Version>,
    /// It has evicted values: what it lacks may be among them, and need not come back.
    pub has_evicted: bool,
    /// Writers of versions above this one may still be at work, and go above what too few have
    /// accepted; none where no writer is.
    pub ended: Option<Version>,
}

impl OwnState {
    /// Whether whoever wrote this version has given up or been acknowledged.
    pub(super) fn has_ended(&self, version: Version) -> bool {
        self.ended.is_none_or(|ended| version <= ended)
    }

    /// Whether the server lacks this version because it has forgotten it, or something newer.
    /// Where many have it, nothing newer was acknowledged.
    pub(super) fn has_forgotten(&self, version: Version, holders_are_few: bool) -> bool {
        let is_below = !self.is_catching_up && self.horizon >= Some(version);
        is_below && (self.has_evicted || holders_are_few)
    }
}
