"""Spark's Python daemon, as far as it is ours."""

from __future__ import annotations

import socket

import pytest

from penstock.spark import daemon


@pytest.mark.parametrize("error", [BrokenPipeError(), ConnectionResetError(), ValueError("bad")])
def test_a_worker_ends_in_silence_only_when_spark_hangs_up(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def serve(_sock: socket.socket, _authenticated: bool) -> int:
        raise error

    monkeypatch.setattr(daemon, "_serve", serve)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        if isinstance(error, BrokenPipeError):
            assert daemon.worker(ours, True) == 1
        else:
            with pytest.raises(type(error)):
                daemon.worker(ours, True)
