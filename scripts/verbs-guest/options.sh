# shellcheck shell=bash disable=SC2034,SC2154 # the parts share their variables
# The options that a guest and a pair of guests have in common. To be sourced after common.sh.

seconds=300 programs=() guest_environment=() guest_arguments=()

# parse_options SCRIPT... -- ARGUMENT...: each SCRIPT is an option, and the variable that it sets.
parse_options() {
    local scripts=() name
    while [ "$1" != -- ]; do scripts+=("$1"); shift; done
    shift
    while [ $# -gt 0 ]; do
        [ "$1" = -- ] || [ $# -gt 1 ] || fail "$status_failed" "option $1 lacks its value"
        case $1 in
            --program) programs+=("$2") ;;
            --set) guest_environment+=("$2") ;;
            --seconds) seconds=$2 ;;
            --script*) declare -g "${1#--}=$2" ;;
            --) shift; guest_arguments=("$@"); break ;;
            *) fail "$status_failed" "unknown option $1; the first lines of $0 show the usage" ;;
        esac
        shift 2
    done
    for name in "${scripts[@]}"; do
        [ -f "${!name-}" ] || fail "$status_failed" "--$name is missing, or is no file: ${!name-}"
    done
}
