"""Make clean dossiers out of a repository's own history, one a commit: `python bench/mine.py REPO_DIR OUT.jsonl.gz`.

Walks HEAD's first-parent line (single commits, and merged pull requests as their diff against the first parent) and
keeps ordinary work of moderate size that no later commit reverts or names. Rows are `{"id", "dossier", "expect"}`
(docs/dossier.md); the same history gives the same file, byte for byte. Nothing in the repository is executed.
With --touching GLOB (may be repeated; matches whole paths) a commit counts if it changes such a path, code or not.
With --listed N a commit counts if its message lists at least N things that it does; an issue asks for exactly these.
"""

import argparse
import gzip
import hashlib
import io
import json
import re
import sys
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Final

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from bench.mining.clean import (  # noqa: E402 - found from any working directory
    BESIDE,
    clean,
    declares_a_loosening,
    fits,
    is_test,
    main_language,
    size_of,
    spread,
)
from bench.mining.history import Commit, history  # noqa: E402 - as above
from bench.mining.listed import as_criteria, listed_items  # noqa: E402 - as above
from worker.adapters.git.changes import (  # noqa: E402 - as above
    changes_between,
    diff_between,
    look_up_at,
    texts_of,
)
from worker.adapters.git.checkout import guidance_at, repository_name  # noqa: E402 - as above
from worker.adapters.git.git import GitFailedError, GitRepository, open_repository  # noqa: E402 - as above
from worker.domain.dossier.dossier import Dossier  # noqa: E402 - as above
from worker.domain.ids import Sha  # noqa: E402 - as above
from worker.dossier.assemble import complete_dossier  # noqa: E402 - as above
from worker.signals.heuristic_opinion import find_lookups  # noqa: E402 - as above

FILE_BYTES: Final = 200 * 1024
DOSSIER_BYTES: Final = 600 * 1024
DIFF_BYTES: Final = 150_000
WALKED: Final = 5000
TESTED_OF_FOUR: Final = 3
LEAST_PROSE: Final = 80
CLOSES: Final = re.compile(r"\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?):? #(\d{1,7})\b", re.IGNORECASE)
AGENTS: Final = (
    ("copilot-swe-agent[bot]", "copilot", "copilot/fix-"),
    ("claude[bot]", "claude", "claude/issue-"),
    ("devin-ai-integration[bot]", "devin", "devin/"),
    ("cursor[bot]", "cursor", "cursor/change-"),
    ("openhands-agent", "openhands", "openhands/fix-issue-"),
)


