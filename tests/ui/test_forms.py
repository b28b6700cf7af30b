"""A form is described by its parameters, and what it sends is checked by them."""

from __future__ import annotations

from marginalia.models import EntryModel, ProtocolModel, ProviderModel
from marginalia.ui.forms import described, fill


def test_every_field_has_a_label_and_says_what_it_is_for() -> None:
    for model in (EntryModel(), ProtocolModel(), ProviderModel()):
        for field in described(model):
            assert field["label"], field
            assert field["doc"], field


def test_numbers_are_read_as_people_write_them() -> None:
    model = ProtocolModel()
    assert fill(model, {"temperature": "0,7", "max_tokens": " 4096 ", "top_p": ""}) == {}
    assert (model.temperature, model.max_tokens, model.top_p) == (0.7, 4096, None)


def test_a_value_out_of_bounds_names_what_would_be_accepted() -> None:
    model = ProtocolModel()
    errors = fill(model, {"temperature": "9", "max_tokens": "many"})
    assert errors == {
        "temperature": "A number from 0 to 2, or nothing.",
        "max_tokens": "A whole number from 1, or nothing.",
    }
    assert model.temperature is None


def test_what_the_form_does_not_know_is_left_alone() -> None:
    assert fill(EntryModel(), {"lorebook_id": 7, "__class__": "x"}) == {}


def test_choices_are_those_of_the_parameter() -> None:
    place = next(field for field in described(EntryModel()) if field["name"] == "insertion")
    assert (place["kind"], ["lore_block", "lore_block"] in place["options"]) == ("choice", True)
