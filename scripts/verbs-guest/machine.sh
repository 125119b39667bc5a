# shellcheck shell=bash disable=SC2034,SC2154 # the parts share their variables
# Starts guests, waits for them and ends them by their process ids. To be sourced after common.sh.
#
# A guest has three serial ports: its console, what its script prints, and how far it has come ("ready",
# "failed: WHY", "exit STATUS"). In its folder they are the files console, output and progress.

guest_memory_mb=2500
# From power to the script; 5 s where nothing else runs.
boot_seconds_max=180
# no_timer_check: on a busy host the kernel's short test of the timer's interrupt sometimes fails, and it gives up.
kernel_options="console=ttyS0 panic=-1 no_timer_check"
guest_pids=()

# start_guest FOLDER OUTPUT DEVICE ADDRESS QEMU-OPTION...: OUTPUT is QEMU's text for a character device.
# Leaves the process id in `guest_pid`.
start_guest() {
    local folder=$1 output=$2 device=$3 address=$4
    shift 4
    : >"$folder/progress"
    qemu-system-x86_64 -accel tcg,thread=multi -cpu max -smp 2 -m "$guest_memory_mb" \
        -nodefaults -no-user-config -display none -no-reboot \
        -kernel "$kernel_folder/vmlinuz" -initrd "$folder/initramfs" \
        -append "$kernel_options guest.device=$device guest.address=$address" \
        -chardev "file,id=console,path=$folder/console" -serial chardev:console \
        -chardev "$output,id=output" -serial chardev:output \
        -chardev "file,id=progress,path=$folder/progress" -serial chardev:progress \
        "$@" </dev/null 2>"$folder/qemu" &
    guest_pid=$!
    guest_pids+=("$guest_pid")
}

end_guests() {
    local pid
    for pid in "${guest_pids[@]}"; do
        kill "$pid" 2>/dev/null && wait "$pid" 2>/dev/null
    done
    guest_pids=()
}

# show_last FOLDER: what helps to see why a guest failed.
show_last() {
    local name
    for name in qemu console; do
        [ -s "$1/$name" ] || continue
        echo "--- the last lines of $name:" >&2
        tail -n 20 "$1/$name" | tr -d '\r' >&2
    done
}

is_ready() {
    grep -q '^ready' "$1/progress"
}

# wait_for_boot FOLDER PID
wait_for_boot() {
    local limit=$((SECONDS + boot_seconds_max))
    until is_ready "$1"; do
        if ! kill -0 "$2" 2>/dev/null; then
            show_last "$1"
            fail "$status_failed" "the guest ended before it was ready: $(sed -n 's/^failed: //p' "$1/progress")"
        elif [ "$SECONDS" -ge "$limit" ]; then
            show_last "$1"
            fail "$status_failed" "the guest was not ready within $boot_seconds_max s"
        fi
        sleep 0.2
    done
}

# wait_for_exit FOLDER PID SECONDS: until the guest ends; the script's exit status is in `guest_status`.
wait_for_exit() {
    local limit=$((SECONDS + $3))
    while kill -0 "$2" 2>/dev/null; do
        if [ "$SECONDS" -ge "$limit" ]; then
            show_last "$1"
            fail "$status_timed_out" "the script did not end within $3 s"
        fi
        sleep 0.2
    done
    guest_status=$(sed -n 's/^exit //p' "$1/progress")
    [ -n "$guest_status" ] && return
    show_last "$1"
    fail "$status_failed" "the guest ended before its script did"
}
