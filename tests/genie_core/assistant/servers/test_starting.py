from pathlib import Path

import pytest

from genie_core.assistant.servers.errors import MissingValue, ServerError
from genie_core.assistant.servers.file import ServerSpec
from genie_core.assistant.servers.starting import ready_to_start
from genie_core.redaction import mask_known


def test_secrets_come_before_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GENIE_TEST_ONE", "from the environment")
    monkeypatch.setenv("GENIE_TEST_TWO", "from the environment, too")
    spec = ServerSpec("a", "x", ("${GENIE_TEST_ONE}", "${GENIE_TEST_TWO}"))
    made = ready_to_start(spec, {"GENIE_TEST_ONE": "a secret"})
    assert made.args == ("a secret", "from the environment, too")
    with pytest.raises(MissingValue):
        ready_to_start(ServerSpec("a", "x", ("${GENIE_TEST_NONE}",)), {})


def test_what_is_secret_is_hidden_from_then_on() -> None:
    spec = ServerSpec("a", "x", env={"LOGIN_TOKEN": "${IT}"})
    assert mask_known("say opensesame-1 here") == "say opensesame-1 here"
    ready_to_start(spec, {"IT": "opensesame-1"})
    assert "opensesame-1" not in mask_known("say opensesame-1 here")


def test_a_home_folder_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert ready_to_start(ServerSpec("a", "~/bin/x"), {}).command == f"{tmp_path}/bin/x"


def test_what_can_lead_nowhere_is_told_before_it_is_tried(tmp_path: Path) -> None:
    with pytest.raises(ServerError, match=r"'a' has a cwd that is no folder: .*/gone"):
        ready_to_start(ServerSpec("a", "x", cwd=str(tmp_path / "gone")), {})
    with pytest.raises(ServerError, match="'a' has a url that does not begin") as caught:
        ready_to_start(ServerSpec("a", url="${WHERE}"), {"WHERE": "file:///etc"})
    assert "etc" not in str(caught.value)
