#!/bin/sh
# Builds the fuzz targets with coverage instrumentation (scripts/rustc/fuzzing), on stable Rust and
# without cargo-fuzz, and runs each for a while, as many at once as there are processors.
# Usage: scripts/fuzz.sh [seconds per target] [targets...]
# What a target finds is left in fuzz/artifacts/, what it learns in fuzz/corpus/.
set -eu
cd "$(dirname "$0")/.."

seconds=${1:-10}
[ $# -gt 0 ] && shift
targets=${*:-text meta binary session frame fabric replies text_replies options device check erasure manifest map tenure offer part peers report traces}

target_dir=${CARGO_TARGET_DIR:-target}

examples=$(for name in $targets; do printf -- '--example %s ' "$name"; done)

# All the workspace is asked for so that outside crates are those of the other tests, features included.
# shellcheck disable=SC2086 # the options are meant to be split
CARGO_INCREMENTAL=0 RUSTC_WORKSPACE_WRAPPER="$PWD/scripts/rustc/fuzzing" \
    cargo build --quiet --workspace --features farcache-fuzz/targets $examples

# Runs one target in a shell of its own: $1 the programs, $2 seconds, $3 the target's name.
# shellcheck disable=SC2016 # expanded by the shell that runs it
run_target='
programs=$1 seconds=$2 name=$3
corpus=fuzz/corpus/$name
artifacts=fuzz/artifacts/$name
mkdir -p "$corpus" "$artifacts"
if ! "$programs/$name" -max_total_time="$seconds" -max_len=65536 -timeout=10 \
    -rss_limit_mb=2048 -print_final_stats=1 -verbosity=0 -artifact_prefix="$artifacts/" \
    "$corpus" "fuzz/seeds/$name" >"$artifacts/log" 2>&1; then
    tail -n 60 "$artifacts/log"
    echo "fuzz: $name failed; the input is in $artifacts"
    exit 1
fi
sed -n "s/^stat::number_of_executed_units: */fuzz: $name ran inputs: /p" "$artifacts/log"
'
# shellcheck disable=SC2086 # the names are meant to be split
printf '%s\n' $targets |
    xargs -P "$(nproc)" -I NAME sh -c "$run_target" fuzz-target "$target_dir/debug/examples" "$seconds" NAME
