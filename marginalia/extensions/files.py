"""The border around an extension's formats: what fails in them is noted with its owner, and refuses that one file."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from marginalia.errors import FormatError, InvalidInput, MarginaliaError
from marginalia.export import FORMATS, Manuscript
from marginalia.extensions.api import Exporter, LoreFormat
from marginalia.formats import CODECS

Noted = Callable[[str, Exception], None]


def guarded_format(lore_format: LoreFormat, failed: Noted) -> LoreFormat:
    """*lore_format*; when it cannot tell, it does not see itself, and when it cannot read, the file is refused."""

    def sees(data: bytes, file: str) -> bool:
        try:
            return bool(lore_format.sees(data, file))
        except Exception as error:  # noqa: BLE001 - the isolation border: another format may know the file
            failed(f"import of {lore_format.title}", error)
            return False

    def read(data: bytes, file: str) -> bytes:
        try:
            return _bytes(lore_format.read(data, file))
        except FormatError:
            raise
        except Exception as error:
            failed(f"import of {lore_format.title}", error)
            raise FormatError(
                f"{file or 'This file'} cannot be imported: the extension that reads {lore_format.title} failed "
                f"({error})."
            ) from error

    return replace(lore_format, sees=sees, read=read)


def guarded_exporter(exporter: Exporter, failed: Noted) -> Exporter:
    """*exporter*; when it fails, that one export is refused."""

    def write(manuscript: Manuscript) -> bytes:
        try:
            return _bytes(exporter.write(manuscript))
        except MarginaliaError:
            raise
        except Exception as error:
            failed(f"export to {exporter.name}", error)
            raise InvalidInput(
                f"The story cannot be exported: the extension that writes {exporter.name} failed ({error})."
            ) from error

    return replace(exporter, write=write)


def refuse_taken_format(key: str, others: Iterable[LoreFormat]) -> None:
    """Raise ``InvalidInput`` for the key of a format of lore that is known already."""
    _refuse(key, {each.id for each in CODECS} | {each.key for each in others})


def refuse_taken_exporter(key: str, others: Iterable[Exporter]) -> None:
    """Raise ``InvalidInput`` for the key of a kind of file that can be written already, or is not in small letters."""
    if key != key.lower():
        raise InvalidInput(f"The key {key!r} of an exporter has to be in small letters.")
    _refuse(key, {*FORMATS} | {each.key for each in others})


def _refuse(key: str, taken: set[str]) -> None:
    if key in taken:
        raise InvalidInput(f"There is a format {key!r} already. Choose another key.")


def _bytes(given: object) -> bytes:
    if not isinstance(given, bytes):
        raise TypeError(f"it gave {type(given).__name__} instead of bytes")
    return given
