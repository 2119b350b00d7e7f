"""Which files are read: all that patterns name, none by accident left out, and none written over."""

import errno
import json
import os
from pathlib import Path
from typing import Any

import pytest

from safe_gate.inputs import disk, globs
from safe_gate.render.untrusted import escape_invisible
from tests.support.cases import BAD, SafeGate, bare_case, refused, report, safe_case, turn, write_batch, write_cases
from tests.support.safe_v0 import saying
from tests.support.synthesis import run

OUTPUT = safe_case("x")["output"]


def write_outputs(path: str, *ids: str) -> None:
    write_cases(Path(path), *({"test_id": one, "output": OUTPUT} for one in ids))


def named(pattern: str) -> list[str]:
    paths, unread = globs.match_globs([pattern], Path())
    assert not unread
    return sorted(map(str, paths))


def test_a_glob_names_what_a_shell_would() -> None:
    for name in ("a.jsonl", ".hidden.jsonl", "x/b.jsonl", "x/y/c.jsonl", "x/.z/d.jsonl", "[1].jsonl"):
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).touch()
    for pattern, found in {
        "*.jsonl": ["[1].jsonl", "a.jsonl"],
        "x/?.jsonl": ["x/b.jsonl"],
        "**/*.jsonl": ["[1].jsonl", "a.jsonl", "x/b.jsonl", "x/y/c.jsonl"],
        "*/y/c.jsonl": ["x/y/c.jsonl"],
        "x/.*/*": ["x/.z/d.jsonl"],
        "[[]1].jsonl": ["[1].jsonl"],
        "*/": ["x"],
        "x/**": ["x/b.jsonl", "x/y", "x/y/c.jsonl"],
        f"{Path().absolute()}/x/*.jsonl": [f"{Path().absolute().as_posix()}/x/b.jsonl"],
        **dict.fromkeys(("a\0/**", "no/*", "a.jsonl/*", "a.jsonl", "*\0*/x"), ()),
    }.items():
        assert named(pattern) == [*found], pattern


def test_a_folder_that_a_glob_of_files_matches_is_an_error(safe_gate: SafeGate) -> None:
    of_folders = (
        ("e/b.jsonl/part-00000", "b"),
        ("e/c.json/d.jsonl", "c"),
        ("f/x.jsonl/sub/part.jsonl", "d"),
        ("g/x.jsonl/a.jsonl", "f"),
        ("g/x.jsonl/b", "g"),
    )
    for name, one in (("e/a.jsonl", "a"), *of_folders):
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        write_cases(Path(name), turn(one))
    write_batch(Path("e/batch.json"), safe_case("s"))
    words = "is a folder; rename it, or name the files in it and the others in place of e/"
    for flag, pattern, folder in (
        ("--synthesis-cases", "*.jsonl", "b.jsonl"),
        ("--synthesis-cases", "**.jsonl", "b.jsonl"),
        ("--synthesis-cases", "*/", ""),
        ("--synthesis-cases", "[a]*", ""),
        ("--synthesis-cases", "**/d.jsonl", ""),
        ("--safe-batch", "*.json", "c.json"),
        ("--safe-batch", "*", ""),
        ("--synthesis-cases", "../f/**/*.jsonl", ""),
        ("--synthesis-cases", "../g/**/*.jsonl", "../g/x.jsonl"),
    ):
        ran = safe_gate("run", flag, f"e/{pattern}")
        assert (f"e/{folder}: {words}{pattern}\n" in ran.err) is bool(folder), pattern
        assert (ran.code == 3) is (bool(folder) or pattern == "*/"), pattern
    refused(safe_gate("import", "e/*.jsonl", "--out", "o.jsonl"), f"e/b.jsonl: {words}*.jsonl")


def test_links_that_go_round_end_and_name_each_file_once_by_its_own_path(safe_gate: SafeGate, tmp_path: Path) -> None:
    Path("a/b").mkdir(parents=True)
    write_cases(Path("a/b/c.jsonl"), turn("t"))
    for link, target in (("a/x", "."), ("a/y", "."), ("a/A", "b"), ("a/b/up", ".."), ("a/z", "z"), ("a/w", "w" * 300)):
        Path(link).symlink_to(target)
    assert named("a/**/*.jsonl") == ["a/b/c.jsonl"]
    assert safe_gate("eval", "--cases", "a/**/*.jsonl").code == 0
    Path("0").mkdir()
    Path("0/a").symlink_to("../a")
    Path("00").symlink_to("a")
    assert named("*/**/*.jsonl") == named("*/*/**/*.jsonl") == ["a/b/c.jsonl"]
    (tmp_path / "elsewhere/in").mkdir(parents=True)
    write_cases(tmp_path / "elsewhere/in/c.jsonl", turn("t", assistant=BAD))
    Path("evals").mkdir()
    Path("evals/linked").symlink_to(tmp_path / "elsewhere")
    assert named("evals/**/*.jsonl") == ["evals/linked/in/c.jsonl"], "a folder behind a link alone is read"
    assert safe_gate("eval", "--cases", "evals/**/*.jsonl").code == 2


