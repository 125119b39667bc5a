//! What several fuzz targets work with.
#![forbid(unsafe_code)]

pub mod client;
pub mod image;
