//! Traces made after published statistics, for kinds of traffic of which no trace can be had.

use super::{Builder, Record, Sizes, Trace};
use crate::load::keys::{KeyId, KeyPicker};
use crate::load::values::{ValueSizes, mix};
use rand::SeedableRng;
use rand::rngs::SmallRng;

/// Which traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Kind {
    /// Facebook's ETC pool: sizes by the generalized Pareto law that B. Atikoglu et al. fitted
    /// ("Workload Analysis of a Large-Scale Key-Value Store", SIGMETRICS 2012, table 5); popularity
    /// by Zipf's law with exponent 0.99.
    Etc,
    /// Objects of the web: sizes as P. Barford and M. Crovella fitted them ("Generating
    /// Representative Web Workloads", SIGMETRICS 1998: a lognormal body, and a Pareto tail of 7 %);
    /// popularity by Zipf's law with exponent 0.8, as L. Breslau et al. found it ("Web Caching and
    /// Zipf-like Distributions", INFOCOM 1999: 0.64 to 0.83).
    Web,
    /// Popular keys by Zipf's law with exponent 0.99, values of 32 to 1,024 bytes.
    Zipf,
    /// Keys and values as of `zipf`; a third of all requests are scans of keys that nobody else asks
    /// for.
    ZipfScans,
}

/// Scale and shape of ETC's sizes in bytes.
const ETC_SCALE: f64 = 214.476;
const ETC_SHAPE: f64 = 0.348_238;
/// Mean and deviation of the logarithm of the size of web objects, and where and how their tail
/// begins.
const WEB_LOG_MEAN: f64 = 9.357;
const WEB_LOG_DEVIATION: f64 = 1.318;
const WEB_TAIL_PART: f64 = 0.07;
const WEB_TAIL_BYTES: f64 = 133_000.0;
const WEB_TAIL_SHAPE: f64 = 1.1;
/// A scan begins so many requests after the last one began, and is so long.
const SCAN_EVERY_REQUESTS: usize = 30_000;
const SCAN_REQUESTS: usize = 10_000;

impl Kind {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Etc => "etc",
            Kind::Web => "web",
            Kind::Zipf => "zipf",
            Kind::ZipfScans => "zipf-scans",
        }
    }

    /// So many requests for so many popular objects, the same each time.
    pub fn trace(self, objects: KeyId, requests: usize, bytes_max: u32) -> Trace {
        let sizes = Sizes {
            untold: ValueSizes {
                bytes_min: 32,
                bytes_max: 1024,
            },
            bytes_max,
        };
        let exponent = if self == Kind::Web { 0.8 } else { 0.99 };
        let mut popular = KeyPicker::zipf(objects, exponent);
        let mut random = SmallRng::seed_from_u64(1);
        let mut builder = Builder::new(sizes, requests);
        for number in 0..requests {
            let scans = number % SCAN_EVERY_REQUESTS >= SCAN_EVERY_REQUESTS - SCAN_REQUESTS;
            let key = match self == Kind::ZipfScans && scans {
                true => u64::from(objects) + number as u64,
                false => u64::from(popular.pick(&mut random)),
            };
            builder.add(Record::read(key, self.size(key as KeyId)));
        }
        builder.finish()
    }

    /// Size of an object in bytes, where it is not uniform.
    fn size(self, object: KeyId) -> Option<u32> {
        // Two numbers above 0 and below 1 that depend on the object alone.
        let bits = mix(object);
        let share = |bits: u64| (f64::from(bits as u32) + 0.5) / (f64::from(u32::MAX) + 1.0);
        let (one, other) = (share(bits), share(bits >> 32));
        let bytes = match self {
            Kind::Etc => ETC_SCALE * (one.powf(-ETC_SHAPE) - 1.0) / ETC_SHAPE,
            Kind::Web if other < WEB_TAIL_PART => WEB_TAIL_BYTES * one.powf(-1.0 / WEB_TAIL_SHAPE),
            Kind::Web => {
                // A normal deviate (Box and Muller, 1958); the tail's part of `other` is taken
                // already.
                let angle = (other - WEB_TAIL_PART) / (1.0 - WEB_TAIL_PART) * std::f64::consts::TAU;
                let deviate = (-2.0 * one.ln()).sqrt() * angle.cos();
                (WEB_LOG_MEAN + WEB_LOG_DEVIATION * deviate).exp()
            }
            Kind::Zipf | Kind::ZipfScans => return None,
        };
        Some(bytes as u32 + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sizes of many objects, smallest first.
    fn sizes(kind: Kind) -> Vec<u32> {
        let mut sizes: Vec<u32> = (0..100_000).filter_map(|id| kind.size(id)).collect();
        sizes.sort_unstable();
        sizes
    }

    #[test]
    fn sizes_follow_the_published_laws() {
        // The median of the generalized Pareto law: scale * (2^shape - 1) / shape = 168.
        let etc = sizes(Kind::Etc)[50_000];
        assert!(etc.abs_diff(168) <= 4, "{etc}");
        let web = sizes(Kind::Web);
        // 46.5 of the body's 93 hundredths lie below e^9.357 = 11,580 bytes.
        let body = web[46_500];
        assert!(body.abs_diff(11_580) <= 400, "{body}");
        // Above 133,000 * 2^(1/1.1) = 249,764 bytes lie half of the tail's seven hundredths and the
        // part of the body beyond (ln 249,764 - 9.357) / 1.318 = 2.33 deviations: 0.0099.
        let above = web.iter().filter(|&&size| size > 249_764).count();
        assert!(above.abs_diff(3500 + 921) < 150, "{above}");
    }

    #[test]
    fn a_third_of_the_requests_scan_what_nobody_else_asks_for() {
        let trace = Kind::ZipfScans.trace(100, 60_000, 1 << 20);
        assert_eq!(trace.requests.len(), 60_000);
        assert_eq!(trace.objects, 100 + 20_000);
        assert_eq!(trace, Kind::ZipfScans.trace(100, 60_000, 1 << 20));
    }
}
