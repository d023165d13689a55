#!/usr/bin/env bash
# Print where PostgreSQL's programs are, for the tests that look rows up in it. If there are none,
# install them where that needs no question, else say what to install.
set -euo pipefail

places="${PENSTOCK_POSTGRESQL_PLACES:-/usr/lib/postgresql/*/bin /opt/homebrew/opt/postgresql*/bin}"

find_postgresql() {
    local place found=""
    # The places are patterns: they expand here, older versions first.
    # shellcheck disable=SC2086
    for place in $places; do
        if [ -x "$place/initdb" ] && [ -x "$place/postgres" ]; then
            found="$place"
        fi
    done
    [ -n "$found" ] && echo "$found"
}

install_postgresql() {
    local as_root=()
    command -v apt-get >/dev/null || return 1
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null && sudo -n true 2>/dev/null || return 1
        as_root=(sudo -n)
    fi
    echo "No PostgreSQL here: installing it with apt-get." >&2
    as_root+=(env DEBIAN_FRONTEND=noninteractive)
    "${as_root[@]}" apt-get -qq update >&2 || return 1
    "${as_root[@]}" apt-get -qq install -y --no-install-recommends postgresql >&2
}

if ! find_postgresql && ! { install_postgresql && find_postgresql; }; then
    echo "The tests of lookups in PostgreSQL are skipped: there is none here (on Debian and" \
        "Ubuntu: apt-get install postgresql)." >&2
    exit 1
fi
