//! What lies on one device.

use super::Unusable;
use crate::device::{BUFFER_ALIGNMENT, Buffer, Device, is_blank};
use crate::format::{FORMAT_VERSION, SUPERBLOCK_BYTES, SUPERBLOCK_COPIES, Superblock};
use std::io;

/// What lies on a device.
#[derive(Debug)]
pub(super) enum Content {
    /// It belongs, belonged or was to belong to a store.
    Ours(Box<Ours>),
    /// Nothing.
    Blank,
    /// What is not to be overwritten without permission.
    Other(Unusable),
}

/// A superblock as it was found.
#[derive(Clone, Debug)]
pub(super) struct Ours {
    pub superblock: Superblock,
    /// The newest copy of it.
    pub copy: usize,
    /// Whether both copies say the same.
    pub is_whole: bool,
}

impl Content {
    /// Looks at a device.
    ///
    /// # Errors
    /// The device's, where no copy of a superblock can be read.
    pub fn of(device: &dyn Device) -> io::Result<Content> {
        let mut buffer = Buffer::new(SUPERBLOCK_BYTES);
        let mut copies = [None, None];
        let (mut version, mut failure) = (None, None);
        for (copy, offset) in SUPERBLOCK_COPIES.into_iter().enumerate() {
            match device.read_at(&mut buffer, offset) {
                Ok(()) => {
                    copies[copy] = Superblock::decode(&buffer);
                    version = version.or(Superblock::version_of(&buffer));
                }
                Err(error) => failure = Some(error),
            }
        }
        if let Some(ours) = newest(copies) {
            return Ok(Content::Ours(Box::new(ours)));
        }
        if let Some(error) = failure {
            let message = format!("{} cannot be read: {error}", device.name());
            return Err(io::Error::new(error.kind(), message));
        }
        match version {
            Some(FORMAT_VERSION) => Ok(Content::Other(Unusable::Damaged)),
            Some(version) => Ok(Content::Other(Unusable::OtherVersion(version))),
            None => without_superblock(device),
        }
    }

    /// The superblock of a device that belongs or belonged to a store.
    pub fn full(&self) -> Option<&Ours> {
        self.ours().filter(|ours| !ours.superblock.is_joining())
    }

    /// The superblock.
    pub fn ours(&self) -> Option<&Ours> {
        match self {
            Content::Ours(ours) => Some(ours),
            _ => None,
        }
    }
}

fn newest(copies: [Option<Superblock>; 2]) -> Option<Ours> {
    let is_whole = copies[0].is_some() && copies[0] == copies[1];
    let age = |one: &Superblock| (one.epoch, !one.is_joining(), one.watermark);
    let found = copies.into_iter().enumerate();
    let found = found.filter_map(|(copy, superblock)| Some((copy, superblock?)));
    let (copy, superblock) = found.max_by_key(|(_, superblock)| age(superblock))?;
    Some(Ours {
        superblock,
        copy,
        is_whole,
    })
}

fn without_superblock(device: &dyn Device) -> io::Result<Content> {
    if let Some(known) = device.known_content() {
        return Ok(Content::Other(Unusable::Foreign(known)));
    }
    let mut buffer = Buffer::new(BUFFER_ALIGNMENT);
    let blank = is_blank(&mut buffer, device.bytes(), |part, offset| {
        device.read_at(part, offset)
    })?;
    Ok(match blank {
        true => Content::Blank,
        false => Content::Other(Unusable::Foreign("data of an unknown kind".into())),
    })
}
