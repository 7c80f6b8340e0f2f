"""Separate a model's answer from the thoughts and tool calls that it wrote as text.

Servers that don't parse a model's output pass its markers on: `<think>`, `[THINK]`, the channels of
Harmony, `<tool_call>`. Markers in code, between backticks or in a fence, are text.
"""

import re
from typing import Final

THOUGHTS_END: Final = "</think>"

_TAGS: Final = ("think", "thinking", "thought", "reasoning", "seed:think")
_CALL_TAGS: Final = ("tool_call", "tool_calls", "function_call", "minimax:tool_call")
_THOUGHTS: Final = {
    **{f"<{tag}>": f"</{tag}>" for tag in _TAGS},
    "[think]": "[/think]",
    "◁think▷": "◁/think▷",
}
_CALLS: Final = {
    **{f"<{tag}>": f"</{tag}>" for tag in _CALL_TAGS},
    "<function=": "</function>",
    "<|tool_call|>": "<|/tool_call|>",
    "<|tool_calls_section_begin|>": "<|tool_calls_section_end|>",
    "<\uff5ctool\u2581calls\u2581begin\uff5c>": "<\uff5ctool\u2581calls\u2581end\uff5c>",
    "[tool_calls]": "",
    "<|python_tag|>": "",
}
"""Opening markers and the closing ones; without one, a call goes on to the end."""

_PAIRS: Final = _THOUGHTS | _CALLS
_CLOSING: Final = frozenset(_THOUGHTS.values())
_MESSAGE_STARTS: Final = ("<|channel|>", "<|start|>")  # of a message in Harmony's format
_MESSAGE_ENDS: Final = ("<|end|>", "<|return|>", "<|call|>")
_MARKERS: Final = (*_PAIRS, *_CLOSING, *_MESSAGE_STARTS, *_MESSAGE_ENDS)

_HEADER_END: Final = "<|message|>"
_LONGEST_HEADER: Final = 200
_LONGEST_MARKER: Final = max(map(len, _MARKERS))
_END_OF_MESSAGE: Final = re.compile("|".join(map(re.escape, (*_MESSAGE_ENDS, *_MESSAGE_STARTS))))
_ENDS: Final = {each: re.compile(re.escape(each), re.IGNORECASE) for each in _PAIRS.values()}

_SPECIAL: Final = re.compile("[<\\[◁`~\n]")
_RUN: Final = re.compile("`+|~+")
_MAYBE_FENCE_END: Final = re.compile(r" {0,3}(?:`*|~*)[ \t]*")
_CALL_NAME: Final = re.compile(
    r'(?:"name"\s*:\s*"|<function=|\bto=(?:functions\.)?|^\[tool_calls\])([\w.-]{1,64})',
    re.IGNORECASE,
)


