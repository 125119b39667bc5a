//! What every network must do, as functions over ports that its test file makes.
#![allow(
    dead_code,
    unused_macros,
    unused_imports,
    reason = "each test file uses a part of it"
)]

pub mod closing;
pub mod exchange;
pub mod harness;
pub mod large;
pub mod sleeping;

/// Makes tests of all of it. What makes the ports is an `Option`: without one the tests do nothing.
macro_rules! conformance_tests {
    ($ports:expr; $($file:ident: $($test:ident)*;)*) => {
        $($(
            #[test]
            fn $test() {
                if let Some(ports) = $ports {
                    $crate::conformance::$file::$test(ports);
                }
            }
        )*)*
    };
    ($ports:expr) => {
        $crate::conformance::conformance_tests! {
            $ports;
            exchange: requests_are_answered a_window_of_messages_arrives many_clients_are_told_apart
                a_port_may_have_several_servers_and_be_its_own lanes_are_named
                a_port_may_move_to_another_thread a_second_greeting_comes_from_the_same_peer
                a_server_may_be_left_and_met_again
                a_handler_takes_messages_until_it_leaves_one
                a_panic_of_a_handler_comes_through
                gets_and_values_arrive_as_they_are
                a_stranger_with_the_key_of_a_session_does_not_disturb_it;
            large: bodies_go_both_ways several_bodies_at_once a_body_may_be_refused
                too_little_room_panics;
            sleeping: an_armed_port_is_woken what_waits_is_not_slept_over;
            closing: closing_gives_everything_back nothing_is_sent_to_a_closed_peer
                others_are_not_disturbed a_greeting_may_be_turned_away;
        }
    };
}
pub(crate) use conformance_tests;
