# shellcheck shell=bash disable=SC2034,SC2154 # the parts share their variables
# Makes the guest's file system: busybox, modules, verbs, UCX, and what the caller wants to run, each
# with the libraries that it names. To be sourced after common.sh and kernel.sh.

# Copies a file to the same place below the root, once.
copy_same_place() {
    [ -e "$guest_root$1" ] || install -D "$1" "$guest_root$1"
}

# Copies the libraries that a program or library names.
copy_libraries_of() {
    local library
    for library in $(ldd "$1" 2>/dev/null | grep -o '/[^ ]*'); do
        copy_same_place "$library"
    done
}

copy_with_libraries() {
    copy_same_place "$1"
    copy_libraries_of "$1"
}

# The place of a library that is loaded by name at run time.
find_library() {
    PATH=$PATH:/sbin:/usr/sbin ldconfig -p | awk -v name="$1" '$1 == name { print $NF; exit }'
}

# Debian's merged layout, so that both names of a folder lead to the same files.
make_folders() {
    local name
    for name in bin sbin lib lib64; do
        mkdir -p "$guest_root/usr/$name"
        ln -s "usr/$name" "$guest_root/$name"
    done
    mkdir -p "$guest_root"/{proc,sys,dev,tmp,run,root,etc,guest/bin}
    printf 'root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/sh\n' >"$guest_root/etc/passwd"
    printf '127.0.0.1 localhost\n10.99.0.1 guest1\n10.99.0.2 guest2\n' >"$guest_root/etc/hosts"
}

copy_busybox() {
    local name
    install "$(command -v busybox)" "$guest_root/bin/busybox"
    for name in $(busybox --list); do
        [ "$name" = busybox ] || ln -s busybox "$guest_root/bin/$name"
    done
}

# The providers of verbs: libibverbs loads each that a file in its configuration names. Of Debian's only
# that of Soft-RoCE has a device in the guest.
copy_verbs() {
    local provider
    provider=$(find /usr/lib/*/libibverbs -name 'librxe-*.so' 2>/dev/null | head -n 1)
    [ -n "$provider" ] || cannot "libibverbs' provider for Soft-RoCE is not here (package ibverbs-providers)"
    copy_with_libraries "$provider"
    copy_same_place /etc/libibverbs.d/rxe.driver
    copy_with_libraries "$(PATH=$PATH:/sbin:/usr/sbin command -v rdma)"
}

copy_ucx() {
    local library plugin
    library=$(find_library libucp.so.0)
    [ -n "$library" ] || cannot "UCX is not here (package libucx0)"
    copy_with_libraries "$library"
    for plugin in "$(dirname "$library")"/ucx/*.so.0; do
        copy_with_libraries "$plugin"
        # UCX loads them by the name without a version.
        ln -s "$(basename "$plugin")" "$guest_root${plugin%.0}"
    done
}

# copy_program SOURCE[:NAME]: into the guest's PATH, without what only a debugger reads.
copy_program() {
    local source=${1%%:*} name=${1#*:}
    [ -f "$source" ] || source=$(command -v "$source") || fail "$status_failed" "no program ${1%%:*}"
    name=$guest_root/guest/bin/$(basename "$name")
    # A script has nothing to strip.
    strip --strip-debug -o "$name" "$source" 2>/dev/null || cp "$source" "$name"
    chmod 755 "$name"
    copy_libraries_of "$source"
}

# write_settings TARGET: shell text of the array `guest_environment` (NAME=VALUE) and of the script's
# arguments, `guest_arguments`.
write_settings() {
    local setting
    for setting in "${guest_environment[@]}"; do
        echo "export ${setting@Q}"
    done >"$1"
    echo "set -- ${guest_arguments[*]@Q}" >>"$1"
}

# make_initramfs TARGET SCRIPT PROGRAM...
make_initramfs() {
    local target=$1 script=$2 program
    shift 2
    guest_root=$(dirname "$target")/root
    make_folders
    copy_busybox
    cp -r "$kernel_folder/modules" "$guest_root/guest/modules"
    cp "$repository/scripts/verbs-guest/init" "$guest_root/init"
    cp "$script" "$guest_root/guest/script"
    write_settings "$guest_root/guest/settings"
    if [ "${guest_has_verbs:-yes}" = yes ]; then
        copy_verbs
        copy_ucx
    fi
    for program in "$@"; do copy_program "$program"; done
    (cd "$guest_root" && find . | cpio --quiet -o -H newc) >"$target"
    rm -rf "$guest_root"
}
