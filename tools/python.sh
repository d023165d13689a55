#!/usr/bin/env bash
# Print the first Python that can build the environment: version 3.11 or newer, with venv and pip.
# A choice of the caller's is the only candidate: tools/python.sh [choice].
set -euo pipefail

fits='import sys; assert sys.version_info >= (3, 11); import ensurepip, venv'
candidates=(python3.13 python3.12 python3.11 python3 python)
if [ -n "${1:-}" ]; then
    candidates=("$1")
fi
for candidate in "${candidates[@]}"; do
    if "$candidate" -c "$fits" >/dev/null 2>&1; then
        printf '%s\n' "$candidate"
        exit 0
    fi
done

echo "Penstock needs Python 3.11 or newer with venv (on Debian and Ubuntu: python3-venv);" \
    "install one, or name it: make setup PYTHON=/path/to/python3." >&2
exit 1
