"""Rows mined from a repository's history, clean ones and ones with a defect."""

import gzip
import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from bench.history import read_history
from bench.quality import is_blocking_allowed, main, measured_line
from worker.adapters.git.git import open_repository
from worker.domain.dossier import Dossier
from worker.dossier.assemble import complete_dossier
from worker.evaluation.bench.statistics import Share
from worker.signals.heuristic_opinion import SIGNALS
from worker.signals.signal import Signal, SignalKind

AUTHOR = ("-c", "user.name=Alice", "-c", "user.email=alice@example.org", "-c", "commit.gpgsign=false")


class Workshop:
    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.folder = folder
        self.count = 0
        self.git("init", "--quiet", "--initial-branch=main")

    def git(self, *arguments: str) -> str:
        done = subprocess.run(["git", *AUTHOR, *arguments], cwd=self.folder, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    def commit(self, message: str, path: str = "", text: str | None = None) -> str:
        self.count += 1
        file = self.folder / (path or f"src/part{self.count}.py")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text or f"def part():\n    first = {self.count}\n    second = 2\n    return first + second\n")
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "-m", message)
        return self.git("rev-parse", "HEAD")


@pytest.fixture
def workshop(tmp_path: Path) -> Workshop:
    workshop = Workshop(tmp_path / "repository")
    workshop.commit("Begin")
    return workshop


def mine_rows(workshop: Workshop, *options: str) -> list[dict[str, Any]]:
    out = workshop.folder.parent / "out.jsonl.gz"
    assert main(["mine", str(workshop.folder), str(out), "--name", "acme/widgets", *options]) == 0
    return read_rows(out)


def read_rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in gzip.decompress(path.read_bytes()).split(b"\n") if line]


def titles(rows: list[dict[str, Any]]) -> list[str]:
    return [row["dossier"]["pull_request"]["title"] for row in rows]


def test_commit_becomes_a_dossier_with_whole_files(workshop: Workshop) -> None:
    sha = workshop.commit("Add a part (#12)\n\nIt adds.\n\nCo-authored-by: Bob <bob@example.org>")
    (row,) = mine_rows(workshop)
    pull = row["dossier"]["pull_request"]
    assert (pull["title"], pull["number"], pull["body"], pull["head_sha"]) == ("Add a part", 12, "It adds.", sha)
    assert row["expect"]["lang"] == "python"
    assert [file["path"] for file in row["dossier"]["files"]] == ["src/part2.py"]
    assert "+    second = 2\n" in row["dossier"]["diff"]
    assert "bob@" not in json.dumps(row)
    assert "alice@" not in json.dumps(row)


def test_control_characters_in_messages_and_paths_do_not_split_commits(workshop: Workshop) -> None:
    workshop.commit("Add \x01a\x02 \x03part\n\n:000000 100644 0 1 A\n\x01\x01body", path="src/\x01:odd.py")
    workshop.commit("Say nothing", path="src/part1.py", text="def part():\n    return 1\n\n\ndef b():\n    return 2\n")
    odd = read_history(open_repository(workshop.folder), 10)[1]
    assert odd.touched == ("src/\x01:odd.py",)
    assert odd.message == "Add \x01a\x02 \x03part\n\n:000000 100644 0 1 A\n\x01\x01body"


def test_history_keeps_commits_that_touch_no_file(workshop: Workshop) -> None:
    workshop.git("commit", "--quiet", "--allow-empty", "-m", "Nothing")
    workshop.commit("Something")
    newest, nothing, first = read_history(open_repository(workshop.folder), 10)
    assert [commit.message for commit in (newest, nothing, first)] == ["Something", "Nothing", "Begin"]
    assert [commit.touched for commit in (newest, nothing, first)] == [("src/part2.py",), (), ("src/part1.py",)]


@pytest.mark.parametrize(
    "message",
    ['Revert "x"', "Merge branch 'x'", "WIP parts", "Release 1.2", "Bump x from 1 to 2", "chore(deps): x", "1.0.3"],
)
def test_mine_skips_chore_commits(workshop: Workshop, message: str) -> None:
    workshop.commit(message)
    assert mine_rows(workshop) == []


def test_mine_skips_commits_that_later_ones_revert_or_mention(workshop: Workshop) -> None:
    taken_back = workshop.commit("Add a part")
    workshop.commit("Add another (#31)")
    workshop.commit(f"Think again\n\nThis reverts commit {taken_back}.")
    workshop.commit("Repair what #31 broke")
    assert titles(mine_rows(workshop)) == ["Repair what #31 broke", "Think again"]


