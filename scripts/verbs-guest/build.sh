# shellcheck shell=bash disable=SC2034,SC2154 # the parts share their variables
# Builds what runs in the guest. To be sourced from the repository's root, after common.sh.

built_folder=${CARGO_TARGET_DIR:-target}

# built_test PACKAGE TEST: the path of an integration test's program.
built_test() {
    cargo test --quiet -p "$1" --test "$2" --no-run --message-format=json |
        sed -n 's/.*"executable":"\([^"]*\)".*/\1/p'
}

# What the checks of the fabric need.
build_fabric_programs() {
    cargo build --quiet -p farcache-server --bin farcached
    cargo build --quiet -p farcache-conformance
    fabric_programs=(--program "$built_folder/debug/farcached"
        --program "$built_folder/debug/farcache-conformance" --program memcached)
}
