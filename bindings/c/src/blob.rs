//! Files as chunks.

use crate::arguments::{bytes, reference, reference_mut, text};
use crate::client::{ClientHandle, ClientState};
use crate::status::{Failure, Status, status_of};
use farcache_blobs::{Blobs, Error, Part, Reader, Settings, Writer};
use std::ffi::{c_char, c_void};
use std::sync::Arc;
use std::time::Duration;

/// Blobs on the servers of a client: files, whole or not there, as chunks with a manifest. Any
/// number of threads may use it at the same time.
pub struct BlobsHandle {
    blobs: Blobs,
    /// Keeps what the client has registered.
    _client: Arc<ClientState>,
}

/// A blob that is being written; one thread at a time may use it.
pub struct BlobWriter {
    /// None once it has been closed.
    writer: Option<Writer>,
}

/// A blob as it was when it was opened; one thread at a time may use it.
pub struct BlobReader {
    reader: Reader,
}

/// How blobs are written and read. 0 stands for the usual.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct BlobSettings {
    /// Bytes of a chunk of what is written: 512 KiB. With its key it must be an item that the
    /// servers take.
    pub chunk_bytes: usize,
    /// Bytes that one writer may have under way, or one reader hold: 8 MiB. One chunk is always
    /// allowed.
    pub window_bytes: usize,
    /// Bytes that all writers and readers together may hold or have under way: 64 MiB.
    pub in_flight_bytes_max: usize,
    /// How long, in milliseconds, a writer goes on trying to store what servers have no room for
    /// or, where blobs lie on several servers, what too few of them are up for: not at all.
    pub patience_ms: u64,
}

impl From<&Error> for Failure {
    fn from(error: &Error) -> Self {
        let status = match error {
            Error::NotFound(_) => Status::NotFound,
            Error::InvalidName(_) => Status::InvalidKey,
            Error::InvalidSettings(_) => Status::InvalidArguments,
            Error::MissingChunk { .. } => Status::MissingChunk,
            Error::DamagedChunk { .. } | Error::DamagedManifest { .. } => Status::Damaged,
            Error::Replaced(_) => Status::Replaced,
            Error::Request { error, .. } => error.into(),
            Error::NoRandomBytes(_) => Status::Configuration,
        };
        Failure::new(status, &error.to_string())
    }
}

fn done(outcome: Result<(), Error>) -> Result<Status, Failure> {
    let outcome = outcome.map_err(|error| Failure::from(&error));
    outcome.map(|()| Status::Ok)
}

fn settings(given: Option<&BlobSettings>) -> Result<Settings, Failure> {
    let mut settings = Settings::default();
    let Some(given) = given else {
        return Ok(settings);
    };
    if given.chunk_bytes > 0 {
        let too_long = |_| Failure::arguments("a chunk has 1 byte to 1 GiB");
        settings.chunk_bytes = given.chunk_bytes.try_into().map_err(too_long)?;
    }
    if given.window_bytes > 0 {
        settings.window_bytes = given.window_bytes;
    }
    if given.in_flight_bytes_max > 0 {
        settings.in_flight_bytes_max = given.in_flight_bytes_max;
    }
    settings.patience = Duration::from_millis(given.patience_ms);
    Ok(settings)
}

/// Blobs on the servers of this client; settings may be null. To be freed with farcache_blobs_free,
/// after its writers and readers or before. Chunks are stored behind the caller's back all the time
/// where the client has its progress-thread, and else within calls only.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn farcache_blobs_new(
    client: *const ClientHandle,
    blob_settings: *const BlobSettings,
    blobs: *mut *mut BlobsHandle,
) -> Status {
    // SAFETY: C's contract, as it stands at the top of the crate.
    let arguments = || unsafe {
        Ok((
            reference(client)?,
            blob_settings.as_ref(),
            reference_mut(blobs)?,
        ))
    };
    status_of(arguments().and_then(|(client, given, place)| {
        *place = std::ptr::null_mut();
        let made = Blobs::new(client.state.client.clone(), settings(given)?);
        let handle = BlobsHandle {
            blobs: made.map_err(|error| Failure::from(&error))?,
            _client: Arc::clone(&client.state),
        };
        *place = Box::into_raw(Box::new(handle));
        Ok(Status::Ok)
    }))
}

/// Frees it. Null is fine.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn farcache_blobs_free(blobs: *mut BlobsHandle) {
    if !blobs.is_null() {
        // SAFETY: C's contract; made by `farcache_blobs_new`.
        drop(unsafe { Box::from_raw(blobs) });
    }
}

/// Begins to write a blob; its name has 1 to 200 bytes, without spaces and control characters. It
/// is there, whole, once farcache_blob_close has returned; until then a former one of this name
/// stays. To be freed with farcache_blob_writer_free.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn farcache_blob_create(
    blobs: *const BlobsHandle,
    name: *const c_char,
    writer: *mut *mut BlobWriter,
) -> Status {
    // SAFETY: C's contract, as it stands at the top of the crate.
    let arguments = || unsafe { Ok((reference(blobs)?, text(name)?, reference_mut(writer)?)) };
    status_of(arguments().and_then(|(blobs, name, place)| {
        *place = std::ptr::null_mut();
        let created = blobs.blobs.create(name);
        let writer = Some(created.map_err(|error| Failure::from(&error))?);
        *place = Box::into_raw(Box::new(BlobWriter { writer }));
        Ok(Status::Ok)
    }))
}

