"""The public surface: what importing costs, and that every name is there and explained."""

from __future__ import annotations

import inspect
import subprocess
import sys

import marginalia as mg


def test_importing_loads_none_of_the_heavy_libraries() -> None:
    code = "import sys, marginalia; print(sorted({'panel', 'duckdb', 'httpx', 'param', 'pandas'} & set(sys.modules)))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert found.strip() == "[]"


def test_the_studio_loads_no_interface() -> None:
    code = "import sys, marginalia; marginalia.Studio; print(sorted({'panel', 'bokeh', 'pandas'} & set(sys.modules)))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert found.strip() == "[]"


def test_every_public_name_exists_and_is_explained() -> None:
    assert list(mg.__all__) == sorted(mg.__all__)
    for name in mg.__all__:
        thing = getattr(mg, name)
        if inspect.isclass(thing) or inspect.isfunction(thing) or inspect.ismodule(thing):
            assert thing.__doc__, name


def test_all_23_events_are_named_and_explained() -> None:
    assert len(mg.events.ALL) == 23
    listed = mg.events.__doc__ or ""
    for event in mg.events.ALL:
        assert event.__name__ in listed
        assert event.__doc__


def test_an_unknown_name_is_refused() -> None:
    assert not hasattr(mg, "Nonsense")
