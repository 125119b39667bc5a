#!/bin/sh
# Installs what Farcache needs on a Debian-like machine: install-deps.sh [build] [run] [test] [bench] [workloads] [hadoop] [moosefs]
#
# Says nothing and touches nothing where all is there already. Uses sudo only when not root.
set -eu

# Lines of "purpose package probe"; a probe is a command, a file (with a slash), a module of Python or PHP,
# Python's header or a library. A package is installed when its probe fails, so a tool that came another way is left alone.
needs='
build gcc           cc
build libc6-dev     /usr/include/stdio.h
build pkg-config    pkg-config
build curl          curl
build ca-certificates /etc/ssl/certs/ca-certificates.crt
build protobuf-compiler protoc
build libprotobuf-dev /usr/include/google/protobuf/descriptor.proto
run   libucx0       library:libucp.so.0
test  g++           c++
test  python3       python3
test  python3-venv  python-module:ensurepip
test  perl          perl
test  openssl       openssl
test  golang-go     go
test  openjdk-17-jdk-headless javac
test  maven         mvn
test  nodejs        node
test  npm           npm
test  memcached     memcached
test  libmemcached-tools memccapable
test  libmemcached-dev /usr/include/libmemcached/memcached.h
test  libhashkit-dev /usr/include/libhashkit/hashkit.h
test  libmemcached11 library:libmemcached.so.11
test  libmemcachedutil2 library:libmemcachedutil.so.2
test  libsasl2-dev  /usr/include/sasl/sasl.h
test  libsasl2-modules /usr/lib/*/sasl2/libplain.so
test  python3-dev   python-header
test  zlib1g-dev    /usr/include/zlib.h
test  php-cli       php
test  php-memcached php-module:memcached
test  apache2-bin   /usr/sbin/apache2
test  libapache2-mod-oauth2 /usr/lib/apache2/modules/mod_oauth2.so
test  binutils      objdump
test  man-db        man
test  systemd       systemd-analyze
test  prometheus    promtool
test  etcd-server   etcd
test  valgrind      valgrind
test  libucx0       library:libucp.so.0
test  ucx-utils     ucx_info
test  libisal2      library:libisal.so.2
test  libucx-dev    /usr/include/ucp/api/ucp.h
test  qemu-system-x86 qemu-system-x86_64
test  busybox-static busybox
test  cpio          cpio
test  kmod          /sbin/modprobe
test  iproute2      /sbin/ip
test  netcat-openbsd nc
test  fdisk         /sbin/sfdisk
test  e2fsprogs     /sbin/mkfs.ext4
test  xfsprogs      /sbin/mkfs.xfs
test  debhelper     dh
test  lintian       lintian
test  mmdebstrap    mmdebstrap
test  buildah       buildah
test  ibverbs-providers /etc/libibverbs.d/rxe.driver
bench memcached     memcached
bench libucx0       library:libucp.so.0
bench libisal2      library:libisal.so.2
workloads gcc       cc
workloads memcached memcached
workloads libucx0   library:libucp.so.0
workloads libmemcached-dev /usr/include/libmemcached/memcached.h
workloads libmemcached11 library:libmemcached.so.11
workloads mariadb-server-core /usr/sbin/mariadbd
workloads libmariadb-dev /usr/include/mariadb/mysql.h
hadoop openjdk-17-jdk-headless javac
hadoop maven        mvn
hadoop python3      python3
hadoop binutils     strip
moosefs moosefs-master /usr/sbin/mfsmaster
moosefs moosefs-chunkserver /usr/sbin/mfschunkserver
moosefs moosefs-client mfsmount
moosefs iproute2    /sbin/ip
'

# The oldest compiler that builds Farcache.
rust_minor_min=95

fail() {
    echo "install-deps: $*" >&2
    exit 1
}

# ldconfig lists what the dynamic loader will find; it may lie outside of a user's PATH.
library_is_there() {
    PATH="$PATH:/sbin:/usr/sbin" ldconfig -p 2>/dev/null | grep -q "^[[:space:]]*$1 "
}

is_there() {
    case $1 in
        python-header) python3 -c 'import os, sysconfig, sys; sys.exit(not os.path.exists(sysconfig.get_path("include") + "/Python.h"))' 2>/dev/null ;;
        php-module:*) php -m 2>/dev/null | grep -qx "${1#php-module:}" ;;
        python-module:*) python3 -c "import ${1#python-module:}" 2>/dev/null ;;
        library:*) library_is_there "${1#library:}" ;;
        /*)
            # shellcheck disable=SC2086 # a pattern, where the folder is named after the architecture
            [ -e $1 ]
            ;;
        *) command -v "$1" >/dev/null 2>&1 ;;
    esac
}

missing_packages() {
    echo "$needs" | while read -r purpose package probe; do
        case " $* " in
            *" ${purpose:-none} "*) is_there "$probe" || echo "$package" ;;
        esac
    done | sort -u
}

as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    else
        sudo "$@"
    fi
}

install_packages() {
    command -v apt-get >/dev/null 2>&1 ||
        fail "this machine is not Debian-like; please install the equivalents of: $*"
    [ "$(id -u)" -eq 0 ] || command -v sudo >/dev/null 2>&1 ||
        fail "please install as root (there is no sudo here): apt-get install $*"
    echo "install-deps: installing $*" >&2
    log=$(mktemp)
    # shellcheck disable=SC2024 # the log is ours, not root's
    if ! { as_root apt-get update && as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y --no-install-recommends "$@"; } >"$log" 2>&1; then
        tail -n 20 "$log" >&2
        fail "apt-get could not install: $*"
    fi
    rm -f "$log"
}

rust_is_recent() {
    command -v cargo >/dev/null 2>&1 && command -v rustc >/dev/null 2>&1 || return 1
    minor=$(rustc --version | sed -n 's/^rustc 1\.\([0-9]*\)\..*/\1/p')
    [ "${minor:-0}" -ge "$rust_minor_min" ]
}

# Debian's own compiler may be too old, so a missing one comes from rustup.
ensure_rust() {
    PATH="$HOME/.cargo/bin:$PATH"
    rust_is_recent && return
    [ "$(id -u)" -ne 0 ] || [ -z "${SUDO_UID:-}" ] ||
        fail "no Rust 1.$rust_minor_min or later is here for root, and rustup is not run by sudo; build as yourself"
    echo "install-deps: no Rust 1.$rust_minor_min or later here; installing the stable" \
        "toolchain with rustup from https://rustup.rs into ~/.cargo" >&2
    # Where https://sh.rustup.rs leads; the toolchain comes from the same host, the only one that must be reached.
    curl --proto '=https' --tlsv1.2 -sSf https://static.rust-lang.org/rustup/rustup-init.sh |
        sh -s -- -y --quiet --no-modify-path --profile minimal \
            --default-toolchain stable --component rustfmt --component clippy
    rust_is_recent || fail "rustup ended without a usable toolchain; see https://rustup.rs"
}

[ $# -gt 0 ] || set -- build test bench
purposes=$(echo "$needs" | awk 'NF { print $1 }' | sort -u | tr '\n' ' ')
for purpose in "$@"; do
    case " $purposes" in
        *" $purpose "*) ;;
        *) fail "unknown purpose '$purpose' (known: ${purposes% })" ;;
    esac
done

packages=$(missing_packages "$@")
# shellcheck disable=SC2086 # a list of words
[ -z "$packages" ] || install_packages $packages
case " $* " in *" build "*) ensure_rust ;; esac