@pytest.mark.parametrize("flags", [("--cases", "loop/*.jsonl"), ("--safe-batch", "loop/*")])
def test_a_folder_that_cannot_be_listed_is_named(safe_gate: SafeGate, flags: tuple[str, ...]) -> None:
    Path("loop").symlink_to("loop")
    assert refused(safe_gate("run", *flags), "loop: cannot be read: ").count("loop: ") == 1


def test_a_file_of_the_globs_own_name_hides_no_other(safe_gate: SafeGate) -> None:
    Path("evals").mkdir()
    write_cases(Path("evals/b.jsonl"), turn("b", assistant=BAD))
    write_cases(Path("evals/*.jsonl"), turn("a"))
    assert safe_gate("run", "--synthesis-cases", "evals/*.jsonl").code == 1
    write_batch(Path("evals/1_batch_1.json"), safe_case("s", output=saying()))
    write_batch(Path("evals/*_batch_*.json"), safe_case("t"))
    assert safe_gate("run", "--safe-batch", "evals/*_batch_*").code == 1
    write_cases(Path("[a].jsonl"), turn("t", assistant=BAD))
    assert safe_gate("eval", "--cases", "[a].jsonl").code == 2


def test_a_glob_passes_over_what_was_written_before(safe_gate: SafeGate) -> None:
    write_batch(Path("b.json"), safe_case("s"))
    write_cases(Path("c.jsonl"), turn("t"))
    for _ in range(2):
        assert safe_gate("score", "--batch", "b*.json", "--format", "json", "--output", "earlier.json").code == 0
        assert safe_gate("run", "--batch", "b*.json", "--cases", "c.jsonl", "--report-dir", ".").code == 0
        assert safe_gate("run", "--batch", "[bs]*.json", "--shard", "1/1", "--report-dir", ".").code == 0
        assert safe_gate("eval", "--cases", "c.jsonl", "--out", "found.json").code == 0
    for name in ("earlier", "found"):
        refused(safe_gate("validate", f"{name}.json"), "1 problem;")
        ran = safe_gate("verify", f"{name}.json")
        assert ran.err.startswith(f"{name}.json: is not a report of safe-gate run: it has no field verdict")
        assert ran.err == safe_gate("compare", f"{name}.json", "safe-gate.json").err


def test_the_order_of_files_does_not_hang_on_how_they_are_spelt(safe_gate: SafeGate) -> None:
    for name in "ab":
        write_cases(Path(f"{name}.jsonl"), turn(name))
    safe_gate("run", "--synthesis-cases", str(Path("b.jsonl").absolute()), "a.jsonl")
    assert [result["id"] for result in report()["synthesis"]["results"]] == ["a", "b"]
    assert safe_gate("verify", "reports/safe-gate.json").code == 0
    write_batch(Path("SAFE_v0_I25.json"), safe_case("a"))  # named as our reports of one concern are
    write_batch(Path("b.json"), safe_case("b"))
    assert json.loads(safe_gate("score", "--batch", "*", "--format", "json").out)["total_cases"] == 2


def test_a_file_in_several_spellings_is_one_file(safe_gate: SafeGate) -> None:
    for folder in ("s", "elsewhere/deep"):
        Path(folder).mkdir(parents=True)
    write_batch(Path("a.json"), bare_case("s"))
    write_outputs("a.outputs.jsonl", "s")
    write_cases(Path("c.jsonl"), turn("t"))
    for other in (f"{Path.cwd()}/", "s/../", "./s/.././"):
        named = ("--batch", "a", f"{other}a.json", f"{other}a.outputs.jsonl")
        outputs = ("--outputs", "a.outputs.jsonl", f"{other}a.outputs.jsonl")
        assert safe_gate("score", *named).code == 0
        assert safe_gate("score", *named, *outputs).code == 0
        assert safe_gate("eval", "--cases", "c.jsonl", f"{other}c.jsonl").code == 0
    Path("link").symlink_to("elsewhere/deep")
    write_batch(Path("elsewhere/a.json"), safe_case("other", output=saying()))
    assert "link/../a.json: has the same batch id as a.json" in safe_gate("score", "--batch", "a", "link/../a").err


