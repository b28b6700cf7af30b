"""What the writer types for the next part."""

from __future__ import annotations

import param

from marginalia.models.base import Model, shown, text_or_none
from marginalia.values import Turn


class TurnInput(Model):
    """The four fields of the turn panel. An empty one counts as left alone."""

    scene_setting = param.String(
        default="",
        label="Scene Setting",
        doc="Where and when the part plays, and what the reader should feel of it. Stays for the next part.",
    )
    pov_character = param.String(
        default="",
        label="POV Character",
        doc="Through whose eyes the part is told. Stays for the next part.",
    )
    present_characters = param.String(
        default="",
        label="Present Characters",
        doc="Who is there, separated by commas. Stays for the next part.",
    )
    instructions = param.String(
        default="",
        label="Instructions",
        doc="What shall happen in the next part, in your own words.",
    )

    def freeze(self) -> Turn:
        """The turn as the pipeline takes it: a blank field is ``None``."""
        return Turn(
            scene_setting=text_or_none(self.scene_setting),
            pov_character=text_or_none(self.pov_character),
            present_characters=text_or_none(self.present_characters),
            instructions=text_or_none(self.instructions),
        )

    def take(self, turn: Turn) -> None:
        """Show *turn*."""
        self.param.update(
            scene_setting=shown(turn.scene_setting),
            pov_character=shown(turn.pov_character),
            present_characters=shown(turn.present_characters),
            instructions=shown(turn.instructions),
        )
