from genie_core.room.security.identity import Identity, words
from genie_core.room.security.key_words import key_words


def test_valid_key_has_words() -> None:
    key = Identity.generate().key
    assert key_words(key) == words(key)
    assert key_words("") == "no key"
    assert key_words("[b]") == "no valid key"
