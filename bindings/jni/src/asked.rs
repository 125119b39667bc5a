//! An operation that Java asks for: begun or carried out, and its outcome told.

use crate::boundary::{keep_message, refused, unsigned};
use crate::carry_out::{Manner, submit, wait};
use crate::client::Client;
use crate::finished::Shape;
use crate::operation::Operation;
use farcache_capi::{Call, Status};
use jni::JNIEnv;
use jni::errors::Result;
use jni::objects::{JLongArray, JObject};
use jni::sys::{jlong, jobject};
use std::ptr::null_mut;

/// What all operations are given.
pub struct Asked<'a, 'local> {
    pub handle: jlong,
    pub pending: JObject<'local>,
    pub outcome: &'a JLongArray<'local>,
}

impl Asked<'_, '_> {
    /// An operation without anything special.
    pub fn plainly(&self, shape: Shape) -> Manner {
        Manner {
            call: Call::USUAL,
            shape,
            counts: false,
            value: Vec::new(),
        }
    }

    /// Carries an operation out. Java's numbers of the outcome are status, length of the value, CAS
    /// token, flags or number; of an operation that has only begun they are status and its number.
    ///
    /// # Safety
    /// As [`Operation::begin`]: what is lent stays as Java has promised.
    pub unsafe fn carry_out(
        &self,
        env: &mut JNIEnv,
        operation: &Operation<'_>,
        manner: Manner,
        items: Option<&JLongArray>,
    ) -> Result<jobject> {
        // SAFETY: Java uses it only while it is open.
        let client = unsafe { Client::of(self.handle) };
        if !self.pending.is_null() {
            let pending = env.new_global_ref(&self.pending)?;
            // SAFETY: as the caller promises.
            let begun = unsafe { submit(client, operation, manner, pending) };
            let numbers = match begun {
                Ok(id) => [Status::Ok as i64, id.cast_signed()],
                Err(failure) => [-refused(failure), 0],
            };
            env.set_long_array_region(self.outcome, 0, &numbers)?;
            return Ok(null_mut());
        }
        // SAFETY: as the caller promises.
        let finished = match unsafe { wait(client, operation, &manner) } {
            Ok(finished) => finished,
            Err(failure) => {
                let numbers = [-refused(failure), 0, 0, 0];
                env.set_long_array_region(self.outcome, 0, &numbers)?;
                return Ok(null_mut());
            }
        };
        if finished.status != Status::Ok {
            keep_message(finished.message());
        }
        env.set_long_array_region(self.outcome, 0, &finished.numbers(manner.counts))?;
        let brought = finished.bring(env, manner.shape)?;
        if let Some(items) = items.filter(|_| !brought.items.is_null()) {
            let count = env.get_array_length(items)?;
            let mut numbers = vec![0; unsigned(count)];
            env.get_long_array_region(&brought.items, 0, &mut numbers)?;
            env.set_long_array_region(items, 0, &numbers)?;
        }
        Ok(brought.value.into_raw())
    }
}
