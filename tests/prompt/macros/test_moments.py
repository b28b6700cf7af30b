from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from marginalia.prompt.macros.moments import difference, duration, formatted, moment, zone

NOW = datetime(2026, 3, 1, 0, 5, 9, 123456, tzinfo=timezone(timedelta(hours=-5, minutes=-30)))


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("YYYY YY Y", "2026 26 2026"),
        ("M MM MMM MMMM Mo", "3 03 Mar March 3rd"),
        ("Q Qo", "1 1st"),
        ("D DD Do DDD DDDD DDDo", "1 01 1st 60 060 60th"),
        ("d do dd ddd dddd e E", "0 0th Su Sun Sunday 0 7"),
        ("w ww wo gg gggg", "10 10 10th 26 2026"),
        ("W WW Wo GG GGGG", "9 09 9th 26 2026"),
        ("H HH h hh k kk A a", "0 00 12 12 24 24 AM am"),
        ("m mm s ss S SSS SSSSSS", "5 05 9 09 1 123 123456"),
        ("Z ZZ", "-05:30 -0530"),
        ("X x", "1772343309 1772343309123"),
        ("LT | LTS | L | l", "12:05 AM | 12:05:09 AM | 03/01/2026 | 3/1/2026"),
        (
            "LL | ll | LLL | lll",
            "March 1, 2026 | Mar 1, 2026 | March 1, 2026 12:05 AM | Mar 1, 2026 12:05 AM",
        ),
        ("LLLL | llll", "Sunday, March 1, 2026 12:05 AM | Sun, Mar 1, 2026 12:05 AM"),
        ("[LT Do] [] D", "LT Do  1"),
        ("", ""),
    ],
)
def test_a_time_is_written_with_the_tokens_of_moment(pattern: str, text: str) -> None:
    assert formatted(NOW, pattern) == text


@pytest.mark.parametrize(
    ("number", "text"),
    [(1, "1st"), (2, "2nd"), (3, "3rd"), (4, "4th"), (11, "11th"), (12, "12th"), (13, "13th"), (21, "21st")],
)
def test_days_have_english_endings(number: int, text: str) -> None:
    assert formatted(NOW.replace(day=number), "Do") == text


@pytest.mark.parametrize(("day", "week"), [("2026-12-26", "52"), ("2026-12-27", "1"), ("2027-01-03", "2")])
def test_the_week_of_january_1_is_the_first(day: str, week: str) -> None:
    assert formatted(datetime.fromisoformat(day), "w") == week


@pytest.mark.parametrize(
    ("text", "hours"),
    [
        ("UTC+2", 2),
        ("utc -5:30", -5.5),
        ("UTC+0545", 5.75),
        (" UTC-11 ", -11),
        ("UTC+24", None),
        ("CET", None),
    ],
)
def test_a_zone_is_an_offset_from_utc(text: str, hours: float | None) -> None:
    assert zone(text) == (None if hours is None else timezone(timedelta(hours=hours)))


@pytest.mark.parametrize(
    ("text", "iso"),
    [
        ("now", "2026-03-01T00:05:09.123456-05:30"),
        ("2026-02-03", "2026-02-03T00:00:00-05:30"),
        ("2026-02-03T04:05:06Z", "2026-02-03T04:05:06+00:00"),
        ("2026-02-03 04:05", "2026-02-03T04:05:00-05:30"),
        ("7:30", "2026-03-01T07:30:00-05:30"),
        ("7:30 PM", "2026-03-01T19:30:00-05:30"),
        ("12:05 am", "2026-03-01T00:05:00-05:30"),
        ("March 15, 2026", "2026-03-15T00:00:00-05:30"),
        ("mar 15th 2026", "2026-03-15T00:00:00-05:30"),
    ],
)
def test_a_moment_is_read_as_the_macros_write_it(text: str, iso: str) -> None:
    assert moment(text, NOW) == datetime.fromisoformat(iso)


@pytest.mark.parametrize(
    "text", ["", "soon", "25:00", "7:75", "February 30, 2026", "Ma 1, 2026", "2026-13-01", "x" * 10_000]
)
def test_what_is_no_moment_is_none(text: str) -> None:
    assert moment(text, NOW) is None


MINUTE, HOUR, DAY = 60, 3600, 86400


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "a few seconds"),
        (44, "a few seconds"),
        (45, "a minute"),
        (90, "2 minutes"),
        (44 * MINUTE, "44 minutes"),
        (45 * MINUTE, "an hour"),
        (90 * MINUTE, "2 hours"),
        (21 * HOUR, "21 hours"),
        (22 * HOUR, "a day"),
        (36 * HOUR, "2 days"),
        (25 * DAY, "25 days"),
        (26 * DAY, "a month"),
        (60 * DAY, "2 months"),
        (319 * DAY, "10 months"),
        (320 * DAY, "a year"),
        (548 * DAY, "2 years"),
        (-2 * HOUR, "2 hours"),
    ],
)
def test_a_duration_has_the_thresholds_of_the_specification(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_a_difference_says_in_which_direction() -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    assert difference(now + timedelta(hours=2), now) == "in 2 hours"
    assert difference(now, now + timedelta(days=7)) == "7 days ago"
    assert difference(now, now) == "a few seconds ago"
