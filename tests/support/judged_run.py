"""A run with reports in every format."""

from pathlib import Path
from typing import Any

from tests.support.cases import SILENT, safe_case, write_batch, write_json

HALF = {"signals": ["Fever"], "summary": "She went home.", "followup_questions": ["Which policy?"]}
TWO_TERMS = safe_case("x")["expectations"] | {"followup_questions": {"forbidden_terms": ["policy", "rule"]}}


def waive(*waivers: dict[str, str]) -> None:
    fields = {"reason": "Known since March.", "owner": "@ana", "expires": "2999-12-31"}
    write_json("safe-gate.waivers.json", {"waivers": [one | fields for one in waivers]})


def clinical() -> tuple[str, ...]:
    """Write SAFE v0 cases that pass, are for review, fail, and fail with a waiver; return the flags of a run."""
    write_batch(
        Path("b.json"),
        safe_case("passes"),
        safe_case("reviewed", output=HALF, expectations=TWO_TERMS),
        safe_case("fails", output=SILENT),
        safe_case("waived", output=SILENT | {"signals": ["Fever"]}),
    )
    waive({"id": "waived", "metric": "AC"})
    return "--safe-batch", "b"


def properties(found: Any, case: str) -> dict[str, str]:
    (suite,) = (one for one in found.junit.iter("testsuite") if one.get("name") == case)
    return {str(one.get("name")): str(one.get("value")) for one in suite.iter("property")}


CHECKS = ("agency_language", "unverifiable_reassurance", "topic_pivot")