def test_merged_pull_request_is_one_change_with_its_own_title(workshop: Workshop) -> None:
    workshop.git("checkout", "--quiet", "-b", "topic")
    workshop.commit("one")
    workshop.commit("two")
    workshop.git("checkout", "--quiet", "main")
    workshop.git("merge", "--quiet", "--no-ff", "-m", "Merge pull request #5 from bob/topic\n\nTwo parts", "topic")
    (row,) = mine_rows(workshop)
    assert titles([row]) == ["Two parts"]
    assert (row["dossier"]["pull_request"]["number"], row["expect"]["files"]) == (5, 2)


def test_mine_selects_commits_by_touched_path(workshop: Workshop) -> None:
    workshop.commit("Add a part")
    workshop.commit("Set up", ".github/workflows/ci.yml", "on: push\njobs: {}\nname: ci\n")
    assert titles(mine_rows(workshop)) == ["Add a part"]
    assert titles(mine_rows(workshop, "--touching", ".github/workflows/*")) == ["Set up"]


def test_mine_skips_too_large_and_too_small_changes(workshop: Workshop) -> None:
    workshop.commit("Much", "src/much.py", "x = 1\n" * 700)
    workshop.commit("Little", "src/little.py", "x = 1\n")
    assert mine_rows(workshop) == []


def test_mine_limit_is_deterministic_and_prefers_commits_with_tests(workshop: Workshop) -> None:
    for number in range(4):
        workshop.commit(f"Part {number}")
    for number in range(3):
        (workshop.folder / "src" / f"of{number}.py").write_text("a = 1\nb = 2\nc = 3\n")
        workshop.commit(f"Tested {number}", f"tests/test_{number}.py")
    first = mine_rows(workshop, "--limit", "4")
    in_order = titles(mine_rows(workshop))
    assert titles(first) == sorted(titles(first), key=in_order.index)
    assert in_order[0] == "Tested 2"
    assert in_order[-1] == "Part 0"
    assert mine_rows(workshop, "--limit", "4") == first
    assert sum(row["expect"]["tested"] for row in first) == 3


def test_closed_issue_takes_the_text_of_the_commit_message(workshop: Workshop) -> None:
    prose = "The part was missing for all those who need a part, and they have told us so many times."
    workshop.commit(f"Add a part\n\n{prose}\n\nCloses #9")
    (row,) = mine_rows(workshop)
    assert [(issue["number"], issue["linked_by"]) for issue in row["dossier"]["issues"]] == [(9, "Closes #9")]
    assert row["expect"]["issue_source"] == "message"


LISTED = """Rework the parts (#12)

Why: there were too many.

* Retry three times
  before the part fails
* Log the number of retries (#9)
* fix lint
* `src/part1.py` and `src/part2.py`
* 0123abc 4567def 89abcde
* Merge branch 'main' into parts
- [ ] I have read the guide
1. Refuse a part without a name
    - Say which part was refused

Signed-off-by: Bob Part <bob@example.org>
Co-authored-by: Carol Part <carol@example.org>
"""


def test_list_in_a_commit_message_becomes_acceptance_criteria(workshop: Workshop) -> None:
    workshop.commit(LISTED)
    workshop.commit("Say little\n\n- Add a first part\n- Add a second part\n- fix lint")
    (row,) = mine_rows(workshop, "--listed", "3")
    (issue,) = row["dossier"]["issues"]
    assert issue["body"].startswith("## Acceptance criteria\n\n- ")
    assert row["expect"]["issue_source"] == "list"
    criteria = complete_dossier(Dossier.model_validate(row["dossier"])).criteria or ()
    assert [(criterion.text, criterion.inferred) for criterion in criteria] == [
        ("Retry three times before the part fails", False),
        ("Log the number of retries (#9)", False),
        ("Refuse a part without a name", False),
        ("Say which part was refused", False),
    ]
    assert len(mine_rows(workshop)) == 2


PART = """\
def part{0}(first, second):
    if first:
        total = first
    else:
        total = second
    return total
"""
TEST = """\
import pytest


def test_part{0}():
    total = part{0}(1, 2)
    assert total == 1
    assert total != 2


def test_other{0}():
    total = part{0}(0, 2)
    assert total == 2
    assert total != 0
"""