def test_no_report_takes_the_place_of_what_it_was_made_from(safe_gate: SafeGate) -> None:
    write_batch(Path("b.json"), bare_case("s"))
    write_outputs("b.outputs.jsonl", "s")
    write_cases(Path("c.jsonl"), turn("t"))
    Path("link.jsonl").symlink_to("c.jsonl")
    for name in ("safe.config.json", "other.json"):
        Path(name).write_text("{}", "utf-8")
    before = {path: path.read_bytes() for path in Path().iterdir()}
    for arguments in (
        "score --batch b --output b.json",
        "score --batch b* --output b.json --format json",
        "score --batch b --output ./b.outputs.jsonl",
        f"eval --cases c.jsonl --out {Path('c.jsonl').absolute()}",
        "eval --cases c.jsonl --out link.jsonl",
        "eval --cases c.jsonl --out safe.config.json",
        "eval --cases c.jsonl --config other.json --out other.json",
    ):
        refused(safe_gate(*arguments.split()), "which this run reads, and must not replace; name another file")
    for arguments in ("score --batch b --output -", "eval --cases c.jsonl --out -"):
        refused(safe_gate(*arguments.split()), "is -, and standard output has what people read; name a file")
    assert {path: path.read_bytes() for path in Path().iterdir()} == before
    os.mkfifo("pipe")
    for out in ("pipe", "/dev/safe-gate-report.json"):
        words = f"{out}: cannot be written: it is not a regular file; name a file"
        refused(safe_gate("eval", "--cases", "c.jsonl", "--out", out), words)
    assert Path("pipe").is_fifo()


@pytest.mark.parametrize("name", ["safe.config.json", "safe-gate.config.json", "safe-gate.waivers.json"])
def test_settings_that_lead_nowhere_are_not_the_defaults(safe_gate: SafeGate, name: str) -> None:
    Path(name).symlink_to("elsewhere/settings.json")
    words = "cannot be read: it is a link that leads nowhere; correct the link"
    refused(run(safe_gate, turn("t")), f"{name}: {words}")
    Path(name).unlink()
    Path(name).mkdir()
    words = "cannot be read: it is a folder, and a file is needed there; move it, or name a file"
    refused(run(safe_gate), f"{name}: {words}")


KNOWN = 'knwn.json: cannot be read: there is no such file (did you mean "known.json"?); correct the path\n'
FOLDER = "old: cannot be read: it is a folder, and a file is needed there; move it, or name a file\n"
NO_COMMIT = "old: is neither a .json file nor a readable commit"
RUN = "run --synthesis-cases c.jsonl"


@pytest.mark.parametrize(
    ("command", "words"),
    [
        *((f"{RUN} {flag} knwn.json", KNOWN) for flag in ("--config", "--waivers")),
        ("import in.csv --update knwn.json", KNOWN),
        *(
            (f"{command} knwn.json", 'knwn.json: matches no file (did you mean "known.json"?)')
            for command in ("verify", "validate")
        ),
        ("verify old", "old: is a folder; name the files in it, such as old/*.json\n"),
        ("bless old", FOLDER),
        *((command, NO_COMMIT) for command in (f"{RUN} --baseline old", "compare old .", "compare . old")),
    ],
)
def test_a_path_that_cannot_be_read_is_named_with_one_that_can(safe_gate: SafeGate, command: str, words: str) -> None:
    write_cases(Path("c.jsonl"), turn("t"))
    Path("in.csv").write_text("id,user,assistant\nt,x,y\n", "utf-8")
    Path("known.json").touch()
    Path("old").mkdir()
    refused(safe_gate(*command.split()), words)


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (errno.EACCES, "access is denied; change the permissions, or name another path"),
        (errno.EROFS, "the file system is read-only; name another path"),
    ],
)
def test_a_place_that_may_not_be_written_comes_with_advice(
    safe_gate: SafeGate, monkeypatch: pytest.MonkeyPatch, number: int, words: str
) -> None:
    def denied(*_: Any, **__: Any) -> None:
        raise OSError(number, os.strerror(number))

    write_cases(Path("c.jsonl"), turn("t"))
    monkeypatch.setattr(disk, "NamedTemporaryFile", denied)  # root may write anywhere
    last = "safe-gate: could not judge: 1 problem; correct the path and run again\n"
    ran = safe_gate("eval", "--cases", "c.jsonl", "--out", "out.json")
    refused(ran, f"out.json: cannot be written: {words}\n{last}")


@pytest.mark.parametrize("path", ["a\0b", "\ud800"])
def test_a_name_that_no_file_can_have_is_a_problem_of_its_setting(safe_gate: SafeGate, path: str) -> None:
    Path("safe.config.json").write_text(json.dumps({"waivers": path}), "utf-8")
    words = f"waivers: {json.dumps(path)} cannot be read: no file can have this name"
    refused(run(safe_gate, turn("t")), f"safe.config.json:1: {words}")
    Path("safe.config.json").write_text(json.dumps({"report-dir": path}), "utf-8")
    words = f"{escape_invisible(path, 9)}/safe-gate.json: cannot be written: "
    assert refused(run(safe_gate)).startswith(words)
