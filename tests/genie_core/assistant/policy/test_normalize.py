from pathlib import Path
from typing import Any

import pytest

from genie_core.assistant.config import Rule
from genie_core.assistant.policy.normalize import normalized
from genie_core.assistant.policy.policy import Policy
from genie_core.assistant.tools.catalog import RISKS
from genie_core.assistant.tools.files.workspace import Workspace
from genie_core.room.engine.approval_policy import Effect, ToolCall


class Judged:
    def __init__(self, folder: Path) -> None:
        for name in ("docs", "keys"):
            (folder / name).mkdir()
        (folder / "docs" / "link").symlink_to(folder / "keys")
        self._workspace = Workspace.at(folder)

    def __call__(self, rule: Rule, tool: str = "write_file", **given: Any) -> Effect:
        def meant(*argument: str) -> tuple[str, ...]:
            return normalized(self._workspace, *argument)

        policy = Policy((rule,), lambda _, tool: RISKS.get(tool, "unknown"), "ann", meant)
        return policy.evaluate(ToolCall("ann", "system", tool, given)).effect


@pytest.fixture
def judged(tmp_path: Path) -> Judged:
    return Judged(tmp_path)


def test_a_path_is_allowed_for_where_it_leads(judged: Judged) -> None:
    rule = Rule("allow", "write_file", arguments={"path": "docs/*"})
    for path in ("docs/a", "./docs/a", "keys/../docs/a", " docs//a"):
        assert judged(rule, path=path) == "allow"
    for path in ("docs/../keys/a", "docs/link/a", "docs/.."):
        assert judged(rule, path=path) == "ask"


@pytest.mark.parametrize(
    "path", ["keys/a", "./keys/a", "docs/../keys/a", " keys/a", "keys//a", "docs/link/a", "keys/a/"]
)
def test_no_way_to_write_a_path_slips_a_denial(judged: Judged, path: str) -> None:
    rule = Rule("deny", arguments={"path": "keys/?"})
    assert judged(rule, path=path) == "deny"
    assert judged(rule, "read_file", path=path) == "deny"


def test_search_folder_counts_as_path(judged: Judged) -> None:
    assert judged(Rule("ask", arguments={"folder": ""}), "list_files", folder="docs/..") == "ask"
    deny = Rule("deny", arguments={"folder": "keys", "pattern": "keys"})
    assert judged(deny, "grep_files", folder="./keys", pattern="keys") == "deny"
    assert judged(deny, "grep_files", folder="./keys", pattern="./keys") == "allow"
    assert judged(deny, "other_tool", folder="./keys", pattern="keys") == "ask"


def test_an_address_is_allowed_for_its_host(judged: Judged) -> None:
    rule = Rule("allow", "fetch_url", arguments={"url": "https://*.python.org/3/*"})
    for url in ("https://docs.python.org/3/x", " HTTPS://Docs.Python.ORG/3/x#y"):
        assert judged(rule, "fetch_url", url=url) == "allow"
    for url in (
        "https://evil.test/.python.org/3/x",
        "https://evil.test?.python.org/3/x",
        "https://docs.python.org/3/../2/x",
    ):
        assert judged(rule, "fetch_url", url=url) == "ask"


@pytest.mark.parametrize(
    "url",
    ["https://EVIL.test/a", " https://evil.test/a", "https://evil.test./a", "https://evil.test"],
)
def test_odd_address_stays_denied(judged: Judged, url: str) -> None:
    rule = Rule("deny", "fetch_url", arguments={"url": "*://evil.test/*"})
    assert judged(rule, "fetch_url", url=url) == "deny"
