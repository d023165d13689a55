"""Ports of servers that tests start: nobody else is given them."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from penstock.lab import ports
from penstock.lab.ports import FIRST, HANDED_OUT, HANDED_OUT_FIRST, free_port


def test_ports_are_free_and_none_that_the_system_hands_out() -> None:
    handed_out = HANDED_OUT_FIRST
    if HANDED_OUT.exists():
        handed_out = int(HANDED_OUT.read_text().split()[0])
    found = [free_port() for _ in range(20)]
    assert len(set(found)) == 20 and all(FIRST <= port < handed_out for port in found)


def test_a_port_that_is_taken_is_passed_over(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(ports, "HANDED_OUT", tmp_path / "absent")
    monkeypatch.setattr(ports, "_ASKED", iter([0, 0]))
    first = free_port()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", first))
        assert free_port() != first
