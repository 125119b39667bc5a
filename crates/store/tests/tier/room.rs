//! Requests that need room which the device has yet to make.

use crate::common::*;
use farcache_store::*;
use std::io;
use std::sync::{Arc, Condvar, Mutex};

/// A device that writes only while its gate is open.
pub struct GatedDevice {
    inner: FaultyDevice,
    is_open: Mutex<bool>,
    opened: Condvar,
}

impl GatedDevice {
    pub fn new(bytes: u64) -> Arc<GatedDevice> {
        Arc::new(GatedDevice {
            inner: FaultyDevice::new(bytes),
            is_open: Mutex::new(true),
            opened: Condvar::new(),
        })
    }

    /// Writes wait until the guard is dropped.
    pub fn close(&self) -> OpensAtEnd<'_> {
        self.set_open(false);
        OpensAtEnd(self)
    }

    fn set_open(&self, is_open: bool) {
        *self.is_open.lock().unwrap() = is_open;
        self.opened.notify_all();
    }
}

/// Opens the gate when a test ends, so that the store can be closed where an assertion has failed.
pub struct OpensAtEnd<'a>(&'a GatedDevice);

impl Drop for OpensAtEnd<'_> {
    fn drop(&mut self) {
        self.0.set_open(true);
    }
}

impl Device for GatedDevice {
    fn name(&self) -> String {
        self.inner.name()
    }

    fn bytes(&self) -> u64 {
        self.inner.bytes()
    }

    fn block_bytes(&self) -> usize {
        self.inner.block_bytes()
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.inner.read_at(buffer, offset)
    }

    fn write_at(&self, buffer: &[u8], offset: u64) -> io::Result<()> {
        let is_open = self.is_open.lock().unwrap();
        drop(
            self.opened
                .wait_while(is_open, |is_open| !*is_open)
                .unwrap(),
        );
        self.inner.write_at(buffer, offset)
    }

    fn sync(&self) -> io::Result<()> {
        self.inner.sync()
    }
}

fn open_gated(device: &Arc<GatedDevice>) -> Arc<Store> {
    let tier = TierConfig {
        segment_bytes: SEGMENT_BYTES,
        ..TierConfig::new(vec![Arc::clone(device) as Arc<dyn Device>])
    };
    Store::open(config(1 << 20), tier).unwrap()
}

fn try_set(handle: &StoreHandle, number: u32) -> Result<SetOutcome, Interrupt> {
    handle.set(
        &key(number),
        &value(number, 0, 4000),
        &SetOptions::default(),
    )
}

/// Stores until a request has to wait and the device takes nothing any more; returns its number,
/// its reads started.
fn fill(handle: &mut StoreHandle) -> (u32, ReadId) {
    fill_from(handle, 0)
}

fn fill_from(handle: &mut StoreHandle, first: u32) -> (u32, ReadId) {
    for number in first..10_000 {
        let mut outcome = try_set(handle, number);
        while let Err(Interrupt::Suspended(_)) = outcome {
            let id = handle.start_reads().unwrap();
            if waits_for_device(handle, id) {
                return (number, id);
            }
            handle.stage(id);
            outcome = try_set(handle, number);
            handle.unstage();
        }
        assert!(
            matches!(outcome, Ok(SetOutcome::Stored { .. })),
            "{outcome:?}"
        );
        handle.quiescent();
    }
    panic!("everything found room");
}

/// Waits until a request has room, or until the store's own thread waits for the device again and
/// again.
fn waits_for_device(handle: &mut StoreHandle, id: ReadId) -> bool {
    let waits = |handle: &StoreHandle| stats(handle.store()).waits;
    let before = waits(handle);
    let mut is_ready = false;
    eventually("there is room, or the device takes nothing", || {
        is_ready = is_done(handle, id);
        is_ready || waits(handle) > before + 3
    });
    !is_ready
}

fn is_done(handle: &mut StoreHandle, id: ReadId) -> bool {
    let mut done = Vec::new();
    handle.poll_reads(&mut done);
    handle.quiescent();
    done.contains(&id)
}

#[test]
fn a_request_without_room_waits_outside_and_goes_on_when_there_is_some() {
    let device = GatedDevice::new(16 << 20);
    let store = open_gated(&device);
    let _opened_at_last = OpensAtEnd(&device);
    let mut handle = store.handle();
    handle.let_requests_await_room();
    device.set_open(false);
    let (number, id) = fill(&mut handle);
    assert!(!is_done(&mut handle, id), "the device takes nothing");
    // Others go on meanwhile.
    assert_eq!(
        get(&mut handle, number - 1),
        Some(value(number - 1, 0, 4000))
    );
    assert!(!is_done(&mut handle, id));
    device.set_open(true);
    eventually("there is room", || is_done(&mut handle, id));
    handle.stage(id);
    let outcome = try_set(&handle, number);
    handle.unstage();
    // Another pass may have been needed, had somebody else been quicker; nobody is.
    assert!(
        matches!(outcome, Ok(SetOutcome::Stored { .. })),
        "{outcome:?}"
    );
    assert!(stats(&store).waits > 0);
    for number in 0..=number {
        assert_eq!(get(&mut handle, number), Some(value(number, 0, 4000)));
    }
}

