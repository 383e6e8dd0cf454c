"""How a report that is a few lines of text is printed."""

from __future__ import annotations

from rich.text import Text

from nessie_gc_core.model.text import shown


class ShownAsText:
    """A report whose text is what the command prints."""

    __slots__ = ()

    def __rich__(self) -> Text:
        """The text, in which nothing acts upon a terminal."""
        return Text(shown(str(self), lines=True))
