from genie_core.settings.load import statements

TEXT = '''\
# mine
name = "ann"
tools = [
  "a = 1", # x
]
text = """
model = 3
"""
budget.money = 3

[[rules]]
effect = "ask"
[rules.arguments]
path = "*"
[[rules]]
arguments = { a = "b", c = "d" }
[agents."a.b"]
description = "x"
'''


def test_settings_know_their_lines() -> None:
    for text in (TEXT, TEXT.replace("\n", "\r\n")):
        found = {each.key: (each.first, each.last) for each in statements(text)}
        assert found == {
            ("name",): (2, 2),
            ("tools",): (3, 5),
            ("text",): (6, 8),
            ("budget", "money"): (9, 9),
            ("rules", 0): (11, 11),
            ("rules", 0, "effect"): (12, 12),
            ("rules", 0, "arguments"): (13, 13),
            ("rules", 0, "arguments", "path"): (14, 14),
            ("rules", 1): (15, 15),
            ("rules", 1, "arguments"): (16, 16),
            ("agents", "a.b"): (17, 17),
            ("agents", "a.b", "description"): (18, 18),
        }
        assert [each.head for each in statements(text)].count(True) == 4