#[test]
fn an_invalidation_that_waits_for_room_leaves_its_item_alone() {
    let device = GatedDevice::new(16 << 20);
    let store = open_gated(&device);
    let _opened_at_last = OpensAtEnd(&device);
    let mut handle = store.handle();
    handle.let_requests_await_room();
    device.set_open(false);
    let invalidate = DeleteOptions {
        invalidate: true,
        ..DeleteOptions::default()
    };
    let (mut first, mut back) = (0, 1);
    let last = loop {
        let (number, id) = fill_from(&mut handle, first);
        handle.cancel_reads(id);
        let outcome = handle.delete(&key(number - back), &invalidate);
        if outcome.is_err() {
            handle.forget_reads();
            break number - back;
        }
        // A segment of memory came free behind the last look: it is filled, too.
        (first, back) = (number, back + 1);
    };
    assert_eq!(get(&mut handle, last), Some(value(last, 0, 4000)));
    device.set_open(true);
    let outcome = handle.run_blocking(|handle| handle.delete(&key(last), &invalidate));
    assert_eq!(outcome.unwrap(), DeleteOutcome::Deleted);
    let is_stale = |handle: &StoreHandle| {
        let item = handle.get(&key(last), Access::Peek);
        item.map(|item| item.map(|item| item.is_stale()))
    };
    assert_eq!(handle.run_blocking(is_stale).unwrap(), Some(true));
}

#[test]
fn whoever_waits_for_room_is_woken() {
    let device = GatedDevice::new(16 << 20);
    let store = open_gated(&device);
    let _opened_at_last = OpensAtEnd(&device);
    let mut handle = store.handle();
    handle.let_requests_await_room();
    let was_rung = |handle: &StoreHandle| {
        let mut count = [0; 8];
        handle
            .with_durable_descriptor(|descriptor| {
                rustix::io::read(descriptor, &mut count[..]).is_ok()
            })
            .unwrap()
            .unwrap()
    };
    assert!(!was_rung(&handle));
    device.set_open(false);
    let (_, id) = fill(&mut handle);
    is_done(&mut handle, id);
    handle.park();
    device.set_open(true);
    eventually("the bell rings", || was_rung(&handle));
    eventually("there is room", || is_done(&mut handle, id));
}

#[test]
fn a_request_that_was_given_up_waits_no_longer() {
    let device = GatedDevice::new(16 << 20);
    let store = open_gated(&device);
    let _opened_at_last = OpensAtEnd(&device);
    let mut handle = store.handle();
    handle.let_requests_await_room();
    device.set_open(false);
    let (_, id) = fill(&mut handle);
    handle.cancel_reads(id);
    device.set_open(true);
    for number in 0..1000 {
        handle
            .run_blocking(|handle| settled(try_set(handle, number)))
            .unwrap()
            .unwrap();
        handle.quiescent();
        assert!(!is_done(&mut handle, id));
    }
}

#[test]
fn a_request_waits_in_vain_where_there_will_be_no_room() {
    let device = GatedDevice::new(2 << 20);
    let tier = TierConfig {
        segment_bytes: SEGMENT_BYTES,
        ..TierConfig::new(vec![Arc::clone(&device) as Arc<dyn Device>])
    };
    let memory = StoreConfig {
        evict: false,
        ..config(1 << 20)
    };
    let store = Store::open(memory, tier).unwrap();
    let mut handle = store.handle();
    handle.let_requests_await_room();
    let refused = (0..2000).find(|&number| {
        let outcome = handle
            .run_blocking(|handle| settled(try_set(handle, number)))
            .unwrap();
        handle.quiescent();
        outcome == Err(StoreError::OutOfMemory)
    });
    let refused = refused.expect("the device is full at some time");
    for number in 0..refused {
        assert_eq!(
            get(&mut handle, number),
            Some(value(number, 0, 4000)),
            "{number}"
        );
    }
}

/// A copy in memory of what is rewritten anyway would take the room that has just been made for its
/// successor, again and again.
#[test]
fn what_is_read_to_be_rewritten_takes_no_room_of_its_own() {
    const LARGE: usize = 3 * SEGMENT_BYTES as usize + 1000;
    let device = device(8 << 20);
    // Memory for one such value beside what the store itself needs, not for two.
    let tier = TierConfig {
        durability: Durability::Writeback,
        ..tier(&device)
    };
    let store = Store::open(config(8 * u64::from(SEGMENT_BYTES)), tier).unwrap();
    let mut handle = store.handle();
    let (ended, end) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for number in 0..6 {
            set(&mut handle, number, 0, LARGE);
        }
        for turn in 0..20 {
            for number in 0..6 {
                let touched = handle.run_blocking(|handle| {
                    let touched = settled(handle.touch(&key(number), 1000 + turn, Access::Use))?;
                    Ok(touched.map(|item| item.map(|item| item.value().to_vec())))
                });
                handle.quiescent();
                let expected = value(number, 0, LARGE);
                assert!(matches!(touched.unwrap(), Ok(Some(value)) if value == expected));
            }
        }
        ended.send(()).unwrap();
    });
    end.recv_timeout(PATIENCE)
        .expect("each touch ends with the value");
}
