#!/bin/sh
# Builds the fuzz targets with coverage instrumentation, on stable Rust and without cargo-fuzz, and
# runs each for a while, as many at once as there are processors.
# Usage: scripts/fuzz.sh [seconds per target] [targets...]
# What a target finds is left in fuzz/artifacts/, what it learns in fuzz/corpus/.
set -eu
cd "$(dirname "$0")/.."

seconds=${1:-10}
[ $# -gt 0 ] && shift
targets=${*:-text meta binary session frame fabric replies text_replies options device check erasure manifest map tenure offer part peers report traces}

host=$(rustc -vV | sed -n 's/^host: //p')
target_dir=${FUZZ_TARGET_DIR:-fuzz/target}

# What cargo-fuzz asks of the compiler, less what only nightly has (the address sanitizer).
# Naming the target keeps build scripts and macros, which run here and now, free of it.
instrumentation="-Cpasses=sancov-module
 -Cllvm-args=-sanitizer-coverage-level=4
 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters
 -Cllvm-args=-sanitizer-coverage-pc-table
 -Cllvm-args=-sanitizer-coverage-trace-compares
 --cfg fuzzing"

bins=$(for name in $targets; do printf -- '--bin %s ' "$name"; done)

# shellcheck disable=SC2086 # the options are meant to be split
RUSTFLAGS=$(echo "$instrumentation" | tr '\n' ' ') \
    cargo build --quiet --release --manifest-path fuzz/Cargo.toml --target "$host" --target-dir "$target_dir" $bins

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
    xargs -P "$(nproc)" -I NAME sh -c "$run_target" fuzz-target "$target_dir/$host/release" "$seconds" NAME
