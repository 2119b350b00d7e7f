"""What ships and what builds it: every action, image and package by its digest, and the defences that the documents name."""

import re
from collections.abc import Iterator
from importlib.metadata import metadata
from pathlib import Path

import pytest
import yaml

from tests.support.cases import REPOSITORY

WORKFLOWS = sorted((REPOSITORY / ".github/workflows").glob("*.yml"))
OURS = [*WORKFLOWS, REPOSITORY / "composite/action.yml"]
EXAMPLES = sorted(
    [*REPOSITORY.glob("*.md"), *REPOSITORY.glob("docs/*.md"), *REPOSITORY.glob("safe_gate/commands/starter/**/*.yml")]
)
LICENCE = re.compile(r"\b(MIT|BSD|Apache|MPL|PSF|[AL]?GPL)\b")
TABLE = (REPOSITORY / "tests/data/github/actions.txt").read_text("utf-8").splitlines()
ACTIONS = {name: (release, commit) for name, release, commit in (row.split() for row in TABLE if row[0] != "#")}


def used(file: Path) -> Iterator[tuple[str, str, str]]:
    """Yield of each action that a file uses its repository, what stands after the @, and the comment."""
    for name, ref, comment in re.findall(r"uses: *([\w./-]+)@(\S+)(?: # (\S+))?", file.read_text("utf-8")):
        yield "/".join(name.split("/")[:2]), ref, comment


@pytest.mark.parametrize("file", OURS, ids=lambda file: file.name)
def test_every_action_in_use_is_in_the_table(file: Path) -> None:
    for name, ref, comment in used(file):
        assert (comment, ref) == ACTIONS[name]


def test_examples_use_the_same_releases_of_actions_and_the_table_has_no_other() -> None:
    found = {name for file in OURS for name, _, _ in used(file)}
    for file in EXAMPLES:
        for name, ref, _ in used(file):
            if name != "org/safe-gate":
                assert ref == ACTIONS[name][0].partition(".")[0], file
                found.add(name)
    assert found == ACTIONS.keys()


@pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.name)
def test_workflows_start_without_permissions(file: Path) -> None:
    workflow = yaml.safe_load(file.read_text("utf-8"))
    assert workflow["permissions"] == {}
    assert all(isinstance(job["permissions"], dict) for job in workflow["jobs"].values())
    granted = re.findall(r"^      [\w-]+: (?:read|write).*$", file.read_text("utf-8"), re.MULTILINE)
    assert [line for line in granted if " # " not in line] == []


def test_the_base_image_is_named_by_digest() -> None:
    bases = re.findall("^FROM (\\S+)", (REPOSITORY / "Dockerfile").read_text("utf-8"), re.MULTILINE)
    outside = [base for base in bases if base not in ("base", "scratch")]
    assert len(outside) == 1
    assert re.search("@sha256:[0-9a-f]{64}$", outside[0])


@pytest.mark.parametrize("file", sorted(REPOSITORY.glob("requirements*.txt")), ids=lambda file: file.name)
def test_every_locked_package_has_a_hash(file: Path) -> None:
    text = file.read_text("utf-8").replace("\\\n", " ")
    locked = [line for line in text.splitlines() if line and not line.lstrip().startswith("#")]
    assert locked
    assert [line for line in locked if not re.match(r"[\w.\[\]-]+==\S+.* --hash=sha256:[0-9a-f]{64}", line)] == []


def test_what_we_install_has_a_licence_that_the_page_on_security_names() -> None:
    page = (REPOSITORY / "docs/security.md").read_text("utf-8")
    (named,) = re.findall("^Licences of what we install in the image: (.+)$", page, re.MULTILINE)
    locked = (REPOSITORY / "requirements-image.txt").read_text("utf-8")
    found = set()
    for name in re.findall("^([\\w-]+)[^=]*==", locked, re.MULTILINE):
        facts = metadata(name)
        words = [word for field in ("License-Expression", "License", "Classifier") for word in facts.get_all(field, [])]
        licences = set(LICENCE.findall(" ".join(words)))
        assert licences, name
        found |= licences
    assert found == set(LICENCE.findall(named))


def test_the_tests_that_the_page_on_security_names_exist() -> None:
    named = re.findall("`(tests/[^`]+)::(test_\\w+)`", (REPOSITORY / "docs/security.md").read_text("utf-8"))
    assert len(named) > 20
    for file, name in named:
        assert f"\ndef {name}(" in (REPOSITORY / file).read_text("utf-8")
