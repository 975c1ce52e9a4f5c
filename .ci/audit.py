"""Holds every locked version against the published advisories (OSV, which has those of GitHub and of PyPA).

    python .ci/audit.py [--lock uv.lock] [--source URL] [--timeout SECONDS]

Sends names and versions of open packages, and nothing else. Ends with 1 where an advisory is about one of them. Where the source
can't be reached, or does not answer for all of them, it says `not run: WHY` and ends with 0: a machine without a network is no
finding, and no word of it is ever taken for "nothing found".
"""

# ruff: noqa: INP001 - a script beside other scripts

import argparse
import json
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

SOURCE = "https://api.osv.dev/v1/querybatch"
LOCK = Path(__file__).resolve().parent.parent / "uv.lock"
TIMEOUT_S = 10.0
AT_ONCE = 500
MOST_BYTES = 20_000_000

Package = tuple[str, str]


class NotRun(Exception):
    """Nobody told whether there are advisories."""


def locked(lock: Path) -> list[Package]:
    """What is locked from a registry: name and version. The project itself has no advisories."""
    found = tomllib.loads(lock.read_text(encoding="utf-8"))["package"]
    return sorted({(one["name"], one["version"]) for one in found if "registry" in one.get("source", {})})


def advisories(packages: Sequence[Package], source: str, timeout: float) -> Iterator[tuple[Package, list[str]]]:
    """The ids of the advisories about each of them that has any. Raises NotRun."""
    for start in range(0, len(packages), AT_ONCE):
        some = packages[start : start + AT_ONCE]
        for package, ids in zip(some, _asked(some, source, timeout), strict=True):
            if ids:
                yield package, ids


def _asked(packages: Sequence[Package], source: str, timeout: float) -> list[list[str]]:
    queries = [{"package": {"name": name, "ecosystem": "PyPI"}, "version": version} for name, version in packages]
    answer = _fetched(source, {"queries": queries}, timeout)
    try:
        found = [[str(one["id"]) for one in result.get("vulns", [])] for result in answer["results"]]
    except (TypeError, KeyError, AttributeError) as error:
        raise NotRun(f"{source} answers in another form ({type(error).__name__})") from error
    if len(found) != len(packages):
        raise NotRun(f"{source} answers for {len(found)} of {len(packages)} packages")
    return found


def _fetched(source: str, body: Mapping[str, Any], timeout: float) -> Any:
    head = {"Content-Type": "application/json", "Accept": "application/json"}
    request = Request(source, json.dumps(body).encode(), head)  # noqa: S310 - the operator names the source
    try:
        with urlopen(request, timeout=timeout) as answer:  # noqa: S310 - as above
            return json.loads(answer.read(MOST_BYTES))
    except (OSError, HTTPException, ValueError) as error:  # refused, no name, no certificate, a proxy's page
        raise NotRun(f"{source} can't be asked ({error})") from error


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lock", type=Path, default=LOCK)
    parser.add_argument("--source", default=SOURCE)
    parser.add_argument("--timeout", type=float, default=TIMEOUT_S)
    given = parser.parse_args()
    packages = locked(given.lock)
    try:
        found = list(advisories(packages, given.source, given.timeout))
    except NotRun as error:
        sys.stdout.write(f"audit of dependencies: not run: {error}\n")
        return 0
    for (name, version), ids in found:
        sys.stdout.write(f"{name} {version}: {', '.join(ids)}\n")
    sys.stdout.write(f"audit of dependencies: {len(packages)} packages, {len(found)} with advisories\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
