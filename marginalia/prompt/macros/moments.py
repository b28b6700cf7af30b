"""Dates and durations in the words and tokens of the moment library (https://momentjs.com/docs), always in English."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import date, datetime, time, timedelta, timezone

_MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]
_DAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"]
_LONG = {
    "LTS": "h:mm:ss A",
    "LT": "h:mm A",
    "LLLL": "dddd, MMMM D, YYYY h:mm A",
    "LLL": "MMMM D, YYYY h:mm A",
    "LL": "MMMM D, YYYY",
    "L": "MM/DD/YYYY",
    "llll": "ddd, MMM D, YYYY h:mm A",
    "lll": "MMM D, YYYY h:mm A",
    "ll": "MMM D, YYYY",
    "l": "M/D/YYYY",
}
_EXPAND = re.compile(r"\[[^\]]*\]|LTS|LT|LL?L?L?|ll?l?l?")
_LONGEST_PATTERN = 1000
_TOKEN = re.compile(
    r"\[([^\]]*)\]|Mo|MM?M?M?|Qo|Q|DDDo|Do|DD?D?D?|do|dd?d?d?|wo|ww?|Wo|WW?|YYYYYY|YYYY|YY|Y|gggg|gg|GGGG|GG"
    r"|E|e|A|a|HH?|hh?|kk?|mm?|ss?|S{1,9}|ZZ?|zz?|X|x"
)


def formatted(when: datetime, pattern: str) -> str:
    """*when*, an aware time, written as *pattern* says; what stands in brackets is literal.

    A pattern of more than 1,000 characters is no pattern and comes back as it is.
    """
    if len(pattern) > _LONGEST_PATTERN:
        return pattern
    expanded = _EXPAND.sub(lambda match: _LONG.get(match[0], match[0]), pattern)
    return _TOKEN.sub(lambda match: match[1] if match[1] is not None else _token(match[0], when), expanded)


def _ordinal(number: int) -> str:
    ending = "th" if number // 10 % 10 == 1 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def _weekday(when: datetime) -> int:
    return when.isoweekday() % 7


def _local_week(when: datetime) -> tuple[int, int]:
    """Year and week in the American counting: weeks begin on Sunday, the one with January 1 is the first."""
    saturday = when.date() + timedelta(days=6 - _weekday(when))
    return saturday.year, (saturday.timetuple().tm_yday - 1) // 7 + 1


def _offset(when: datetime, colon: str) -> str:
    minutes = int((when.utcoffset() or timedelta()).total_seconds() // 60)
    hours, rest = divmod(abs(minutes), 60)
    return f"{'-' if minutes < 0 else '+'}{hours:02}{colon}{rest:02}"


_TOKENS: Mapping[str, Callable[[datetime], str | int]] = {
    "M": lambda when: when.month,
    "MM": lambda when: f"{when.month:02}",
    "MMM": lambda when: _MONTHS[when.month - 1][:3],
    "MMMM": lambda when: _MONTHS[when.month - 1],
    "Mo": lambda when: _ordinal(when.month),
    "Q": lambda when: (when.month + 2) // 3,
    "Qo": lambda when: _ordinal((when.month + 2) // 3),
    "D": lambda when: when.day,
    "DD": lambda when: f"{when.day:02}",
    "Do": lambda when: _ordinal(when.day),
    "DDD": lambda when: when.timetuple().tm_yday,
    "DDDD": lambda when: f"{when.timetuple().tm_yday:03}",
    "DDDo": lambda when: _ordinal(when.timetuple().tm_yday),
    "d": _weekday,
    "e": _weekday,
    "do": lambda when: _ordinal(_weekday(when)),
    "dd": lambda when: _DAYS[_weekday(when)][:2],
    "ddd": lambda when: _DAYS[_weekday(when)][:3],
    "dddd": lambda when: _DAYS[_weekday(when)],
    "E": lambda when: when.isoweekday(),
    "w": lambda when: _local_week(when)[1],
    "ww": lambda when: f"{_local_week(when)[1]:02}",
    "wo": lambda when: _ordinal(_local_week(when)[1]),
    "W": lambda when: when.isocalendar().week,
    "WW": lambda when: f"{when.isocalendar().week:02}",
    "Wo": lambda when: _ordinal(when.isocalendar().week),
    "Y": lambda when: when.year,
    "YY": lambda when: f"{when.year % 100:02}",
    "YYYY": lambda when: f"{when.year:04}",
    "YYYYYY": lambda when: f"+{when.year:06}",
    "gg": lambda when: f"{_local_week(when)[0] % 100:02}",
    "gggg": lambda when: f"{_local_week(when)[0]:04}",
    "GG": lambda when: f"{when.isocalendar().year % 100:02}",
    "GGGG": lambda when: f"{when.isocalendar().year:04}",
    "A": lambda when: "AM" if when.hour < 12 else "PM",  # noqa: PLR2004 - noon
    "a": lambda when: "am" if when.hour < 12 else "pm",  # noqa: PLR2004 - noon
    "H": lambda when: when.hour,
    "HH": lambda when: f"{when.hour:02}",
    "h": lambda when: when.hour % 12 or 12,
    "hh": lambda when: f"{when.hour % 12 or 12:02}",
    "k": lambda when: when.hour or 24,
    "kk": lambda when: f"{when.hour or 24:02}",
    "m": lambda when: when.minute,
    "mm": lambda when: f"{when.minute:02}",
    "s": lambda when: when.second,
    "ss": lambda when: f"{when.second:02}",
    "Z": lambda when: _offset(when, ":"),
    "ZZ": lambda when: _offset(when, ""),
    "z": lambda when: when.tzname() or "",
    "zz": lambda when: when.tzname() or "",
    "X": lambda when: int(when.timestamp()),
    "x": lambda when: int(when.timestamp() * 1000),
}


def _token(token: str, when: datetime) -> str:
    if token.startswith("S"):
        return f"{when.microsecond:06}000"[: len(token)]
    return str(_TOKENS[token](when))


_ZONE = re.compile(r"(?i:utc)\s*([+-])\s*([0-9]{1,2})(?::?([0-5][0-9]))?")


def zone(text: str) -> timezone | None:
    """The zone that ``UTC+2`` or ``UTC-5:30`` names, or None."""
    match = _ZONE.fullmatch(text.strip())
    if not match:
        return None
    offset = timedelta(hours=int(match[2]), minutes=int(match[3] or 0))
    if offset >= timedelta(hours=24):
        return None
    return timezone(-offset if match[1] == "-" else offset)


_CLOCK = re.compile(r"([0-9]{1,2}):([0-9]{2})(?::([0-9]{2}))?(?:\s*([AaPp])[Mm])?")
_WRITTEN = re.compile(r"([A-Za-z]{3,9})\s+([0-9]{1,2})(?:st|nd|rd|th)?,?\s+([0-9]{4})")


def moment(text: str, now: datetime) -> datetime | None:
    """The time that *text* names: ``now``, ISO 8601, a time of today or ``March 15, 2026``; None otherwise.

    Times without a zone are in the zone of *now*.
    """
    text = text.strip()
    if text.lower() == "now":
        return now
    found = _clock(text, now) or _written(text) or _iso(text)
    return found.replace(tzinfo=now.tzinfo) if found and found.tzinfo is None else found


def _clock(text: str, now: datetime) -> datetime | None:
    match = _CLOCK.fullmatch(text)
    if not match:
        return None
    hour = int(match[1])
    if match[4]:
        hour = hour % 12 + (12 if match[4] in "Pp" else 0)
    try:
        return now.replace(hour=hour, minute=int(match[2]), second=int(match[3] or 0), microsecond=0)
    except ValueError:
        return None


def _written(text: str) -> datetime | None:
    match = _WRITTEN.fullmatch(text)
    months = [name for name in _MONTHS if match and name.lower().startswith(match[1].lower())]
    if not match or len(months) != 1:
        return None
    try:
        return datetime.combine(date(int(match[3]), _MONTHS.index(months[0]) + 1, int(match[2])), time())
    except ValueError:
        return None


def _iso(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None


def difference(first: datetime, second: datetime) -> str:
    """How long *first* is after or before *second*: ``in 2 hours``, ``7 days ago``."""
    seconds = (first - second).total_seconds()
    return f"in {duration(seconds)}" if seconds > 0 else f"{duration(seconds)} ago"


_MINUTE, _HOUR, _DAY, _MONTH, _YEAR = 60, 3600, 86400, 86400 * 30.436875, 86400 * 365.2425
_STEPS: tuple[tuple[float, str, float], ...] = (
    (45, "a few seconds", 0),
    (90, "a minute", 0),
    (45 * _MINUTE, "{} minutes", _MINUTE),
    (90 * _MINUTE, "an hour", 0),
    (22 * _HOUR, "{} hours", _HOUR),
    (36 * _HOUR, "a day", 0),
    (26 * _DAY, "{} days", _DAY),
    (45 * _DAY, "a month", 0),
    (320 * _DAY, "{} months", _MONTH),
    (548 * _DAY, "a year", 0),
)


def duration(seconds: float) -> str:
    """*seconds* in words, with the thresholds of the specification (semantics B1 30)."""
    size = abs(seconds)
    words, unit = next(((words, unit) for limit, words, unit in _STEPS if size < limit), ("{} years", _YEAR))
    return words.format(int(size / unit + 0.5)) if unit else words
