# shellcheck shell=sh
# Runs inside the virtual machine: loads a server until the power is cut, or checks disks after a cut.
# The kernel's command line says which; scripts/power-loss sets it.
#
# Partition 1 of a disk holds the server's SSD tier (raw, or a file in a file system), partition 2 a second
# device where there are two, partition 3 the mark of what has been acknowledged.

kernel_argument() {
    sed -n "s/.*guest\.$1=\([^ ]*\).*/\1/p" /proc/cmdline
}

kind=$(kernel_argument kind)
durability=$(kernel_argument durability)
options=$(kernel_argument options | tr , ' ')
tier_size=$(kernel_argument tier)
starts=$(kernel_argument starts)
address=127.0.0.1:11211
server=
# Deadlines, in tenths of a second; an emulated machine on a busy host is slow.
start_tenths=1200

# mount_disk DISK: sets `devices`, the server's options.
mount_disk() {
    case $kind in
        raw) devices="--ssd $1"1 ;;
        raw2) devices="--ssd $1"1" --ssd $1"2 ;;
        *)
            mkdir -p /mnt
            mount -t "$kind" "$1"1 /mnt || return 1
            devices="--ssd /mnt/tier:$tier_size"
            ;;
    esac
}

unmount_disk() {
    case $kind in
        raw*) ;;
        *) umount /mnt ;;
    esac
}

start_server() {
    rm -f /tmp/port
    # shellcheck disable=SC2086 # several options
    farcached $options --port-file=/tmp/port $devices 2>/tmp/log &
    server=$!
    tenths=0
    until [ -s /tmp/port ]; do
        kill -0 "$server" 2>/dev/null || { echo "FAILED: the server did not start"; cat /tmp/log; return 1; }
        [ "$tenths" -lt "$start_tenths" ] || { echo "FAILED: the server does not get ready"; return 1; }
        usleep 100000
        tenths=$((tenths + 1))
    done
}

stop_server() {
    kill "$server"
    wait "$server" || { echo "FAILED: the server ended with status $?"; cat /tmp/log; return 1; }
}

strictness() {
    [ "$durability" != sync ] || echo --strict
}

# check_once DISK
check_once() {
    start_server || return 1
    # shellcheck disable=SC2046 # none or one option
    witness --address "$address" --marks "$1"3 check $(strictness)
    outcome=$?
    [ "$outcome" -eq 0 ] || cat /tmp/log
    stop_server && return "$outcome"
}

check_disk() {
    mount_disk "$1" || { echo "FAILED: the file system cannot be mounted"; return 1; }
    start=0 outcome=0
    while [ "$start" -lt "$starts" ] && [ "$outcome" -eq 0 ]; do
        check_once "$1"
        outcome=$?
        start=$((start + 1))
    done
    unmount_disk || { echo "FAILED: the file system cannot be unmounted"; return 1; }
    return "$outcome"
}

case $(kernel_argument action) in
    check)
        for disk in /dev/vd?; do
            echo "disk $disk"
            check_disk "$disk"
            echo "status $?"
        done
        ;;
    load)
        mount_disk /dev/vda && start_server && echo loading &&
            witness --address "$address" --marks /dev/vda3 load \
                --life "$(kernel_argument life)" --seed "$(kernel_argument seed)"
        ;;
esac
