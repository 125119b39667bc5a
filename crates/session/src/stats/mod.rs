//! `stats` in all its forms, under memcached's names and in its order, so that tools made for it
//! work. What memcached has and a segment store has not (slab moves, LRU queues) is reported as 0.

mod cachedump;
mod detail;
mod general;
mod items;
mod since_reset;
mod sizes;
pub mod tier;

pub use crate::report::Report;
pub use detail::Detail;
pub(crate) use since_reset::StoreStatsBase;

use super::Context;
use crate::host::HostTopic;
use crate::report::Form;

/// What is asked for.
#[derive(Clone, Copy)]
enum Topic {
    General,
    Settings,
    Items,
    Slabs,
    Sizes,
    SizesEnable,
    SizesDisable,
    Cluster,
    Connections,
    Fabric,
    Redundancy,
    /// memcached's second tier, page by page: here pages are many and have no numbers.
    ExternalStore,
    Tier,
}

impl Topic {
    fn from_name(name: &[u8]) -> Option<Topic> {
        Some(match name {
            b"" => Topic::General,
            b"settings" => Topic::Settings,
            b"items" => Topic::Items,
            b"slabs" => Topic::Slabs,
            b"sizes" => Topic::Sizes,
            b"sizes_enable" => Topic::SizesEnable,
            b"sizes_disable" => Topic::SizesDisable,
            b"cluster" => Topic::Cluster,
            b"conns" => Topic::Connections,
            b"fabric" => Topic::Fabric,
            b"redundancy" => Topic::Redundancy,
            b"extstore" => Topic::ExternalStore,
            b"tier" => Topic::Tier,
            _ => return None,
        })
    }
}

/// Appends the reply to a text `stats` command with these arguments (what follows `stats` in the
/// line, without the line's end).
pub(crate) fn report(arguments: &[u8], context: &Context<'_>, out: &mut Vec<u8>) {
    let mut words = arguments
        .split(|&byte| byte == b' ')
        .filter(|word| !word.is_empty());
    match words.next().unwrap_or_default() {
        b"reset" => {
            reset(context);
            out.extend_from_slice(b"RESET\r\n");
        }
        b"detail" => detail_command(words.next(), context, out),
        b"cachedump" => cachedump::collect([words.next(), words.next()], context, out),
        name => match Topic::from_name(name) {
            Some(topic) => collect(topic, context, out, Form::Text),
            None => out.extend_from_slice(b"ERROR\r\n"),
        },
    }
}

/// Appends the packets that answer a binary stat request for `name`; false if there is nothing of
/// that name, and then nothing was appended.
pub(crate) fn report_packets(
    name: &[u8],
    opaque: u32,
    context: &Context<'_>,
    out: &mut Vec<u8>,
) -> bool {
    let form = Form::Packets { opaque };
    match name {
        b"reset" => {
            reset(context);
            Report::new(out, form).end();
        }
        b"detail on" | b"detail off" => {
            context.service.detail.switch(name == b"detail on");
            Report::new(out, form).end();
        }
        b"detail dump" => dump_packet(context, out, form),
        _ => match Topic::from_name(name) {
            Some(topic) => collect(topic, context, out, form),
            None => return false,
        },
    }
    true
}

fn collect(topic: Topic, context: &Context<'_>, out: &mut Vec<u8>, form: Form) {
    let mut report = Report::new(out, form);
    match topic {
        Topic::General => general::collect(context, &mut report),
        Topic::Settings => of_host(HostTopic::Settings, context, &mut report),
        Topic::Items => items::items(context, &mut report),
        Topic::Slabs => items::slabs(context, &mut report),
        Topic::Sizes => sizes::collect(context, &mut report),
        Topic::SizesEnable => sizes::switch(true, context, &mut report),
        Topic::SizesDisable => sizes::switch(false, context, &mut report),
        Topic::Cluster => of_host(HostTopic::Cluster, context, &mut report),
        Topic::Connections => of_host(HostTopic::Connections, context, &mut report),
        Topic::Fabric => of_host(HostTopic::Fabric, context, &mut report),
        Topic::Redundancy => of_host(HostTopic::Redundancy, context, &mut report),
        Topic::ExternalStore => {}
        Topic::Tier => tier::collect(context, &mut report),
    }
    // memcached does not end these two with `END` in the text protocol.
    let is_unended =
        matches!(topic, Topic::SizesEnable | Topic::SizesDisable) && matches!(form, Form::Text);
    if !is_unended {
        report.end();
    }
}

/// What only the server can tell.
fn of_host(topic: HostTopic, context: &Context<'_>, report: &mut Report<'_>) {
    context.host.report(topic, context.clock, report);
}

/// Starts every count anew.
fn reset(context: &Context<'_>) {
    context.host.reset_totals();
    since_reset::reset(context);
    context.service.detail.clear();
}

fn detail_command(argument: Option<&[u8]>, context: &Context<'_>, out: &mut Vec<u8>) {
    match argument {
        Some(b"dump") => return context.service.detail.dump(out),
        Some(b"on") => context.service.detail.switch(true),
        Some(b"off") => context.service.detail.switch(false),
        _ => return out.extend_from_slice(b"CLIENT_ERROR usage: stats detail on|off|dump\r\n"),
    }
    out.extend_from_slice(b"OK\r\n");
}

fn dump_packet(context: &Context<'_>, out: &mut Vec<u8>, form: Form) {
    let mut dump = Vec::new();
    context.service.detail.dump(&mut dump);
    let mut report = Report::new(out, form);
    report.stat("detailed", String::from_utf8_lossy(&dump));
    report.end();
}
