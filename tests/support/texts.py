"""Any texts, and what readers see of them."""

import re
import unicodedata

from hypothesis import strategies as st

HOSTILE = "|`<>&@#*_[]()!\\:%,\n\r\t\x00\x1b\x07\x7f\x85\x9b\u061c\u200b\u200f\u202e\u2028\u2066\ufeff\U000e0041\ud800"
any_text = st.lists(
    st.sampled_from((*HOSTILE, "##[", "::error::", "<!--", "-->", "```")) | st.characters(exclude_categories=()),
    max_size=30,
).map("".join)


def hides(char: str) -> bool:
    """Return whether a character acts on a terminal, reorders text or does not show."""
    return unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp")


def as_the_runner_reads(line: str) -> tuple[str, dict[str, str], str]:
    """Return level, properties and message of a command as the runner (ActionCommand.TryParseV2) does."""
    command = re.fullmatch(r"::(\w+)(?: ([^\r\n]*?))?::([^\r\n]*)", line)
    assert command is not None

    def unescape(text: str, *more: tuple[str, str]) -> str:
        for code, char in (*more, ("%0D", "\r"), ("%0A", "\n"), ("%25", "%")):
            text = text.replace(code, char)
        return text

    pairs = [pair.split("=", 1) for pair in (command[2] or "").split(",") if pair]
    properties = {key: unescape(value, ("%3A", ":"), ("%2C", ",")) for key, value in pairs}
    return command[1], properties, unescape(command[3])


def utf16_units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2
