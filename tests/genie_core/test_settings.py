from typing import Any

import pytest

from genie_core.errors import InvalidSetting
from genie_core.settings import check_setting, check_timeout


def test_a_setting_of_another_kind_is_refused_by_its_name() -> None:
    with pytest.raises(InvalidSetting, match="data_store must be an Exception, not 3"):
        check_setting("data_store", 3, Exception)
    with pytest.raises(InvalidSetting):
        check_setting("id", None, str)
    check_setting("id", None, str, optional=True)


@pytest.mark.parametrize("timeout", [0, -1, float("nan"), "5", []])
def test_a_senseless_timeout_is_refused_by_its_name(timeout: Any) -> None:
    with pytest.raises(InvalidSetting, match="idle must be a positive number of seconds"):
        check_timeout("idle", timeout)


@pytest.mark.parametrize("timeout", [None, 1, 0.1, float("inf")])
def test_a_timeout_may_be_any_positive_number_or_none(timeout: Any) -> None:
    check_timeout("idle", timeout)
