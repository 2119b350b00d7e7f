"""`help`: show the help of a command, or of safe-gate itself."""

from __future__ import annotations

from safe_gate import commands
from safe_gate.commands import _command
from safe_gate.commands._command import Call, Command, switch, text
from safe_gate.core.validate import quote, suggestion
from safe_gate.model.problems import CannotJudge, Code

COMMAND = Command(
    place=17,
    summary="show the help of a command",
    exit_codes="0 shown, 3 no such command",
    verb="show the help",
    arguments={
        "name": text("COMMAND", "the command; without it: all of them", nargs="?"),
        "--all": switch("show the flags of all its settings", dest="is_whole"),
    },
)


def main(call: Call) -> int:
    """Show the help of the command that the command line names. Returns 0 or 3."""
    name = call.arguments["name"]
    if name and name not in commands.names():
        words = f"no command is called {quote(name)}{suggestion(name, commands.names())}; see safe-gate --help"
        raise CannotJudge.at("command line", words, Code.USAGE)
    call.effects.out(_command.help_text(name, is_whole=call.arguments["is_whole"]))
    return 0
