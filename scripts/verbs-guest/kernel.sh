# shellcheck shell=bash disable=SC2034,SC2154 # the parts share their variables
# Gets Debian's kernel package and takes the kernel and the modules of the guest out of it. Nothing is
# installed. What was taken is kept in $guest_cache/kernel until the list of modules changes; remove the
# folder to get a newer kernel. To be sourced after common.sh.

# In the order in which they are loaded; what they need comes before them by itself. rxe computes its
# checksums with crc32.
guest_modules=(crc32_generic rdma_rxe rdma_ucm dummy virtio_pci virtio_net)
kernel_folder=$guest_cache/kernel

# The package that Debian's newest kernel is in.
newest_kernel_package() {
    apt-cache depends --important linux-image-amd64 2>/dev/null |
        sed -n 's/^ *Depends: \(linux-image-[0-9].*\)/\1/p' | head -n 1
}

# Downloads into the current folder.
download_kernel() {
    local package
    package=$(newest_kernel_package)
    [ -n "$package" ] || { echo "apt knows no package linux-image-amd64" >&2; return 1; }
    apt-get download -q "$package"
}

update_package_lists() {
    if [ "$(id -u)" -eq 0 ]; then apt-get update -q; else sudo -n apt-get update -q; fi
}

# A list of packages that is missing or too old names packages that are not there any more.
download_kernel_or_update() {
    download_kernel || { update_package_lists && download_kernel; }
}

# take_modules UNPACKED TARGET: copies the modules with numbers that give the order.
take_modules() {
    local unpacked=$1 target=$2 version path module number=100
    version=$(basename "$unpacked"/lib/modules/*)
    PATH=$PATH:/sbin:/usr/sbin
    depmod -b "$unpacked" "$version"
    for module in "${guest_modules[@]}"; do
        modprobe -d "$unpacked" -S "$version" --show-depends "$module"
    done | awk '$1 == "insmod" && !seen[$2]++ { print $2 }' >"$target/order"
    while read -r path; do
        number=$((number + 1))
        take_module "$path" "$target/$number-$(basename "$path")"
    done <"$target/order"
}

take_module() {
    case $1 in
        *.xz) xz -dc "$1" >"${2%.xz}" ;;
        *.zst) zstd -qdc "$1" >"${2%.zst}" ;;
        *) cp "$1" "$2" ;;
    esac
}

# build_kernel_folder FOLDER: downloads, unpacks, takes what is needed, forgets the rest.
build_kernel_folder() (
    set -e
    mkdir -p "$1/modules" "$1/unpacked"
    cd "$1"
    download_kernel_or_update >download.log 2>&1 ||
        cannot "Debian's kernel package could not be downloaded: $(tail -n 2 download.log | tr '\n' ' ')"
    dpkg-deb -x ./*.deb unpacked
    cp unpacked/boot/vmlinuz-* vmlinuz
    take_modules "$PWD/unpacked" modules
    basename ./*.deb >package
    rm -rf unpacked ./*.deb
    echo "${guest_modules[*]}" >wanted
)

prepare_kernel() {
    [ "$(cat "$kernel_folder/wanted" 2>/dev/null)" != "${guest_modules[*]}" ] || return 0
    need_command apt-get apt
    local fresh
    mkdir -p "$guest_cache"
    fresh=$(mktemp -d "$guest_cache/kernel.XXXXXX")
    # In the background, so that `set -e` holds within.
    build_kernel_folder "$fresh" &
    wait $! || { local status=$?; rm -rf "$fresh"; exit "$status"; }
    rm -rf "$kernel_folder"
    mv "$fresh" "$kernel_folder"
}