@pytest.fixture
def parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for whose in ("AUTHOR", "COMMITTER"):  # the injector draws a variant by the commit's id, which its date decides
        monkeypatch.setenv(f"GIT_{whose}_DATE", "2026-01-01T00:00:00Z")
    folder = tmp_path / "repository"
    history = Workshop(folder)
    history.commit("Begin", "package.json", '{"scripts": {"test": "jest"}}\n')
    for number in range(13):
        (folder / "tests").mkdir(exist_ok=True)
        (folder / f"tests/test_part{number}.py").write_text(TEST.format(number))
        history.commit(f"Add part {number}", f"lib/part{number}.py", PART.format(number))
    return folder


def inject_rows(history: Path, *options: str) -> list[dict[str, Any]]:
    out = history.parent / "out.jsonl.gz"
    assert main(["inject", str(history), str(out), "--limit", "13", *options]) == 0
    return read_rows(out)


def test_seed_differs_from_its_twin_applies_to_its_base_and_names_its_defect(parts: Path) -> None:
    rows = inject_rows(parts)
    twins = {row["id"]: row for row in rows if row["expect"]["decision"] == "accept"}
    seeds = [row for row in rows if row["expect"]["decision"] == "reject"]
    assert len(seeds) == len(twins) == 13
    assert {seed["expect"]["variant"] for seed in seeds} >= {
        "body_stubbed", "debug_left", "conflict_left", "arm_emptied", "new_test_skipped", "returns_early",
        "asks_for_test_run", "path_forbidden", "script_is_true", "scratch_file",
    }  # fmt: skip
    for seed in seeds:
        dossier, twin = seed["dossier"], twins[seed["expect"]["pair"]]["dossier"]
        assert (dossier["diff"], dossier.get("case"), dossier["guidance"]) != (
            twin["diff"], twin.get("case"), twin["guidance"],
        )  # fmt: skip
        paths = {file["path"] for file in dossier["files"]}
        assert all(entry["path"] in dossier["diff"] or entry["path"] in paths for entry in seed["expect"]["where"])
        apply, raw = ["git", "apply", "--numstat", "-"], dossier["diff"].encode()
        assert subprocess.run(apply, cwd=parts, input=raw, capture_output=True, check=True).stdout


def test_variants_file_replaces_the_built_in_variants(parts: Path) -> None:
    file = parts.parent / "fresh.py"
    file.write_text(
        "from bench.defects import Defect\n\n"
        "def blank(source, draw):\n"
        "    for function in source.new_code:\n"
        "        yield source.begin(function, '', 'half_finished', 'blank_line')\n\n"
        "VARIANTS = (blank,)\n"
    )
    rows = inject_rows(parts, "--variants", str(file), "--limit", "2")
    assert {row["expect"].get("variant") for row in rows} == {None, "blank_line"}


MEASURED_LINE = re.compile(
    r"False alarms: (\d+) of (\d+) clean changes with ([a-z A-Z]+?) \(\d+\.\d %, at most \d+\.\d\d %\)\."
)


def read_measured(signal: Signal) -> Share:
    """The false alarms in a signal's docstring."""
    match = MEASURED_LINE.search(" ".join(signal.description.split()))
    assert match is not None
    return Share(int(match[1]), int(match[2]))


BY_NAME = {signal.name: signal for signal in SIGNALS}


@pytest.mark.parametrize("name", BY_NAME)
def test_signal_documents_its_false_alarm_rate(name: str) -> None:
    share = read_measured(BY_NAME[name])
    assert measured_line(share, BY_NAME[name].scope) in " ".join(BY_NAME[name].description.split())


@pytest.mark.parametrize("name", [signal.name for signal in SIGNALS if signal.kind is SignalKind.FACT])
def test_fact_signal_may_block_by_its_measured_rate(name: str) -> None:
    share = read_measured(BY_NAME[name])
    assert is_blocking_allowed(share), "make it a suspicion, or measure it on more clean changes"


@pytest.mark.parametrize(
    ("share", "allowed"),
    [(Share(0, 299), False), (Share(0, 765), True), (Share(0, 700), False), (Share(5, 765), False)],
)
def test_too_few_changes_or_too_many_alarms_forbid_blocking(share: Share, *, allowed: bool) -> None:
    assert is_blocking_allowed(share) is allowed
