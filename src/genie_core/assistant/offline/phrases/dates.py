"""Dates and times: "what time is it in Oslo?", "days until 24 December", "3pm CET in New York"."""

import re
from collections.abc import Callable
from datetime import date
from typing import Final

from genie_core.assistant.offline.ask import Ask, PlannedCall
from genie_core.assistant.tools.time.calendar import COUNTED, UnknownDate, parse_date
from genie_core.assistant.tools.time.zones import is_place

_WHAT = r"(?:what(?:'s|s| is)) "
_IN = r"(?: (?:over )?in (?P<place>[\w/+.' -]+?))?"
_NOW = r"(?: now| right now| currently| at the moment| today)?"
_CLOCK = (
    r"(?:\d{1,2}(?:[:.]\d{2})? ?[ap]\.?m\.?|\d{1,2}[:h]\d{2}|\d{1,2} o'clock|noon|midday|midnight)"
)
_TO = r"(?:until|till|til|to|before)"

_Reader = Callable[[re.Match[str], Ask], PlannedCall | None]


def _time_here(found: re.Match[str], ask: Ask) -> PlannedCall | None:
    place = (found["place"] or "").strip()
    if any(char.isdigit() for char in place) and not is_place(place):
        return None
    asked = ask.text.lower().startswith("what") or ask.question
    return PlannedCall("current_time", {"place": place} if place else {}, asked and is_place(place))


def _converted(found: re.Match[str], ask: Ask) -> PlannedCall | None:
    source, target = (found["source"] or "").strip(), found["target"].strip()
    if not (is_place(source) and is_place(target)):
        return None
    args = {"time": found["time"], "source": source, "target": target}
    if day := found["day"]:
        args["day"] = day.removeprefix("on ")
    return PlannedCall("convert_time", args, bool(found["asked"] or (ask.question and source)))


def _until(found: re.Match[str], ask: Ask) -> PlannedCall | None:
    return _days("today", found["end"], plain=_is_asked(found, ask))


def _since(found: re.Match[str], ask: Ask) -> PlannedCall | None:
    return _days(found["start"], "today", plain=_is_asked(found, ask))


def _between(found: re.Match[str], ask: Ask) -> PlannedCall | None:
    return _days(found["start"], found["end"], plain=_is_asked(found, ask))


def _is_asked(found: re.Match[str], ask: Ask) -> bool:
    """Distinguish a question from a mention such as "days until christmas!"."""
    return bool(found["asked"]) or ask.question


def _days(start: str, end: str, *, plain: bool) -> PlannedCall | None:
    if not (_is_date(start) and _is_date(end)):
        return None
    return PlannedCall("days_between", {"start": start.strip(), "end": end.strip()}, plain)


def _weekday(found: re.Match[str], _: Ask) -> PlannedCall | None:
    if not _is_date(found["day"]):
        return None
    return PlannedCall("weekday", {"day": found["day"].strip()}, plain=True)


def _shifted(found: re.Match[str], _: Ask) -> PlannedCall | None:
    start = found["start"] or "today"
    if not _is_date(start):
        return None
    days = int(found["count"]) * (7 if found["unit"].lower().startswith("week") else 1)
    back = found["way"].lower() in ("ago", "before")
    return PlannedCall("shift_date", {"start": start, "days": -days if back else days}, plain=True)


def _away(found: re.Match[str], _: Ask) -> PlannedCall:
    """Answer with the date and its weekday; "in 3 weeks" alone may be part of a talk."""
    return PlannedCall("weekday", {"day": found["day"]}, plain=bool(found["asked"]))


def _is_date(words: str) -> bool:
    try:
        parse_date(words, date(2024, 1, 1), "next")
    except UnknownDate as error:
        return "could be" in str(error) or "there is no" in str(error)
    return True


_PLAIN_COUNT = re.sub(r"\?P<\w+>", "?:", COUNTED)
_COUNTED = r"(?P<count>\d{1,5}) (?P<unit>days?|weeks?)"
_PHRASES: Final[list[tuple[re.Pattern[str], _Reader]]] = [
    (re.compile(pattern, re.IGNORECASE), reader)
    for pattern, reader in (
        (
            (
                r"(?P<asked>(?:on )?(?:what|which) (?:date|day|weekday)(?: of the week)? "
                rf"(?:is it|will it be|was it|is|was|will be) |{_WHAT}the date |when is )?"
                rf"(?P<day>in {COUNTED}|{_PLAIN_COUNT} (?:ago|from now|from today))"
            ),
            _away,
        ),
        (rf"what time (?:is it|it is|is){_NOW}{_IN}{_NOW}", _time_here),
        (rf"(?:{_WHAT})?(?:the )?(?:current |local )?time{_NOW}{_IN}{_NOW}", _time_here),
        (rf"(?:{_WHAT})?(?:the |today's |the current )?date{_NOW}{_IN}{_NOW}", _time_here),
        (rf"what day (?:is it|it is|is today|is){_NOW}{_IN}{_NOW}", _time_here),
        (
            (
                rf"(?P<asked>{_WHAT}|what time (?:is|will it be at|would be) |when is |convert )?"
                rf"(?P<time>{_CLOCK})(?: (?P<day>today|tomorrow|on [\w ,-]+?\d))?"
                r"(?: (?:in )?(?P<source>[\w/+.' -]+?))?(?: time)? (?:in|to|into) "
                r"(?P<target>[\w/+.' -]+?)(?: time)?"
            ),
            _converted,
        ),
        (
            (
                rf"(?P<asked>how many |{_WHAT}the number of )?days (?:are there |is it |left |remaining |are left |do we have )?"
                rf"{_TO} (?P<end>.+)"
            ),
            _until,
        ),
        (rf"(?P<asked>how long )(?:is it |is there |left )?{_TO} (?P<end>.+)", _until),
        (
            r"(?P<asked>how many )?days (?:has it been |is it |are there |passed )?since (?P<start>.+)",
            _since,
        ),
        (r"(?P<asked>how long )(?:is it |has it been )?since (?P<start>.+)", _since),
        (
            (
                r"(?P<asked>how many )?days (?:are there |is it |are )?(?:between|from) (?P<start>.+?) "
                r"(?:and|to|until|till) (?P<end>.+)"
            ),
            _between,
        ),
        (
            (
                rf"(?:what|which) (?:date|day)(?: of the week)? (?:is|was|will be|is it|was it|will it be) (?:in )?{_COUNTED} "
                r"(?P<way>from|after|ago|before)(?: (?P<start>.+))?"
            ),
            _shifted,
        ),
        (
            (
                r"(?:on )?(?:what|which) (?:day of the week|weekday|day) (?:is|was|will be|will|does|did) "
                r"(?P<day>.+?)(?: (?:be|fall)(?: on)?| on)?"
            ),
            _weekday,
        ),
        (r"(?:the )?weekday (?:of |on )?(?P<day>.+)", _weekday),
    )
]


def understand(ask: Ask) -> PlannedCall | None:
    """Recognise a question about time zones, dates or weekdays."""
    for pattern, reader in _PHRASES:
        if (found := pattern.fullmatch(ask.text)) and (call := reader(found, ask)):
            return call
    return None