def hashed(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def pull_request(commit: Commit, name: str) -> dict[str, Any]:
    """Half of the authors are shown as agents, by hash, so that authorship tells nothing."""
    number = commit.number or int(hashed(commit.sha)[:4], 16)
    draw = int(hashed("author", commit.sha)[:8], 16)
    person = f"user-{hashed(commit.author)[:6]}"
    login, agent, prefix = AGENTS[draw // 2 % len(AGENTS)] if draw % 2 else (person, None, f"{person}/patch-")
    return {
        "repository": name,
        "number": number,
        "title": commit.title,
        "body": commit.body,
        "author": login,
        "author_agent": agent,
        "base_ref": "main",
        "base_sha": commit.parents[0],
        "head_ref": f"{prefix}{number}",
        "head_sha": commit.sha,
        "draft": False,
        "labels": [],
        "commits": [{"sha": commit.sha, "message": f"{commit.title}\n\n{commit.body}".strip(), "author": login}],
    }


def issues(commit: Commit, name: str, *, is_listed: bool) -> list[dict[str, Any]]:
    """The issue that the message closes, in the message's own words, where it has enough of them; or one that asks for its list."""
    closed = CLOSES.search(commit.body)
    if not is_listed and (closed is None or len(commit.body) < LEAST_PROSE):
        return []
    number = int(closed[1]) if closed else 0
    body = as_criteria(listed_items(commit)) if is_listed else commit.body
    url = f"https://github.com/{name}/issues/{number}" if number else None
    words = {"number": number, "title": commit.title, "body": body, "url": url, "linked_by": closed and closed[0]}
    return [{"repository": name, **words}]


def texts(repository: GitRepository, base: Sha, head: Sha) -> list[dict[str, Any]]:
    """Whole texts at head of the changed files, without generated and vendored ones, up to a size."""
    wanted = [
        (change.path, change.blob)
        for change in changes_between(repository, base, head)
        if change.blob is not None and change.mode.startswith("100") and not BESIDE.search(change.path)
    ]
    kept: list[dict[str, Any]] = []
    room = DOSSIER_BYTES
    for file in texts_of(repository, wanted).files:
        size = len((file.text or "").encode())
        if size <= min(FILE_BYTES, room):
            room -= size
            kept.append({"path": file.path, "text": file.text})
    return kept


def row(repository: GitRepository, commit: Commit, name: str, *, is_listed: bool = False) -> dict[str, Any] | None:
    """None where the diff is too large or too small, or is no text."""
    base, head = commit.parents[0], commit.sha
    diff, unread = diff_between(repository, base, head, changes_between(repository, base, head), DIFF_BYTES)
    size = size_of(diff)
    if unread or size is None or not fits(size) or "�" in diff:
        return None
    paths = commit.touched
    linked = issues(commit, name, is_listed=is_listed)
    dossier: dict[str, Any] = {
        "dossier_version": 1,
        "pull_request": pull_request(commit, name),
        "issues": linked,
        "diff": diff,
        "files": texts(repository, base, head),
        "guidance": [one.model_dump() for one in guidance_at(repository, base, paths)],
        "ci": {"state": "success", "checks": [{"name": "test", "conclusion": "success"}]},
    }
    whole = complete_dossier(Dossier.model_validate(dossier))
    found = look_up_at(repository, whole, find_lookups(whole))
    dossier["lookups"] = [lookup.model_dump() for lookup in found.names]
    dossier["files"] += [{"path": path, "exists": False} for path in found.absent_paths]
    expect = {
        "decision": "accept",
        "why": "clean",
        "lang": main_language(paths),
        "repo": name,
        "files": size.files,
        "added": size.added,
        "tested": any(is_test(path) for path in paths),
        "issue_source": ("list" if is_listed else "message") if linked else None,
        "declares_loosening": declares_a_loosening(commit),
    }
    return {"id": f"mined-{hashed(name, commit.sha)[:12]}", "dossier": dossier, "expect": expect}


def made(
    repository: GitRepository, commits: Sequence[Commit], name: str, *, is_listed: bool
) -> Iterator[tuple[Commit, dict[str, Any]]]:
    """Rows of those commits that can be read whole (a snapshot may lack contents)."""
    for commit in commits:
        try:
            found = row(repository, commit, name, is_listed=is_listed)
        except GitFailedError:
            continue
        if found is not None:
            yield commit, found


def _lists(commit: Commit, least: int) -> bool:
    items = listed_items(commit)
    return len(items) >= least and as_criteria(items) != ""


def rows(repository: GitRepository, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """At most `limit` rows, newest first; three of four with a test, as far as there are."""
    name = arguments.name or repository_name(repository)
    commits = clean(history(repository, arguments.walk), arguments.touching)
    if arguments.listed:
        commits = [commit for commit in commits if _lists(commit, arguments.listed)]
    limit = arguments.limit or len(commits)
    tested, others = (made(repository, some, name, is_listed=bool(arguments.listed)) for some in spread(commits))
    chosen = list(islice(tested, limit * TESTED_OF_FOUR // 4))
    chosen += islice(others, limit - len(chosen))
    chosen += islice(tested, limit - len(chosen))
    place = {commit.sha: index for index, commit in enumerate(commits)}
    return [found for _, found in sorted(chosen, key=lambda one: place[one[0].sha])]


def write(path: Path, found: Sequence[dict[str, Any]]) -> None:
    """Write one row a line; no time and no name in the archive, so that the same rows give the same bytes."""
    with path.open("wb") as raw, gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0) as packed:
        text = io.TextIOWrapper(packed, encoding="utf-8", newline="\n")
        text.writelines(json.dumps(one, ensure_ascii=False) + "\n" for one in found)
        text.flush()


def main(given: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repository", type=Path, metavar="REPO_DIR")
    parser.add_argument("out", type=Path, metavar="OUT.jsonl.gz")
    parser.add_argument("--limit", type=int, default=0, metavar="N", help="at most N rows, spread over the history")
    parser.add_argument("--touching", action="append", default=[], metavar="GLOB")
    parser.add_argument("--listed", type=int, default=0, metavar="N", help="only messages that list at least N things")
    parser.add_argument("--walk", type=int, default=WALKED, metavar="N", help="how many commits to look back")
    parser.add_argument("--name", metavar="OWNER/NAME", help="the repository's name, where it has no remote")
    arguments = parser.parse_args(given)
    found = rows(open_repository(arguments.repository), arguments)
    write(arguments.out, found)
    print(f"{arguments.out.name}: {len(found)} dossiers")
    return 0


if __name__ == "__main__":
    sys.exit(main())
