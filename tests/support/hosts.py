"""Which hosts a test runs on."""

from __future__ import annotations

import pytest

above_hosts = pytest.mark.parametrize("host", ["embedded"], indirect=True)
"""For what lies above the hosts: registrations, readers of the log, sinks. One host is enough."""