impl BlobWriter {
    fn writer(&mut self) -> Result<&mut Writer, Failure> {
        let closed = || Failure::arguments("the blob has been closed");
        self.writer.as_mut().ok_or_else(closed)
    }
}

/// Writes more bytes, which are copied. A full chunk is stored behind the caller's back; where as
/// much is under way as the settings allow, this waits. It fails where that has failed for any
/// chunk, now or earlier.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn farcache_blob_write(
    writer: *mut BlobWriter,
    data: *const c_void,
    data_bytes: usize,
) -> Status {
    // SAFETY: C's contract, as it stands at the top of the crate.
    let arguments = || unsafe { Ok((reference_mut(writer)?, bytes(data, data_bytes)?)) };
    status_of(arguments().and_then(|(writer, data)| done(writer.writer()?.write(data))))
}

/// Waits until all full chunks are stored. Nobody sees them before farcache_blob_publish or
/// farcache_blob_close.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn farcache_blob_flush(writer: *mut BlobWriter) -> Status {
    // SAFETY: C's contract, as it stands at the top of the crate.
    let writer = unsafe { reference_mut(writer) };
    status_of(writer.and_then(|writer| done(writer.writer()?.flush())))
}

/// Stores what has been written so far: from now on there is a blob with these bytes, and stays as
/// it is if the writer is freed or dies. Who opens it sees no more of it than that.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn farcache_blob_publish(writer: *mut BlobWriter) -> Status {
    // SAFETY: C's contract, as it stands at the top of the crate.
    let writer = unsafe { reference_mut(writer) };
    status_of(writer.and_then(|writer| done(writer.writer()?.publish())))
}

/// Stores what is left, and then the manifest: the blob is there, in the place of a former one of
/// its name. Where this fails, the blob is not there, unless the status says that whether a request
/// was carried out is unknown. Whatever it says, nothing but freeing can be done with the writer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn farcache_blob_close(writer: *mut BlobWriter) -> Status {
    // SAFETY: C's contract, as it stands at the top of the crate.
    let writer = unsafe { reference_mut(writer) };
    status_of(writer.and_then(|writer| {
        writer.writer()?;
        done(
            writer
                .writer
                .take()
                .map_or(Ok(()), |it| it.close().map(drop)),
        )
    }))
}

/// Frees a writer. One that has not been closed removes what it has stored and not published. Null
/// is fine.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn farcache_blob_writer_free(writer: *mut BlobWriter) {
    if !writer.is_null() {
        // SAFETY: C's contract; made by `farcache_blob_create`.
        drop(unsafe { Box::from_raw(writer) });
    }
}

/// Opens a blob as it is now. To be freed with farcache_blob_reader_free.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn farcache_blob_open(
    blobs: *const BlobsHandle,
    name: *const c_char,
    reader: *mut *mut BlobReader,
) -> Status {
    // SAFETY: C's contract, as it stands at the top of the crate.
    let arguments = || unsafe { Ok((reference(blobs)?, text(name)?, reference_mut(reader)?)) };
    status_of(arguments().and_then(|(blobs, name, place)| {
        *place = std::ptr::null_mut();
        let opened = blobs.blobs.open(name);
        let reader = opened.map_err(|error| Failure::from(&error))?;
        *place = Box::into_raw(Box::new(BlobReader { reader }));
        Ok(Status::Ok)
    }))
}

/// Length of a blob in bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn farcache_blob_length(reader: *const BlobReader) -> u64 {
    // SAFETY: C's contract, as it stands at the top of the crate.
    let reader = unsafe { reader.as_ref() };
    reader.map_or(0, |reader| reader.reader.length())
}

/// Tells how many of so many bytes from this place on each server of the client has: a copy, or a
/// shard, of the chunks in which they lie. bytes_on_servers has room for so many servers, counted
/// from 0; where that is fewer than the client has, the others are left out. No server is asked.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn farcache_blob_servers(
    reader: *const BlobReader,
    offset: u64,
    bytes: u64,
    bytes_on_servers: *mut u64,
    servers: usize,
) -> Status {
    // SAFETY: C's contract, as it stands at the top of the crate.
    let reader = unsafe { reference(reader) };
    status_of(reader.and_then(|reader| {
        if bytes_on_servers.is_null() {
            return Err(Failure::arguments("a null pointer with a length"));
        }
        // SAFETY: C's contract: so many numbers are there, and nobody else uses them meanwhile.
        let room = unsafe { std::slice::from_raw_parts_mut(bytes_on_servers, servers) };
        room.fill(0);
        let told = reader.reader.bytes_on_servers(offset, bytes);
        room.iter_mut()
            .zip(told)
            .for_each(|(place, bytes)| *place = bytes);
        Ok(Status::Ok)
    }))
}

