# shellcheck shell=bash disable=SC2034,SC2154 # the parts share their variables
# What the parts of the verbs guest share: where things lie, and how they end. To be sourced.

# Exit statuses beside the one of the command in the guest; 77 is automake's "skipped".
status_cannot_be_had=77
status_timed_out=124
status_failed=125

repository=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
guest_cache=${CARGO_TARGET_DIR:-$repository/target}/verbs-guest

# fail STATUS TEXT...
fail() {
    local status=$1
    shift
    echo "verbs-guest: $*" >&2
    exit "$status"
}

# The guest cannot be built or started on this machine. The test command looks for such lines.
cannot() {
    echo "SKIPPED: verbs guest: $*"
    exit "$status_cannot_be_had"
}

need_command() {
    PATH=$PATH:/sbin:/usr/sbin command -v "$1" >/dev/null || cannot "no $1 here (package $2)"
}

check_host() {
    [ "$(uname -m)" = x86_64 ] || cannot "the guest is x86-64 only, this machine is $(uname -m)"
    need_command qemu-system-x86_64 qemu-system-x86
    need_command busybox busybox-static
    need_command cpio cpio
    need_command depmod kmod
    [ "${guest_has_verbs:-yes}" != yes ] || need_command rdma iproute2
}
