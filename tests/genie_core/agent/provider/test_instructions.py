from genie_core.agent.provider.instructions import preferring


def test_a_person_s_wishes_are_a_paragraph_that_says_whose_they_are() -> None:
    assert preferring("in rhymes") == "How the user likes to be answered:\nin rhymes"
