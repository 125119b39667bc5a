//! A reader that has gone (`farcache-load --help | head -1`) ends a program, and is no failure of
//! it.

/// What the standard library's panic says when standard output is not there any more.
const MESSAGE: &str = "failed printing to std";

/// Exit status of a program that SIGPIPE has ended, as shells show it.
const STATUS: i32 = 128 + 13;

/// From now on the program ends without a word when what reads its output has gone.
pub fn end_quietly() {
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let message = panic.payload_as_str().unwrap_or_default();
        if message.starts_with(MESSAGE) && message.contains("Broken pipe") {
            std::process::exit(STATUS);
        }
        report(panic);
    }));
}
