//! Kits: a hash function for keys, one for servers, and a cipher.

use crate::algorithm::{algorithm_of, function};
use crate::cipher::Cipher;
use farcache_libmemcached_abi::{
    HashAlgorithm, HashFunction, HashReturn, Hashkit, HashkitFunction,
};
use std::ffi::{c_char, c_void};

/// Bit of [`Hashkit::options`]: this library allocated the kit.
const IS_ALLOCATED: u8 = 1;
/// Bit of [`Hashkit::flags`].
const IS_BASE_SAME_DISTRIBUTED: u8 = 1;

fn default_function() -> HashkitFunction {
    HashkitFunction {
        function: function(HashAlgorithm::DEFAULT),
        context: std::ptr::null_mut(),
    }
}

/// The kit to fill: the caller's, or new zeroed memory, which says so. Null where there is none.
///
/// # Safety
/// A kit that is not null can be written.
unsafe fn room(kit: *mut Hashkit) -> *mut Hashkit {
    if !kit.is_null() {
        // SAFETY: as the caller promises; the byte is written without reading what may never have
        // been set.
        unsafe { (&raw mut (*kit).options).write(0) };
        return kit;
    }
    // SAFETY: calloc may be called with any numbers.
    let kit: *mut Hashkit = unsafe { libc::calloc(1, size_of::<Hashkit>()) }.cast();
    if !kit.is_null() {
        // SAFETY: calloc's memory is large enough and ours.
        unsafe { (&raw mut (*kit).options).write(IS_ALLOCATED) };
    }
    kit
}

/// A new kit, in the caller's memory or allocated; null where there is no memory.
///
/// # Safety
/// `kit` is null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hashkit_create(kit: *mut Hashkit) -> *mut Hashkit {
    // SAFETY: as the caller promises; fields are written without reading what may never have been
    // set.
    unsafe {
        let kit = room(kit);
        if !kit.is_null() {
            (&raw mut (*kit).base_hash).write(default_function());
            (&raw mut (*kit).distribution_hash).write(default_function());
            (&raw mut (*kit).flags).write(IS_BASE_SAME_DISTRIBUTED);
            (&raw mut (*kit).key).write(std::ptr::null_mut());
        }
        kit
    }
}

/// A copy, in the caller's memory or allocated. A null source makes a new kit.
///
/// # Safety
/// `destination` is null or can be written, and holds no cipher that is still needed; `source` is
/// null or a kit.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hashkit_clone(
    destination: *mut Hashkit,
    source: *const Hashkit,
) -> *mut Hashkit {
    // SAFETY: as the caller promises.
    unsafe {
        let Some(source) = source.as_ref() else {
            return hashkit_create(destination);
        };
        let destination = room(destination);
        if !destination.is_null() {
            (&raw mut (*destination).base_hash).write(source.base_hash);
            (&raw mut (*destination).distribution_hash).write(source.distribution_hash);
            (&raw mut (*destination).flags).write(source.flags);
            (&raw mut (*destination).key).write(Cipher::clone_raw(source.key));
        }
        destination
    }
}

/// Gives back the cipher, and the kit itself where this library allocated it.
///
/// # Safety
/// `kit` is null, or a kit that is not used afterwards unless it is the caller's memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hashkit_free(kit: *mut Hashkit) {
    // SAFETY: as the caller promises; an allocated kit is calloc's.
    unsafe {
        let Some(given) = kit.as_mut() else { return };
        Cipher::free_raw(std::mem::replace(&mut given.key, std::ptr::null_mut()));
        if given.options & IS_ALLOCATED != 0 {
            libc::free(kit.cast());
        }
    }
}

/// Whether both hash alike. Null is like nothing.
///
/// # Safety
/// Each is null or a kit.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hashkit_compare(first: *const Hashkit, second: *const Hashkit) -> bool {
    // SAFETY: as the caller promises.
    let (Some(first), Some(second)) = (unsafe { first.as_ref() }, unsafe { second.as_ref() })
    else {
        return false;
    };
    is_same(&first.base_hash, &second.base_hash)
        && is_same(&first.distribution_hash, &second.distribution_hash)
        && first.flags & IS_BASE_SAME_DISTRIBUTED == second.flags & IS_BASE_SAME_DISTRIBUTED
}

fn is_same(first: &HashkitFunction, second: &HashkitFunction) -> bool {
    let address = |of: &HashkitFunction| of.function.map(|function| function as *const c_void);
    address(first) == address(second) && first.context == second.context
}

/// The key's hash by the kit's function for keys.
///
/// # Safety
/// `kit` is a kit, its function can be called with its context, `key_length` bytes at `key` can be
/// read.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hashkit_digest(
    kit: *const Hashkit,
    key: *const c_char,
    key_length: usize,
) -> u32 {
    // SAFETY: as the caller promises.
    unsafe {
        let HashkitFunction { function, context } = (*kit).base_hash;
        function.map_or(0, |function| function(key, key_length, context))
    }
}

fn choose(target: &mut HashkitFunction, algorithm: HashAlgorithm) -> HashReturn {
    match algorithm {
        HashAlgorithm::HSIEH | HashAlgorithm::CUSTOM => return HashReturn::INVALID_ARGUMENT,
        // libhashkit falls back to the default and still says that it is wrong.
        HashAlgorithm::MAX => {
            target.function = function(HashAlgorithm::DEFAULT);
            return HashReturn::INVALID_HASH;
        }
        _ => {}
    }
    // A number that names nothing changes the context only, as in libhashkit.
    target.function = function(algorithm).or(target.function);
    target.context = std::ptr::null_mut();
    HashReturn::SUCCESS
}

fn choose_custom(
    target: &mut HashkitFunction,
    function: Option<HashFunction>,
    context: *mut c_void,
) -> HashReturn {
    if function.is_none() {
        return HashReturn::FAILURE;
    }
    *target = HashkitFunction { function, context };
    HashReturn::SUCCESS
}

/// Defines the setters and the getter of one of the kit's two functions.
macro_rules! accessors {
    ($field:ident $set:ident $set_custom:ident $get:ident) => {
        /// Chooses the function.
        ///
        /// # Safety
        /// `kit` is null or a kit.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $set(kit: *mut Hashkit, algorithm: HashAlgorithm) -> HashReturn {
            // SAFETY: as the caller promises.
            match unsafe { kit.as_mut() } {
                Some(kit) => choose(&mut kit.$field, algorithm),
                None => HashReturn::INVALID_ARGUMENT,
            }
        }

        /// Sets a function of the application's own.
        ///
        /// # Safety
        /// `kit` is null or a kit; the function can be called with any key and the context.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $set_custom(
            kit: *mut Hashkit,
            function: Option<HashFunction>,
            context: *mut c_void,
        ) -> HashReturn {
            // SAFETY: as the caller promises.
            match unsafe { kit.as_mut() } {
                Some(kit) => choose_custom(&mut kit.$field, function, context),
                None => HashReturn::INVALID_ARGUMENT,
            }
        }

        /// The kit's hash function; `DEFAULT` of a null kit.
        ///
        /// # Safety
        /// `kit` is null or a kit.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $get(kit: *const Hashkit) -> HashAlgorithm {
            // SAFETY: as the caller promises.
            match unsafe { kit.as_ref() } {
                Some(kit) => algorithm_of(kit.$field.function),
                None => HashAlgorithm::DEFAULT,
            }
        }
    };
}

accessors!(base_hash hashkit_set_function hashkit_set_custom_function hashkit_get_function);
accessors!(distribution_hash hashkit_set_distribution_function
    hashkit_set_custom_distribution_function hashkit_get_distribution_function);
