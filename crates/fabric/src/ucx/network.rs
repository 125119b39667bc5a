//! UCX as this process uses it.

use super::layout::{Layout, layout};
use super::port::UcxPort;
use super::region::{Region, Regions};
use super::settings::{Settings, defaults, may_share_memory};
use crate::error::Error;
use crate::port::{ReceiveBody, SendBody};
use farcache_ucx_sys::{Context, Library};
use std::any::Any;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, PoisonError};

/// UCX's transports and devices, and the memory registered with them. Ports hold what they need of
/// it.
#[derive(Debug)]
pub struct Network {
    context: Context,
    /// The layout of the queues in shared memory, where there are any.
    shares_memory: Option<Layout>,
    regions: Mutex<Regions>,
}

impl Network {
    /// Opens the transports. Whatever the environment's `UCX_*` say goes before `settings`, and
    /// both before our own choice for noticing dead peers.
    ///
    /// # Errors
    /// [`Error::Unavailable`] where there is no UCX, or none that works here.
    pub fn open(settings: Settings) -> Result<Arc<Network>, Error> {
        let unavailable = |reason: String| Error::Unavailable(reason);
        let library = Library::load().map_err(|error| unavailable(error.to_string()))?;
        let own = defaults(library.version(), &settings);
        let may_share_memory = may_share_memory(&settings);
        let chosen = settings.list(own);
        let shares_memory = may_share_memory.then(|| layout(&chosen));
        let chosen: Vec<_> = chosen
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        let context =
            Context::new(library, &chosen).map_err(|error| unavailable(error.to_string()))?;
        Ok(Arc::new(Network {
            context,
            shares_memory,
            regions: Mutex::default(),
        }))
    }

    /// UCX's version: major, minor and release number.
    pub fn version(&self) -> (u32, u32, u32) {
        self.context.library().version()
    }

    /// Whether processes of this host may share memory with it.
    pub fn shares_memory(&self) -> bool {
        self.shares_memory.is_some()
    }

    /// Registers memory that large bodies will be sent from and received into, once, instead of
    /// piece by piece when it is first used. For ports made from now on.
    ///
    /// The bytes must stay mapped, and their pages must not be given back to the system, for as
    /// long as `memory` lives: otherwise what is sent from there is not what stands there.
    ///
    /// # Errors
    /// [`Error::System`]: UCX's reason, such as a limit for locked memory.
    pub fn register(
        &self,
        start: NonNull<u8>,
        bytes: usize,
        memory: Arc<dyn Any + Send + Sync>,
    ) -> Result<(), Error> {
        let region = Region::new(&self.context, start, bytes, memory)?;
        self.regions().add(region);
        Ok(())
    }

    /// A new port, to be used by one thread at a time.
    ///
    /// # Errors
    /// UCX's: out of memory, out of descriptors.
    pub fn port<S: SendBody, R: ReceiveBody>(&self) -> Result<UcxPort<S, R>, Error> {
        let regions = self.regions().clone();
        UcxPort::new(&self.context, regions, self.shares_memory)
    }

    fn regions(&self) -> std::sync::MutexGuard<'_, Regions> {
        self.regions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
