#!/usr/bin/env bash
# Print the home of a Java that Spark runs on (17 or newer). Search JAVA_HOME, PATH and the usual
# places; if there is none, install it where that needs no question, else say what to install.
set -euo pipefail

version_min=17
places="${PENSTOCK_JAVA_PLACES:-/usr/lib/jvm/* /Library/Java/JavaVirtualMachines/*/Contents/Home}"

# One start of the JVM tells both facts.
home_if_new_enough() {
    local settings version
    settings="$("$1" -XshowSettings:properties -version 2>&1)" || return 1
    version="$(sed -n 's/^ *java\.specification\.version = \([0-9]*\).*/\1/p' <<<"$settings")"
    [ "${version:-0}" -ge "$version_min" ] || return 1
    sed -n 's/^ *java\.home = //p' <<<"$settings"
}

find_java() {
    local candidate
    # The places are patterns: they expand here.
    # shellcheck disable=SC2086
    for candidate in "${JAVA_HOME:-}" path $places; do
        case "$candidate" in
            "") continue ;;
            path) candidate="$(command -v java || true)" ;;
            *) candidate="$candidate/bin/java" ;;
        esac
        if [ -x "$candidate" ] && home_if_new_enough "$candidate"; then
            return 0
        fi
    done
    return 1
}

install_java() {
    local as_root=() package
    command -v apt-get >/dev/null || return 1
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null && sudo -n true 2>/dev/null || return 1
        as_root=(sudo -n)
    fi
    echo "No Java $version_min or newer here: installing one with apt-get." >&2
    as_root+=(env DEBIAN_FRONTEND=noninteractive)
    "${as_root[@]}" apt-get -qq update >&2 || return 1
    for package in openjdk-17-jre-headless openjdk-21-jre-headless; do
        if "${as_root[@]}" apt-get -qq install -y --no-install-recommends "$package" >&2; then
            return 0
        fi
    done
    return 1
}

if ! find_java && ! { install_java && find_java; }; then
    echo "Spark needs Java $version_min or newer: install it (on Debian and Ubuntu:" \
        "apt-get install openjdk-17-jre-headless) or set JAVA_HOME to where it is." >&2
    exit 1
fi
