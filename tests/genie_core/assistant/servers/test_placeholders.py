import pytest

from genie_core.assistant.servers.config_file import ServerSpec
from genie_core.assistant.servers.errors import MissingValue
from genie_core.assistant.servers.launch import filled_in, private_values

VALUES = {"TOKEN": "s3same-open", "WHO": "ann", "URL": "https://h", "LIKE": "${WHO}"}


def test_values_fill_every_field() -> None:
    spec = ServerSpec(
        "a",
        "${WHO}",
        ("--as=${WHO}", "$WHO", "${env:WHO}${WHO}"),
        {"T": "${TOKEN}"},
        "${WHO}",
        "${URL}/mcp",
        {"Authorization": "Bearer ${TOKEN}"},
    )
    assert filled_in(spec, VALUES.get) == ServerSpec(
        "a",
        "ann",
        ("--as=ann", "$WHO", "annann"),
        {"T": "s3same-open"},
        "ann",
        "https://h/mcp",
        {"Authorization": "Bearer s3same-open"},
    )


def test_a_value_is_not_looked_into() -> None:
    assert filled_in(ServerSpec("a", args=("${LIKE}",)), VALUES.get).args == ("${WHO}",)


def test_a_default_stands_in_for_what_is_missing() -> None:
    spec = ServerSpec("a", args=("${WHO:-x}", "${NOBODY:-y}", "${NOBODY:-}"))
    assert filled_in(spec, VALUES.get).args == ("ann", "y", "")


@pytest.mark.parametrize(
    ("spec", "key"),
    [
        (ServerSpec("git", args=("${MISSING}",)), "args"),
        (ServerSpec("git", env={"A": "${MISSING}"}), "env.A"),
        (ServerSpec("git", url="http://${MISSING}"), "url"),
        (ServerSpec("git", headers={"X": "${MISSING}"}), "headers.X"),
    ],
)
def test_missing_value_names_server(spec: ServerSpec, key: str) -> None:
    with pytest.raises(MissingValue) as caught:
        filled_in(spec, VALUES.get)
    assert str(caught.value).startswith(f"{key} of the tool server 'git' needs MISSING: ")
    assert "genie-tui secrets set MISSING" in str(caught.value)


def test_only_key_like_names_are_private() -> None:
    spec = ServerSpec(
        "a",
        args=("${WHO}", "${TOKEN}"),
        env={"API_KEY": "written-down", "LEVEL": "production"},
        headers={"Authorization": "Bearer in-a-header", "Accept": "anything"},
    )
    filled = filled_in(spec, VALUES.get)
    assert private_values(spec, filled, VALUES.get) == {
        "s3same-open",
        "written-down",
        "in-a-header",
    }
