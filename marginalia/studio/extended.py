"""Lorebooks and stories that also know the kinds of files which extensions bring."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from marginalia.errors import FormatError
from marginalia.export import Manuscript
from marginalia.extensions.manager import Extensions
from marginalia.store import Store
from marginalia.studio.lore_exploring import LoreExploring
from marginalia.studio.lorebooks import ImportReport, LoreShelf, Source, contents, source_name
from marginalia.studio.manuscripts import Manuscripts


class ExtendedLore(LoreShelf):
    """``studio.lorebooks``: a file that is in none of Marginalia's own formats is offered to the extensions."""

    def __init__(self, store: Store, extensions: Extensions, exploring: LoreExploring) -> None:
        super().__init__(store, exploring)
        self._extensions = extensions

    def import_file(
        self,
        source: Source,
        name: str | None = None,
        *,
        format: str | None = None,  # noqa: A002 - the public word for it
    ) -> ImportReport:
        """See :meth:`LoreShelf.import_file`."""
        return self._taken(super().import_file, source, name, format)

    def preview_import(
        self,
        source: Source,
        name: str | None = None,
        *,
        format: str | None = None,  # noqa: A002 - the public word for it
    ) -> ImportReport:
        """See :meth:`LoreShelf.preview_import`."""
        return self._taken(super().preview_import, source, name, format)

    def _taken(
        self, take: Callable[..., ImportReport], source: Source, name: str | None, key: str | None
    ) -> ImportReport:
        foreign = key in {each.key for each in self._extensions.lore_formats}
        if not foreign:
            try:
                return take(source, name, format=key)
            except FormatError:
                if key is not None or not self._extensions.lore_formats:
                    raise
                found = self._extensions.lore_from(contents(source), source_name(source))
                if found is None:
                    raise
        else:
            found = self._extensions.lore_from(contents(source), source_name(source), key=key)
            if found is None:
                raise FormatError(f"{source_name(source) or 'This file'!r} is not in the format {key!r}.")
        lore_format, data = found
        report = take(data, name)
        return replace(report, file=source_name(source), format=lore_format.key, title=lore_format.title)


class ExtendedStories(Manuscripts):
    """``studio.story``: the formats of extensions are asked for by their keys, like the others."""

    def __init__(self, store: Store, extensions: Extensions) -> None:
        super().__init__(store)
        self._extensions = extensions

    def _written(self, manuscript: Manuscript, key: str) -> bytes:
        exporter = next((each for each in self._extensions.exporters if each.key == key.lower()), None)
        return super()._written(manuscript, key) if exporter is None else exporter.write(manuscript)