/// Reads from this place on, as many bytes as the room takes or the blob has; read is told how
/// many. Reads that follow one another are read ahead. A chunk that is gone, or is not what was
/// written, is an error, and what the room holds then is unspecified.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn farcache_blob_read(
    reader: *mut BlobReader,
    offset: u64,
    room: *mut c_void,
    room_bytes: usize,
    read: *mut usize,
) -> Status {
    // SAFETY: C's contract, as it stands at the top of the crate.
    let arguments = || unsafe { Ok((reference_mut(reader)?, reference_mut(read)?)) };
    status_of(arguments().and_then(|(reader, read)| {
        *read = 0;
        if room_bytes == 0 {
            return Ok(Status::Ok);
        }
        if room.is_null() {
            return Err(Failure::arguments("a null pointer with a length"));
        }
        // SAFETY: C's contract: so many bytes are there, and nobody else uses them meanwhile.
        let room = unsafe { std::slice::from_raw_parts_mut(room.cast(), room_bytes) };
        let outcome = reader.reader.read_at(offset, room);
        *read = outcome.map_err(|error| Failure::from(&error))?;
        Ok(Status::Ok)
    }))
}

/// A part of a blob that is to be read.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct BlobPart {
    /// Where it begins.
    pub offset: u64,
    /// Where it goes.
    pub room: *mut c_void,
    /// How many bytes are wanted.
    pub room_bytes: usize,
}

/// Reads several parts of a blob. Their chunks are asked for together, each of them once. read is
/// told how many bytes there were: as many as are wanted, but for those behind the end of the blob.
/// The rooms must not overlap. Errors are those of farcache_blob_read.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn farcache_blob_read_parts(
    reader: *mut BlobReader,
    parts: *const BlobPart,
    count: usize,
    read: *mut u64,
) -> Status {
    // SAFETY: C's contract, as it stands at the top of the crate.
    let arguments = || unsafe { Ok((reference_mut(reader)?, reference_mut(read)?)) };
    status_of(arguments().and_then(|(reader, read)| {
        *read = 0;
        if count == 0 {
            return Ok(Status::Ok);
        }
        if parts.is_null() {
            return Err(Failure::arguments("a null pointer with a length"));
        }
        // SAFETY: C's contract: so many parts are there.
        let given = unsafe { std::slice::from_raw_parts(parts, count) };
        let is_null = |part: &BlobPart| part.room.is_null() && part.room_bytes > 0;
        if given.iter().any(is_null) {
            return Err(Failure::arguments("a null pointer with a length"));
        }
        let part = |part: &BlobPart| Part {
            offset: part.offset,
            room: match part.room_bytes {
                0 => &mut [],
                // SAFETY: C's contract: so many bytes are there, of this part alone, and nobody
                // else uses them meanwhile.
                bytes => unsafe { std::slice::from_raw_parts_mut(part.room.cast(), bytes) },
            },
        };
        let mut wanted: Vec<Part> = given.iter().map(part).collect();
        let outcome = reader.reader.read_parts(&mut wanted);
        *read = outcome.map_err(|error| Failure::from(&error))?;
        Ok(Status::Ok)
    }))
}

/// Lets go of what was read ahead, and of its memory. A later read asks the servers again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn farcache_blob_unbuffer(reader: *mut BlobReader) -> Status {
    // SAFETY: C's contract, as it stands at the top of the crate.
    let reader = unsafe { reference_mut(reader) };
    status_of(reader.map(|reader| {
        reader.reader.unbuffer();
        Status::Ok
    }))
}

/// Frees a reader. Null is fine.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn farcache_blob_reader_free(reader: *mut BlobReader) {
    if !reader.is_null() {
        // SAFETY: C's contract; made by `farcache_blob_open`.
        drop(unsafe { Box::from_raw(reader) });
    }
}

/// Removes a blob: its manifest, then its chunks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn farcache_blob_remove(
    blobs: *const BlobsHandle,
    name: *const c_char,
) -> Status {
    // SAFETY: C's contract, as it stands at the top of the crate.
    let arguments = || unsafe { Ok((reference(blobs)?, text(name)?)) };
    status_of(arguments().and_then(|(blobs, name)| done(blobs.blobs.remove(name))))
}

/// Gives a blob that is not being written an expiry, in seconds up to 30 days, or as a time since
/// 1970: a server that needs room may evict any part of it from then on. Where this fails, some of
/// its chunks may have the expiry, and the blob is still there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn farcache_blob_expire(
    blobs: *const BlobsHandle,
    name: *const c_char,
    expiry_s: u32,
) -> Status {
    // SAFETY: C's contract, as it stands at the top of the crate.
    let arguments = || unsafe { Ok((reference(blobs)?, text(name)?)) };
    status_of(arguments().and_then(|(blobs, name)| done(blobs.blobs.expire(name, expiry_s))))
}
