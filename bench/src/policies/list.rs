//! Lists of objects, linked by their numbers: each object stands in one list at most.

use crate::traces::ObjectId;

/// No object.
const NONE: ObjectId = ObjectId::MAX;

/// What links the objects, and their sizes.
pub struct Objects {
    newer: Vec<ObjectId>,
    older: Vec<ObjectId>,
    bytes: Vec<u64>,
}

impl Objects {
    /// Links for objects numbered below `objects`.
    pub fn new(objects: u32) -> Objects {
        Objects {
            newer: vec![NONE; objects as usize],
            older: vec![NONE; objects as usize],
            bytes: vec![0; objects as usize],
        }
    }

    /// The next newer object in its list.
    pub fn newer(&self, object: ObjectId) -> Option<ObjectId> {
        some(self.newer[object as usize])
    }
}

fn some(object: ObjectId) -> Option<ObjectId> {
    (object != NONE).then_some(object)
}

/// One list, from the newest to the oldest.
pub struct List {
    newest: ObjectId,
    oldest: ObjectId,
    bytes: u64,
    objects: u64,
}

impl Default for List {
    fn default() -> Self {
        List {
            newest: NONE,
            oldest: NONE,
            bytes: 0,
            objects: 0,
        }
    }
}

impl List {
    /// Bytes of all objects in it.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Objects in it.
    pub fn len(&self) -> u64 {
        self.objects
    }

    /// The oldest object.
    pub fn oldest(&self) -> Option<ObjectId> {
        some(self.oldest)
    }

    /// Adds an object, which stands in no list, as the newest.
    pub fn push(&mut self, all: &mut Objects, object: ObjectId, bytes: u64) {
        let index = object as usize;
        all.bytes[index] = bytes;
        (all.newer[index], all.older[index]) = (NONE, self.newest);
        match some(self.newest) {
            Some(second) => all.newer[second as usize] = object,
            None => self.oldest = object,
        }
        self.newest = object;
        self.bytes += bytes;
        self.objects += 1;
    }

    /// Takes an object out, which stands in this list. Returns its size.
    pub fn remove(&mut self, all: &mut Objects, object: ObjectId) -> u64 {
        let index = object as usize;
        let (newer, older) = (all.newer[index], all.older[index]);
        match some(newer) {
            Some(newer) => all.older[newer as usize] = older,
            None => self.newest = older,
        }
        match some(older) {
            Some(older) => all.newer[older as usize] = newer,
            None => self.oldest = newer,
        }
        self.bytes -= all.bytes[index];
        self.objects -= 1;
        all.bytes[index]
    }

    /// Takes the oldest object out. Returns it and its size.
    pub fn pop(&mut self, all: &mut Objects) -> Option<(ObjectId, u64)> {
        let object = self.oldest()?;
        Some((object, self.remove(all, object)))
    }
}
