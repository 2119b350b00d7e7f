"""An entry of `results[]` in a report, with the fields that evaluators have in common. Pure."""

from __future__ import annotations

from safe_gate.core.model import JsonObject, Place


class StoredEntry:
    """An entry of `results[]` that is read as its properties are asked for: totals and tables ask for few."""

    __slots__ = ("_json",)

    def __init__(self, entry: JsonObject) -> None:
        self._json = entry

    @property
    def place(self) -> Place:
        """The place of the case."""
        return Place(**self._json["source"])

    @property
    def no_reply(self) -> str:
        """Why the text is no reply, "" for a reply."""
        return str(self._json.get("no_reply", ""))

    @property
    def cluster(self) -> str:
        """The cluster of the case, "" for none."""
        return str(self._json.get("cluster", ""))

    @property
    def case_digest(self) -> str:
        """The digest of the case, which its output does not change."""
        return str(self._json["digests"]["case"])

    @property
    def reply_digest(self) -> str:
        """The digest of the output without white space around its texts, "" in an earlier report."""
        return str(self._json["digests"].get("reply", ""))

    @property
    def message_digest(self) -> str:
        """The digest of what the output answers, "" in an earlier report."""
        return str(self._json["digests"].get("message", ""))

    @property
    def output_digest(self) -> str:
        """The digest of the output."""
        return str(self._json["digests"]["output"])
