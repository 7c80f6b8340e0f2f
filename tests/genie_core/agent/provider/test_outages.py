from genie_core.agent.provider.outages import failure, late, notice, shown

WEB = "streamable_http: https://me:12345678@host/mcp?token=abc123"
REFUSED = ConnectionError("401 for url 'https://host/mcp?token=abc123'")


def test_a_name_is_shown_without_what_may_be_a_key() -> None:
    assert shown("files") == "'files'"
    assert shown(WEB) == "'streamable_http: https://[hidden]@host/mcp?token=[hidden]'"


def test_model_and_people_are_told_which_server_it_is_and_why() -> None:
    failed = failure(WEB, REFUSED)
    assert (failed.stage, failed.__cause__) == ("tools", REFUSED)
    for told in (notice(WEB, REFUSED), str(failed)):
        assert "host/mcp" in told
        assert "ConnectionError: 401" in told
        assert "abc123" not in told
        assert "12345678" not in told


def test_one_that_starts_too_slowly_is_told_how_long_it_had() -> None:
    assert str(late(30)) == "it did not start within 30 seconds"
