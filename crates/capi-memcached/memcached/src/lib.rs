//! A drop-in for libmemcached.so.11.
