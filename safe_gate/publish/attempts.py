"""Shell: what is published although another part of it fails: each failure is one warning."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from safe_gate.core.model import (
    Untrusted,
)
from safe_gate.github.annotations import Annotation
from safe_gate.publish import preview
from safe_gate.publish.effects import Effects
from safe_gate.render.untrusted import plain


def warn_of_loss(report_dir: str, effects: Effects) -> None:
    """Warn if later steps cannot read the folder of the reports."""
    if lost := preview.lost_reports(report_dir, effects.context):
        words = f"The reports in {report_dir} lie {lost}; set report-dir to a folder of the workspace"
        warn(words, effects)


def write_outputs(values: Mapping[str, str], effects: Effects) -> bool:
    """Write step outputs, if there are any; return whether more of them may follow."""
    file = effects.context.output_file
    return bool(file) and attempt("the step outputs", lambda: effects.write_outputs(file, values), effects)


def attempt(what: str, action: Callable[[], None], effects: Effects) -> bool:
    """Return whether an action succeeded; warn where it did not."""
    try:
        action()
    except OSError as error:
        warn(f"Could not write {what}: {error.strerror or error}", effects)
        return False
    return True


def warn(message: str, effects: Effects) -> None:
    """Warn of something that could not be published, as an annotation where there is a runner."""
    text = f"{plain(Untrusted(message), 500)}. The verdict does not depend on it."
    if effects.context.in_actions:
        effects.out(Annotation("warning", text, "SAFE Gate").command())
    else:
        effects.err(f"safe-gate: warning: {text}")
