#!/usr/bin/env bash
# Print where the brokers' programs are, for the tests that publish to them. If one is missing,
# install it where that needs no question, else say what to install. (NATS comes by pip.)
set -euo pipefail

places="${PENSTOCK_BROKER_PLACES:-/usr/bin /usr/sbin /opt/homebrew/sbin /opt/homebrew/bin}"

find_program() {
    local place
    for place in $places; do
        if [ -x "$place/$1" ]; then
            echo "$place/$1"
            return 0
        fi
    done
    return 1
}

install_package() {
    local as_root=()
    command -v apt-get >/dev/null || return 1
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null && sudo -n true 2>/dev/null || return 1
        as_root=(sudo -n)
    fi
    echo "No $1 here: installing it with apt-get." >&2
    as_root+=(env DEBIAN_FRONTEND=noninteractive)
    "${as_root[@]}" apt-get -qq update >&2 || return 1
    "${as_root[@]}" apt-get -qq install -y --no-install-recommends "$1" >&2
}

found=0
for program in redis-server mosquitto; do
    if ! find_program "$program" && ! { install_package "$program" && find_program "$program"; }; then
        echo "The tests with $program are skipped: there is none here (on Debian and Ubuntu:" \
            "apt-get install $program)." >&2
        found=1
    fi
done
exit "$found"
