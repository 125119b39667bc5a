//! What a complete request has brought, for Java.

use farcache_capi::{
    Item, Outcome, Request, Status, farcache_request_free, farcache_request_message,
    farcache_request_result, farcache_result_item,
};
use jni::JNIEnv;
use jni::errors::Result;
use jni::objects::{JLongArray, JObject};
use std::ffi::{CStr, c_char, c_void};
use std::mem::MaybeUninit;

/// What Java gets of a value.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// Nothing: it lies in the room that was given, or there is none.
    None,
    /// An array of bytes.
    Array,
    /// An array of them for each key.
    Arrays,
    /// A text, in an array of texts.
    Text,
    /// Names and values of statistics in turn.
    Texts,
}

/// Numbers per item in [`Brought::items`]: CAS token, flags, status.
const NUMBERS_PER_ITEM: usize = 3;

/// What Java is told.
pub struct Brought<'local> {
    /// The value in its [`Shape`]; null where there is none.
    pub value: JObject<'local>,
    /// Of each item of a multi-get CAS token, flags and status; null where there are none.
    pub items: JLongArray<'local>,
}

/// A complete request, which is freed with this.
pub struct Finished {
    request: *mut Request,
    pub status: Status,
    outcome: Outcome,
}

impl Drop for Finished {
    fn drop(&mut self) {
        // SAFETY: it is nobody else's, and not freed before.
        unsafe { farcache_request_free(self.request) };
    }
}

impl Finished {
    /// Takes a request over.
    ///
    /// # Safety
    /// It is one that an operation gave, it is complete, and nobody else will free it.
    pub unsafe fn of(request: *mut Request) -> Self {
        let mut outcome = MaybeUninit::uninit();
        // SAFETY: as the caller promises; the result is always written.
        let (status, outcome) = unsafe {
            let status = farcache_request_result(request, outcome.as_mut_ptr());
            (status, outcome.assume_init())
        };
        Finished {
            request,
            status,
            outcome,
        }
    }

    /// Status, length of the value, CAS token, and the flags or the number that was counted to: as
    /// Java gets them.
    pub fn numbers(&self, counts: bool) -> [i64; 4] {
        let outcome = &self.outcome;
        let extra = match counts {
            true => outcome.number.cast_signed(),
            false => i64::from(outcome.flags),
        };
        let value_bytes = outcome.value_bytes.cast_signed() as i64;
        let cas = outcome.cas.cast_signed();
        [self.status as i64, value_bytes, cas, extra]
    }

    /// Why it failed.
    pub fn message(&self) -> String {
        // SAFETY: the request is not freed, and the text is copied before it is.
        unsafe { text(farcache_request_message(self.request)) }
    }

    /// What it has brought, as objects of Java's.
    ///
    /// # Errors
    /// Java has no memory for it; an exception is pending.
    pub fn bring<'local>(&self, env: &mut JNIEnv<'local>, shape: Shape) -> Result<Brought<'local>> {
        let mut items = JLongArray::default();
        let value = match shape {
            _ if self.status != Status::Ok => JObject::null(),
            Shape::None => JObject::null(),
            Shape::Array => {
                // SAFETY: the value lies there until the request is freed.
                let value = unsafe { bytes(self.outcome.value, self.outcome.value_bytes) };
                env.byte_array_from_slice(value)?.into()
            }
            Shape::Arrays => {
                items = self.item_numbers(env)?;
                self.arrays(env)?
            }
            Shape::Text => {
                // SAFETY: as above; a version is a text.
                let text = unsafe { text(self.outcome.value.cast()) };
                texts(env, &[text])?
            }
            Shape::Texts => texts(env, &self.statistics())?,
        };
        Ok(Brought { value, items })
    }

    fn item(&self, index: usize) -> Item {
        let mut item = MaybeUninit::uninit();
        // SAFETY: the request is not freed, and has so many items: the item is written.
        unsafe {
            let status = farcache_result_item(self.request, index, item.as_mut_ptr());
            assert_eq!(status, Status::Ok, "an item that was counted");
            item.assume_init()
        }
    }

    fn items(&self) -> impl Iterator<Item = Item> {
        (0..self.outcome.items).map(|index| self.item(index))
    }

    fn arrays<'local>(&self, env: &mut JNIEnv<'local>) -> Result<JObject<'local>> {
        let count = i32::try_from(self.outcome.items).expect("at most 65,536 keys");
        let arrays = env.new_object_array(count, "[B", JObject::null())?;
        for (index, item) in (0..).zip(self.items()) {
            if item.status != Status::Ok {
                continue;
            }
            // SAFETY: the value lies there until the request is freed.
            let value = unsafe { bytes(item.value, item.value_bytes) };
            // Given back at once: there may be more than the machine has room for.
            let array = env.byte_array_from_slice(value)?;
            env.set_object_array_element(&arrays, index, &array)?;
            env.delete_local_ref(array)?;
        }
        Ok(arrays.into())
    }

    fn item_numbers<'local>(&self, env: &mut JNIEnv<'local>) -> Result<JLongArray<'local>> {
        let mut numbers = Vec::with_capacity(self.outcome.items * NUMBERS_PER_ITEM);
        for item in self.items() {
            let status = item.status as i64;
            numbers.extend([item.cas.cast_signed(), i64::from(item.flags), status]);
        }
        let count = i32::try_from(numbers.len()).expect("at most 65,536 keys");
        let array = env.new_long_array(count)?;
        env.set_long_array_region(&array, 0, &numbers)?;
        Ok(array)
    }

    fn statistics(&self) -> Vec<String> {
        let pair = |item: Item| {
            // SAFETY: names and values of statistics are texts, there until the request is freed.
            unsafe { [text(item.name), text(item.value.cast())] }
        };
        self.items().flat_map(pair).collect()
    }
}

/// The bytes that lie there.
///
/// # Safety
/// They do, as long as the result is used.
unsafe fn bytes<'a>(start: *const c_void, length: usize) -> &'a [u8] {
    if length == 0 {
        return &[];
    }
    // SAFETY: as the caller promises.
    unsafe { std::slice::from_raw_parts(start.cast(), length) }
}

/// A text of C's.
///
/// # Safety
/// It ends with a zero byte, or is null.
pub unsafe fn text(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: as the caller promises.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_string_lossy().into_owned()
}

fn texts<'local>(env: &mut JNIEnv<'local>, texts: &[String]) -> Result<JObject<'local>> {
    let count = i32::try_from(texts.len()).expect("few statistics");
    let array = env.new_object_array(count, "java/lang/String", JObject::null())?;
    for (index, text) in (0..).zip(texts) {
        let text = env.new_string(text)?;
        env.set_object_array_element(&array, index, &text)?;
        env.delete_local_ref(text)?;
    }
    Ok(array.into())
}
