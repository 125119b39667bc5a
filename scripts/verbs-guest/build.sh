# shellcheck shell=bash disable=SC2034,SC2154 # the parts share their variables
# Builds what runs in the guest. To be sourced from the repository's root, after common.sh.

built_folder=${CARGO_TARGET_DIR:-target}

# built_test FOLDER TEST: the path of an integration test's program. As of all packages, so that they are compiled once.
built_test() {
    cargo test --quiet --workspace --test "$2" --no-run --message-format=json |
        sed -n "/\/$(printf %s "$1" | sed 's,/,\\/,g')\//s/.*\"executable\":\"\([^\"]*\)\".*/\1/p"
}

# What the checks of the fabric need.
build_fabric_programs() {
    scripts/test-programs
    fabric_programs=(--program "$built_folder/debug/farcached"
        --program "$built_folder/debug/farcache-conformance" --program memcached)
}
