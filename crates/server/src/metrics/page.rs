//! The page that Prometheus reads: how a figure is written on it.

use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Unit;
use std::fmt;

/// What a figure is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// It counts what has happened since the start.
    Counter,
    /// It is what there is now.
    Gauge,
    /// It is a time in microseconds, shown in seconds.
    Micros,
}

/// The page while it is written.
pub(super) struct Page<'a>(pub DescriptorEncoder<'a>);

impl Page<'_> {
    /// A figure of any kind.
    pub fn figure(&mut self, kind: Kind, name: &str, help: &str, value: u64) -> fmt::Result {
        match kind {
            Kind::Counter => self.counter(name, help, value),
            Kind::Gauge => self.gauge(name, help, value),
            Kind::Micros => ConstGauge::new(value as f64 / 1e6).encode(self.gauges(name, help)?),
        }
    }

    /// What has happened since the start.
    pub fn counter(&mut self, name: &str, help: &str, value: u64) -> fmt::Result {
        let metric = self
            .0
            .encode_descriptor(name, help, None, MetricType::Counter)?;
        ConstCounter::new(value).encode(metric)
    }

    /// What there is now.
    pub fn gauge(&mut self, name: &str, help: &str, value: u64) -> fmt::Result {
        ConstGauge::new(value.cast_signed()).encode(self.gauges(name, help)?)
    }

    /// Gauges of one name, each with its labels.
    pub fn gauges<'s>(
        &'s mut self,
        name: &'s str,
        help: &str,
    ) -> Result<MetricEncoder<'s>, fmt::Error> {
        self.0
            .encode_descriptor(name, help, None, MetricType::Gauge)
    }

    /// Times in seconds: their sum, and how many there are up to each bound.
    pub fn times(
        &mut self,
        name: &str,
        help: &str,
        sum_seconds: f64,
        buckets: &[(f64, u64)],
    ) -> fmt::Result {
        let count = buckets.iter().map(|(_, count)| count).sum();
        let mut metric =
            self.0
                .encode_descriptor(name, help, Some(&Unit::Seconds), MetricType::Histogram)?;
        metric.encode_histogram::<NoLabelSet>(sum_seconds, count, buckets, None)
    }
}

/// Our name of a figure.
pub(super) fn renamed<'a>(names: &[(&str, &'a str)], name: &'a str) -> &'a str {
    let found = names.iter().find(|(theirs, _)| *theirs == name);
    found.map_or(name, |(_, ours)| ours)
}
