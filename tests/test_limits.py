"""Limits of tests grow with the slowness of the machine."""

import os

import pytest

from tests import limits


def test_limits_never_shrink(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "_work", lambda: limits.REFERENCE / 4)
    monkeypatch.setattr(os, "getloadavg", lambda: (0.0, 0.0, 0.0))
    assert limits.measured() == 1.0


def test_slow_machine_has_longer_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "_work", lambda: limits.REFERENCE * 3)
    monkeypatch.setattr(os, "getloadavg", lambda: (0.0, 0.0, 0.0))
    assert limits.measured() == pytest.approx(3.0)


def test_busy_machine_has_longer_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "_work", lambda: limits.REFERENCE)
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    monkeypatch.setattr(os, "getloadavg", lambda: (8.0, 0.0, 0.0))
    assert limits.measured() == pytest.approx(4.0)


@pytest.mark.timeout(40)
def test_own_limit_of_a_test_is_scaled(request: pytest.FixtureRequest) -> None:
    limit = request.node.get_closest_marker("timeout")
    assert limit is not None
    assert limit.args == (limits.scaled(40),)
