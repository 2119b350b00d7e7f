"""Reports for GitLab."""

from __future__ import annotations

from typing import Any


def test_gitlab_has_no_issue_for_what_is_waived_or_expected(judged: Any) -> None:
    said = " ".join(issue["description"] for issue in judged.gitlab)
    assert "bad: " in said
    assert "known: " not in said
    assert "negative: " not in said
    rules = [issue for issue in judged.gitlab if issue["check_name"].startswith("gate/")]
    assert {issue["severity"] for issue in rules} == {"blocker"}
