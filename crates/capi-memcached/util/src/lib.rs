//! A drop-in for libmemcachedutil.so.2.
