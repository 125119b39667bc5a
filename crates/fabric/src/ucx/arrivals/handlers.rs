//! The functions that UCX calls, one for each kind of message.

use super::arrived::Arrived;
use super::offered::Offered;
use crate::error::Error;
use crate::ucx::endpoint::EndpointId;
use farcache_ucx_sys::raw::*;
use std::ffi::c_void;
use std::slice;

/// Called by UCX for each ordinary message.
pub(super) unsafe extern "C" fn on_message<S, R>(
    arrived: *mut c_void,
    header: *const c_void,
    header_bytes: usize,
    data: *mut c_void,
    data_bytes: usize,
    param: *const ucp_am_recv_param_t,
) -> ucs_status_t {
    // SAFETY: the argument that the handler was set with; this is the port's thread, inside of UCX,
    // where nothing else borrows it. UCX keeps header and parameters in place until this returns.
    let (arrived, header, param) = unsafe {
        (
            &mut *arrived.cast::<Arrived<S, R>>(),
            bytes_at(header, header_bytes),
            &*param,
        )
    };
    if param.recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV != 0 {
        let endpoint = reply_endpoint(param);
        if endpoint.is_null() {
            return arrived.garbage(Error::Malformed("an offer that hides where it comes from"));
        }
        // SAFETY: so UCX says; told `UCS_INPROGRESS`, it leaves the descriptor to us.
        let offered = unsafe { Offered::new(data, EndpointId::of(endpoint), data_bytes) };
        return arrived.take_offer(header, offered);
    }
    // SAFETY: eager data is in place until this returns.
    arrived.take_message(header, unsafe { bytes_at(data, data_bytes) })
}

/// Called by UCX for each greeting.
pub(super) unsafe extern "C" fn on_greeting<S, R>(
    arrived: *mut c_void,
    header: *const c_void,
    header_bytes: usize,
    data: *mut c_void,
    data_bytes: usize,
    param: *const ucp_am_recv_param_t,
) -> ucs_status_t {
    // SAFETY: as in `on_message`.
    let (arrived, header, param) = unsafe {
        (
            &mut *arrived.cast::<Arrived<S, R>>(),
            bytes_at(header, header_bytes),
            &*param,
        )
    };
    let endpoint = reply_endpoint(param);
    if endpoint.is_null() || param.recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV != 0 {
        return arrived.garbage(Error::Malformed("a greeting that is none"));
    }
    // SAFETY: eager data is in place until this returns.
    let data = unsafe { bytes_at(data, data_bytes) };
    arrived.take_greeting(header, data, EndpointId::of(endpoint))
}

/// Called by UCX for each short get.
pub(super) unsafe extern "C" fn on_short_get<S, R>(
    arrived: *mut c_void,
    _header: *const c_void,
    header_bytes: usize,
    data: *mut c_void,
    data_bytes: usize,
    param: *const ucp_am_recv_param_t,
) -> ucs_status_t {
    // SAFETY: as in `on_message`; eager data is in place until this returns.
    unsafe {
        let arrived = &mut *arrived.cast::<Arrived<S, R>>();
        match short_message(header_bytes, data, data_bytes, &*param) {
            Ok(message) => arrived.take_short_get(message),
            Err(error) => arrived.garbage(error),
        }
    }
}

/// Called by UCX for each short value.
pub(super) unsafe extern "C" fn on_short_value<S, R>(
    arrived: *mut c_void,
    _header: *const c_void,
    header_bytes: usize,
    data: *mut c_void,
    data_bytes: usize,
    param: *const ucp_am_recv_param_t,
) -> ucs_status_t {
    // SAFETY: as in `on_message`; eager data is in place until this returns.
    unsafe {
        let arrived = &mut *arrived.cast::<Arrived<S, R>>();
        match short_message(header_bytes, data, data_bytes, &*param) {
            Ok(message) => arrived.take_short_value(message),
            Err(error) => arrived.garbage(error),
        }
    }
}

/// The bytes of a message in a short form; an error where UCX brings what nobody sends so: a
/// header, or an offer.
///
/// # Safety
/// As for [`bytes_at`], where it is no offer.
unsafe fn short_message<'a>(
    header_bytes: usize,
    data: *const c_void,
    data_bytes: usize,
    param: &ucp_am_recv_param_t,
) -> Result<&'a [u8], Error> {
    if header_bytes != 0 || param.recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV != 0 {
        return Err(Error::Malformed("a short message that is none"));
    }
    // SAFETY: the caller's promise.
    Ok(unsafe { bytes_at(data, data_bytes) })
}

/// Called by UCX for each probe.
pub(super) unsafe extern "C" fn on_probe<S, R>(
    arrived: *mut c_void,
    _header: *const c_void,
    _header_bytes: usize,
    _data: *mut c_void,
    _data_bytes: usize,
    _param: *const ucp_am_recv_param_t,
) -> ucs_status_t {
    // SAFETY: as in `on_message`.
    unsafe { (*arrived.cast::<Arrived<S, R>>()).probes += 1 };
    UCS_OK
}

/// The endpoint that a message came by, if its sender wanted that told.
fn reply_endpoint(param: &ucp_am_recv_param_t) -> ucp_ep_h {
    if param.recv_attr & UCP_AM_RECV_ATTR_FIELD_REPLY_EP == 0 {
        return std::ptr::null_mut();
    }
    param.reply_ep
}

/// The bytes at a place that UCX names, which may be null when there are none.
///
/// # Safety
/// So many bytes are there, and stay as they are for the lifetime chosen.
unsafe fn bytes_at<'a>(place: *const c_void, bytes: usize) -> &'a [u8] {
    if bytes == 0 {
        return &[];
    }
    // SAFETY: the caller's promise.
    unsafe { slice::from_raw_parts(place.cast(), bytes) }
}
