//! The virtual machine, and calls into it.

use crate::client::Submission;
use crate::finished::{Brought, Finished};
use farcache_capi::Status;
use jni::errors::Result;
use jni::objects::{GlobalRef, JLongArray, JMethodID, JObject, JValue};
use jni::signature::{Primitive, ReturnType};
use jni::sys::{JNI_ERR, JNI_VERSION_1_8, jint};
use jni::{JNIEnv, JavaVM};
use std::ffi::c_void;
use std::sync::OnceLock;

/// Local references that telling an end takes at most.
const REFERENCES: i32 = 16;

/// Java's number for an operation that was given up as the client was closed.
const CLOSED: i64 = -1;

/// What is looked up once.
struct Machine {
    vm: JavaVM,
    /// Keeps the class, and so its methods, loaded.
    _pending: GlobalRef,
    ended: JMethodID,
    failed: JMethodID,
}

static MACHINE: OnceLock<Machine> = OnceLock::new();

/// Called by the machine when it loads the library.
#[unsafe(no_mangle)]
pub extern "system" fn JNI_OnLoad(vm: JavaVM, _reserved: *mut c_void) -> jint {
    match find(vm) {
        Ok(machine) => {
            let _ = MACHINE.set(machine);
            JNI_VERSION_1_8
        }
        Err(_) => JNI_ERR,
    }
}

fn find(vm: JavaVM) -> Result<Machine> {
    let (class, ended, failed) = {
        let mut env = vm.get_env()?;
        let class = env.find_class("io/farcache/client/Pending")?;
        let types = "(IJJJLjava/lang/Object;[JLjava/lang/String;)V";
        let ended = env.get_method_id(&class, "ended", types)?;
        let failed = env.get_method_id(&class, "failed", "(Ljava/lang/Throwable;)V")?;
        (env.new_global_ref(&class)?, ended, failed)
    };
    Ok(Machine {
        vm,
        _pending: class,
        ended,
        failed,
    })
}

/// Tells Java how an operation has ended. The thread becomes one of the machine's if it is not: for
/// good, as more will follow, and as one whose end nobody waits for.
pub fn tell(submission: &Submission, finished: &Finished) {
    let machine = MACHINE.get().expect("the library was loaded by Java");
    // Without an environment the machine is about to end.
    if let Ok(mut env) = machine.vm.attach_current_thread_as_daemon() {
        let told = env.with_local_frame(REFERENCES, |env| machine.tell(env, submission, finished));
        survive(&mut env, told);
    }
}

/// Tells Java that an operation was given up as the client was closed.
pub fn tell_closed(env: &mut JNIEnv, pending: &GlobalRef) {
    let machine = MACHINE.get().expect("the library was loaded by Java");
    let brought = Brought {
        value: JObject::null(),
        items: JLongArray::default(),
    };
    let told = env.with_local_frame(REFERENCES, |env| {
        machine.ended(env, pending, [CLOSED, 0, 0, 0], &brought, None)
    });
    survive(env, told);
}

/// What Java's own code throws it has caught itself; what is left nobody can be told.
fn survive(env: &mut JNIEnv, told: Result<()>) {
    if told.is_err() && env.exception_check().unwrap_or(false) {
        let _ = env.exception_clear();
    }
}

impl Machine {
    fn tell(&self, env: &mut JNIEnv, submission: &Submission, finished: &Finished) -> Result<()> {
        match finished.bring(env, submission.shape) {
            Ok(brought) => {
                let message = (finished.status != Status::Ok).then(|| finished.message());
                let numbers = finished.numbers(submission.counts);
                self.ended(env, &submission.pending, numbers, &brought, message)
            }
            Err(error) => self.failed(env, &submission.pending, error),
        }
    }

    fn ended(
        &self,
        env: &mut JNIEnv,
        pending: &GlobalRef,
        [status, value_bytes, cas, extra]: [i64; 4],
        brought: &Brought,
        message: Option<String>,
    ) -> Result<()> {
        let message = match message {
            Some(message) => env.new_string(message)?.into(),
            None => JObject::null(),
        };
        let arguments = [
            JValue::Int(status as i32).as_jni(),
            JValue::Long(value_bytes).as_jni(),
            JValue::Long(cas).as_jni(),
            JValue::Long(extra).as_jni(),
            JValue::Object(&brought.value).as_jni(),
            JValue::Object(&brought.items).as_jni(),
            JValue::Object(&message).as_jni(),
        ];
        let nothing = ReturnType::Primitive(Primitive::Void);
        // SAFETY: the method is that of the object's class, with arguments of these types.
        unsafe { env.call_method_unchecked(pending, self.ended, nothing, &arguments)? };
        Ok(())
    }

    /// Java has no memory for what was brought.
    fn failed(
        &self,
        env: &mut JNIEnv,
        pending: &GlobalRef,
        error: jni::errors::Error,
    ) -> Result<()> {
        if !env.exception_check()? {
            return Err(error);
        }
        let thrown = env.exception_occurred()?;
        env.exception_clear()?;
        let arguments = [JValue::Object(&thrown).as_jni()];
        let nothing = ReturnType::Primitive(Primitive::Void);
        // SAFETY: as in `ended`.
        unsafe { env.call_method_unchecked(pending, self.failed, nothing, &arguments)? };
        Ok(())
    }
}
