from pathlib import Path

import pytest

from genie_core.errors import GenieError
from genie_core.room.protocol.limits import Limits
from genie_core.room.security.identity import Identity
from genie_serve.config import CONFIG_NAME, ServeConfig, ServiceLimits, read_config


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / CONFIG_NAME
    path.write_text(text)
    return path


def test_all_settings_read_relative_paths(tmp_path: Path) -> None:
    key = Identity.generate().key
    text = f"""
name = "chat"
listen = "10.0.0.1"
port = 7000
addresses = ["chat.example.org", "[2001:db8::1]:7000"]
admins = ["{key}"]
ask = true
key = "secrets/host.key"
certificate = "/etc/genie/host.pem"

[room]
members = 5

[limits]
rooms = 3

[store]
kind = "nats"
urls = ["nats://127.0.0.1:4222"]
credentials = "nats.creds"
"""
    config = read_config(written(tmp_path, text))
    assert (config.name, config.listen, config.port, config.ask) == ("chat", "10.0.0.1", 7000, True)
    assert config.admins == (key,)
    assert config.key == tmp_path / "secrets/host.key"
    assert config.certificate == Path("/etc/genie/host.pem")
    assert config.room == Limits(members=5)
    assert config.limits == ServiceLimits(rooms=3)
    assert config.store is not None
    assert config.store.credentials == tmp_path / "nats.creds"
    assert config.store.objects is None


def test_missing_file_means_defaults(tmp_path: Path) -> None:
    missing = tmp_path / CONFIG_NAME
    assert read_config(missing, required=False) == ServeConfig()
    with pytest.raises(GenieError, match="there is no configuration"):
        read_config(missing)


@pytest.mark.parametrize(
    ("text", "line", "told"),
    [
        ("name = \n", 1, "Invalid value"),
        ("port = 1\nprot = 2\n", 2, "'prot'; did you mean 'port'"),
        ("port = 70000\n", 1, "port can't be 70000: it is a whole number <= 65535"),
        ("\n[limits]\nrooms = 0\n", 3, "limits.rooms can't be 0"),
        ("[room]\nmember = 0\n", 2, "'member' in room; did you mean 'members'"),
        ('[store]\nkind = "redis"\nurls = ["a"]\n', 2, "store.kind can't be 'redis'"),
        ('[store]\nkind = "nats"\n', 1, "store needs 'urls'"),
        ('[store]\nkind = "nats"\nurls = ["a"]\nprefixx = ""\n', 4, "'prefixx' in store"),
        ('name = "a\\u0007b"\n', 1, "name can't be 'a\\x07b'"),
        ('\naddresses = ["chat", "a b"]\n', 2, "addresses can't be 'a b'"),
        ('admins = ["ann"]\n', 1, "admins can't be 'ann'"),
        ("key = 5\n", 1, "key can't be 5: it is a path in quotes"),
        ('key = ""\n', 1, "key can't be ''"),
        ('ops = ":x"\n', 1, "ops can't be ':x'"),
    ],
)
def test_a_mistake_is_one_line_with_its_place(
    tmp_path: Path, text: str, line: int, told: str
) -> None:
    path = written(tmp_path, text)
    with pytest.raises(GenieError) as caught:
        read_config(path)
    message = str(caught.value)
    assert message.startswith(f"{path}, line {line}: ")
    assert told in message
    assert "\n" not in message


def test_what_is_no_text_can_not_be_read(tmp_path: Path) -> None:
    path = tmp_path / CONFIG_NAME
    path.write_bytes(b"\xff\xff")
    with pytest.raises(GenieError, match="can't read the configuration"):
        read_config(path)
    with pytest.raises(GenieError, match="can't read the configuration"):
        read_config(tmp_path)