class TextFilter:
    """Reads one response in pieces and returns the text to show.

    The size of the pieces does not matter. A closing marker without an opening one means that all
    the text before it was thought: `unopened` is then true, and `retracted` counts how often some
    of that text was returned already. With `hold`, text is returned from the first marker on, or at the end.

    `text` is all the text to show; `thought` and `call` say whether there were thoughts and calls;
    `call_name` is the name of the first called tool if it is known.
    """

    def __init__(self, *, hold: bool = False) -> None:
        self.text = ""
        self.unopened = self.thought = self.call = False
        self.call_name = ""
        self.retracted = 0
        self._hold = hold
        self._given = 0  # characters of `text` that were returned
        self._rest = ""  # the undecided rest of the input
        self._searched = 0  # of that, where no end of a hidden part is
        self._space = ""  # at the beginning, which is dropped if a hidden part follows
        self._line = ""  # the beginning of the current line
        self._fence = ""
        self._in_message = False
        self._complete = True

    @property
    def is_hiding(self) -> bool:
        """Whether the latest text belongs to a thought or a call."""
        return bool(self._searched)

    def feed(self, piece: str) -> str:
        """Read a piece and return the text that can be shown now."""
        self._rest += piece
        self._read(last=False)
        return "" if self._hold else self._new_text()

    def release(self) -> None:
        """Hold no more: the server separates thoughts from the text."""
        self._hold = False

    def finish(self, *, complete: bool = True) -> str:
        """Return the rest of the text.

        In a complete response, an opening marker within a line that is never closed is text: the
        response only mentions it. In another one, text that is still held back is thought.
        """
        self._complete = complete
        self._read(last=True)
        if not (self.thought or self.call):
            self.text, self._space = self._space + self.text, ""
        if self._hold and not complete:
            self.text, self.thought = "", True
        return self._new_text()

    def _new_text(self) -> str:
        new = self.text[self._given :]
        self._given = len(self.text)
        return new

    def _read(self, *, last: bool) -> None:
        while self._rest and self._step(last=last):
            pass

    def _step(self, *, last: bool) -> bool:
        """Decide about the beginning of the rest; false if that needs more text."""
        if self._fence:
            return self._copy_code_line(last=last)
        special = _SPECIAL.search(self._rest)
        if special is None:
            return self._show(len(self._rest))
        if special.start():
            return self._show(special.start())
        if self._rest[0] == "\n":
            return self._show(1)
        if self._rest[0] in "`~":
            return self._copy_code(last=last)
        return self._read_marker(last=last)

    def _show(self, count: int) -> bool:
        text = self._take(count)
        if not self.text:
            text = self._space + text
            if not text.strip():
                self._space = text
                return True
            if self.thought or self.call:
                text = text.lstrip()
            self._space = ""
        self.text += text
        return True

    def _take(self, count: int) -> str:
        text, self._rest, self._searched = self._rest[:count], self._rest[count:], 0
        _, newline, after = text.rpartition("\n")
        self._line = (after if newline else self._line + after)[:_LONGEST_MARKER]
        return text

    # -- code

    def _copy_code(self, *, last: bool) -> bool:
        """Copy a span of code or the first line of a block; other backticks are text."""
        run = _RUN.match(self._rest)
        assert run is not None, "called at one"  # noqa: S101 - for the type checker
        end = self._rest.find("\n")
        if end < 0 and not last and not (span := _span_end(self._rest, run[0])):
            return False
        line = self._rest[:end] if end >= 0 else self._rest
        opens = len(run[0]) >= 3 and not self._line.strip() and len(self._line) <= 3
        if opens and (run[0][0] == "~" or "`" not in line[len(run[0]) :]):
            if end < 0 and not last:
                return False
            self._fence = run[0]
            return self._show(len(line))
        span = _span_end(line, run[0])
        if span == len(self._rest) and not last:
            return False  # the closing run may go on
        return self._show(span or len(run[0]))

    def _copy_code_line(self, *, last: bool) -> bool:
        end = self._rest.find("\n")
        if not self._line:
            line = self._rest[:end] if end >= 0 else self._rest
            may_close = _MAYBE_FENCE_END.fullmatch(line) is not None
            if may_close and end < 0 and not last:
                return False
            if may_close and self._fence in line:
                self._fence = ""
        return self._show(end + 1 if end >= 0 else len(self._rest))

    # -- markers

    def _read_marker(self, *, last: bool) -> bool:
        ahead = self._rest[:_LONGEST_MARKER].lower()
        marker = next((each for each in _MARKERS if ahead.startswith(each)), "")
        if not marker:
            may_follow = not last and any(each.startswith(ahead) for each in _MARKERS)
            return False if may_follow else self._show(1)
        if marker in _CLOSING:
            return self._retract(marker)
        if marker in _MESSAGE_STARTS:
            return self._read_message(last=last)
        if marker in _MESSAGE_ENDS:
            return self._end_message(marker)
        return self._hide(marker, last=last)

    def _retract(self, marker: str) -> bool:
        self._drop(len(marker), call=False)
        self.unopened = True
        self.retracted += self._given > 0
        self.text = self._space = ""
        self._given = 0
        return True

    def _hide(self, marker: str, *, last: bool) -> bool:
        """Drop a part from its opening to its closing marker."""
        starts_line, closing = not self._line.strip(), _PAIRS[marker]
        if not closing and not starts_line:
            return self._show(len(marker))
        end = self._end_of(_ENDS[closing], len(marker), len(closing)) if closing else 0
        if end:
            return self._drop(end, call=marker in _CALLS)
        if not last:
            return False
        if self._complete and closing and not starts_line:
            return self._show(len(marker))
        return self._drop(len(self._rest), call=marker in _CALLS)

    def _end_of(self, closing: re.Pattern[str], start: int, length: int) -> int:
        """Return where a hidden part ends; 0 if that was not read."""
        found = closing.search(self._rest, max(start, self._searched - length))
        self._searched = len(self._rest)
        return found.end() if found else 0

    def _drop(self, count: int, *, call: bool) -> bool:
        part, self._line, self._hold = self._take(count), "", False
        self.call, self.thought = self.call or call, self.thought or not call
        if call and not self.call_name and (name := _CALL_NAME.search(part)):
            self.call_name = name[1]
        return True

    def _read_message(self, *, last: bool) -> bool:
        """Read the header of a message of Harmony, and drop the message unless it is shown."""
        header_end = self._rest.find(_HEADER_END, 0, _LONGEST_HEADER)
        if header_end < 0:
            if not last and len(self._rest) < _LONGEST_HEADER:
                return False
            return self._drop(len(self._rest), call=False) if last else self._show(1)
        header = self._rest[:header_end]
        call = "to=" in header
        if not call and "<|channel|>analysis" not in header:
            self._drop(header_end + len(_HEADER_END), call=False)
            self._in_message = True
            return True
        start = header_end + len(_HEADER_END)
        end = self._end_of(_END_OF_MESSAGE, start, _LONGEST_MARKER)
        if not end and not last:
            return False
        if end and (next_one := _END_OF_MESSAGE.search(self._rest, start)):
            end = next_one.start() if next_one[0] in _MESSAGE_STARTS else end
        self._in_message = False
        return self._drop(end or len(self._rest), call=call)

    def _end_message(self, marker: str) -> bool:
        if not self._in_message:
            return self._show(len(marker))
        self._in_message = False
        return self._drop(len(marker), call=False)


def without_thoughts(text: str) -> str:
    """Return the text to show of a complete response."""
    reader = TextFilter()
    reader.feed(text)
    reader.finish()
    return reader.text


def _span_end(line: str, run: str) -> int:
    """Return where the code between equal runs of backticks ends; 0 if it does not."""
    if run[0] != "`":
        return 0
    runs = (each for each in _RUN.finditer(line, len(run)) if each[0] == run)
    return next((each.end() for each in runs), 0)
