//! Putting a manifest into its place.

use crate::access::{Access, Placed, of_manifest};
use crate::patience::Patience;
use crate::{Error, Manifest};
use farcache_client::Error::{Exists, NotFound, NotStored};

/// What one writer has put into the place of its blob's manifest, by compare-and-swap: so each
/// manifest is replaced by one writer only, whether its key lies on one server or on several.
pub(crate) struct Publication {
    access: Access,
    name: Box<str>,
    key: String,
    published: Option<Manifest>,
    /// What stood where the last manifest was sent to: what it has replaced, if it is there.
    found: Option<Manifest>,
}

impl Publication {
    /// Nothing is there yet.
    pub fn new(access: &Access, name: &str, key: String) -> Self {
        Publication {
            access: access.clone(),
            name: name.into(),
            key,
            published: None,
            found: None,
        }
    }

    /// What was put there last.
    pub fn published(&self) -> Option<&Manifest> {
        self.published.as_ref()
    }

    /// Puts a manifest there, and removes the chunks of another write that was there. Each manifest
    /// is replaced by one writer only, which is the one to remove its chunks.
    ///
    /// # Errors
    /// [`Error::Request`]; [`Error::Replaced`] where something was published, and is not there.
    pub fn place(&mut self, manifest: &Manifest) -> Result<(), Error> {
        let mut patience = Patience::new(self.access.settings.patience);
        let has_copies = self.access.client.has_redundancy(self.key.as_bytes());
        loop {
            let error = match self.try_to_place(manifest) {
                Ok(()) => break,
                Err(Error::Request {
                    error: Exists | NotFound | NotStored,
                    ..
                }) => continue,
                Err(Error::Request { error, .. }) => error,
                Err(other) => return Err(other),
            };
            let Some(pause) = patience.pause_after(&error, has_copies) else {
                return Err(of_manifest(&self.name, error));
            };
            self.access.client.pause(pause);
        }
        self.published = Some(manifest.clone());
        let is_other = |former: &Manifest| former.write() != manifest.write();
        let other = self.found.take().filter(is_other);
        other.inspect(|other| self.access.remove_chunks_of(other));
        Ok(())
    }

    /// `Exists`, `NotFound` and `NotStored` say that somebody else was faster: this one comes after
    /// it.
    fn try_to_place(&mut self, manifest: &Manifest) -> Result<(), Error> {
        let placed = self.access.placed(&self.name, &self.key)?;
        let now = placed.as_ref().and_then(|placed| placed.manifest.as_ref());
        if now == Some(manifest) {
            // An earlier attempt whose answer was lost.
            return Ok(());
        }
        let is_own = |it: &Placed| it.writes(manifest);
        if self.published.is_some() && !placed.as_ref().is_some_and(is_own) {
            return Err(Error::Replaced(self.name.clone()));
        }
        self.found = now.cloned();
        let (client, key, bytes) = (&self.access.client, &self.key, manifest.to_bytes());
        let stored = match &placed {
            None => client.add(key, bytes, 0),
            Some(placed) => client.cas(key, bytes, 0, placed.cas),
        };
        match stored.map_err(|error| of_manifest(&self.name, error)) {
            Err(error) if error.may_have_happened() && self.is_there(manifest) => Ok(()),
            stored => stored.map(drop),
        }
    }

    fn is_there(&self, manifest: &Manifest) -> bool {
        let placed = self.access.placed(&self.name, &self.key);
        let is_it = |placed: Placed| placed.manifest.as_ref() == Some(manifest);
        placed.is_ok_and(|placed| placed.is_some_and(is_it))
    }
}
