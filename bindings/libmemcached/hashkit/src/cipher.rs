//! Encryption of values: AES-256 in CBC with PKCS#7 padding, as libhashkit does it with OpenSSL.
//!
//! The key is the first 32 bytes of what the application gives; the initialization vector is the
//! one that OpenSSL's `EVP_BytesToKey` derives from all of it with SHA-256 in 5 rounds without
//! salt. Both are fixed for a kit, so equal values look equal when encrypted: this is compatible
//! with libmemcached, and no more than that. Of a key with fewer than 32 bytes libhashkit takes
//! what lies behind it in memory; here zero bytes follow.

use crate::bytes;
use aes::Aes256;
use cbc::cipher::block_padding::Pkcs7;
use cbc::cipher::{BlockModeDecrypt, BlockModeEncrypt, KeyIvInit};
use farcache_libmemcached_abi::Hashkit;
use sha2::{Digest, Sha256};
use std::ffi::{c_char, c_void};

const KEY_BYTES: usize = 32;
const VECTOR_BYTES: usize = 16;
const ROUNDS: usize = 5;

/// A kit's cipher.
#[derive(Clone)]
pub(crate) struct Cipher {
    key: [u8; KEY_BYTES],
    vector: [u8; VECTOR_BYTES],
}

/// `hashkit_string_st`: bytes that are handed to C, followed by a zero byte that does not count.
pub struct Text {
    bytes: Vec<u8>,
}

impl Text {
    fn into_raw(mut bytes: Vec<u8>) -> *mut Text {
        bytes.push(0);
        Box::into_raw(Box::new(Text { bytes }))
    }
}

impl Cipher {
    fn new(secret: &[u8]) -> Self {
        let mut key = [0; KEY_BYTES];
        let length = secret.len().min(KEY_BYTES);
        key[..length].copy_from_slice(&secret[..length]);
        Cipher {
            key,
            vector: derived_vector(secret),
        }
    }

    fn encrypt(&self, source: &[u8]) -> Vec<u8> {
        let encryptor = cbc::Encryptor::<Aes256>::new(&self.key.into(), &self.vector.into());
        encryptor.encrypt_padded_vec::<Pkcs7>(source)
    }

    fn decrypt(&self, source: &[u8]) -> Option<Vec<u8>> {
        let decryptor = cbc::Decryptor::<Aes256>::new(&self.key.into(), &self.vector.into());
        decryptor.decrypt_padded_vec::<Pkcs7>(source).ok()
    }

    /// # Safety
    /// `cipher` is null or a kit's.
    unsafe fn from_raw<'a>(cipher: *mut c_void) -> Option<&'a Cipher> {
        // SAFETY: as the caller promises.
        unsafe { cipher.cast::<Cipher>().as_ref() }
    }

    /// A copy for another kit; null of null.
    ///
    /// # Safety
    /// `cipher` is null or a kit's.
    pub(crate) unsafe fn clone_raw(cipher: *mut c_void) -> *mut c_void {
        // SAFETY: as the caller promises.
        match unsafe { Self::from_raw(cipher) } {
            Some(cipher) => Box::into_raw(Box::new(cipher.clone())).cast(),
            None => std::ptr::null_mut(),
        }
    }

    /// Gives a kit's cipher back.
    ///
    /// # Safety
    /// `cipher` is null or a kit's, and is not used again.
    pub(crate) unsafe fn free_raw(cipher: *mut c_void) {
        if !cipher.is_null() {
            // SAFETY: as the caller promises; it came from `Box::into_raw`.
            drop(unsafe { Box::from_raw(cipher.cast::<Cipher>()) });
        }
    }
}

/// What OpenSSL's `EVP_BytesToKey` yields behind the 32 bytes of a key: the second block of its
/// chain.
fn derived_vector(secret: &[u8]) -> [u8; VECTOR_BYTES] {
    let first = derived_block(&[], secret);
    let second = derived_block(&first, secret);
    std::array::from_fn(|index| second[index])
}

fn derived_block(previous: &[u8], secret: &[u8]) -> [u8; 32] {
    let start = Sha256::new().chain_update(previous).chain_update(secret);
    let mut block: [u8; 32] = start.finalize().into();
    for _ in 1..ROUNDS {
        block = Sha256::digest(block).into();
    }
    block
}

/// Gives a kit a cipher; none, and false, where the key is null.
///
/// # Safety
/// `kit` is a kit, `key_length` bytes at `key` can be read.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hashkit_key(
    kit: *mut Hashkit,
    key: *const c_char,
    key_length: usize,
) -> bool {
    // SAFETY: as the caller promises.
    unsafe {
        Cipher::free_raw((*kit).key);
        (*kit).key = std::ptr::null_mut();
        if key.is_null() {
            return false;
        }
        let cipher = Cipher::new(bytes(key, key_length));
        (*kit).key = Box::into_raw(Box::new(cipher)).cast();
    }
    true
}

/// The bytes encrypted; null where the kit has no cipher.
///
/// # Safety
/// `kit` is a kit, `source_length` bytes at `source` can be read.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hashkit_encrypt(
    kit: *mut Hashkit,
    source: *const c_char,
    source_length: usize,
) -> *mut Text {
    // SAFETY: as the caller promises.
    let (cipher, source) = unsafe { (Cipher::from_raw((*kit).key), bytes(source, source_length)) };
    cipher.map_or(std::ptr::null_mut(), |cipher| {
        Text::into_raw(cipher.encrypt(source))
    })
}

/// The bytes decrypted; null where the kit has no cipher, or another one.
///
/// # Safety
/// `kit` is a kit, `source_length` bytes at `source` can be read.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hashkit_decrypt(
    kit: *mut Hashkit,
    source: *const c_char,
    source_length: usize,
) -> *mut Text {
    // SAFETY: as the caller promises.
    let (cipher, source) = unsafe { (Cipher::from_raw((*kit).key), bytes(source, source_length)) };
    let plain = cipher.and_then(|cipher| cipher.decrypt(source));
    plain.map_or(std::ptr::null_mut(), Text::into_raw)
}

/// Gives the text back.
///
/// # Safety
/// `text` is null or from this library, and is not used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hashkit_string_free(text: *mut Text) {
    if !text.is_null() {
        // SAFETY: as the caller promises; it came from `Box::into_raw`.
        drop(unsafe { Box::from_raw(text) });
    }
}

/// Its length in bytes; 0 of null.
///
/// # Safety
/// `text` is null or from this library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hashkit_string_length(text: *const Text) -> usize {
    // SAFETY: as the caller promises.
    unsafe { text.as_ref() }.map_or(0, |text| text.bytes.len() - 1)
}

/// Its bytes, with a zero byte behind them; null of null.
///
/// # Safety
/// `text` is null or from this library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hashkit_string_c_str(text: *const Text) -> *const c_char {
    // SAFETY: as the caller promises.
    unsafe { text.as_ref() }.map_or(std::ptr::null(), |text| text.bytes.as_ptr().cast())
}
