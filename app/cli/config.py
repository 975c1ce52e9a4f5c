"""`assay config`: reads a `.github/assay.yml` strictly, before it is merged.

Asks nobody and stores nothing. Invariant: it takes and refuses exactly what a judging does; 0 is valid, 2 is not.
"""

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from app.cli.exit_codes import Answer, Exit
from app.cli.page import page
from worker.domain.config.config_place import MISNAMED, PLACE
from worker.domain.config.schema import to_keys
from worker.domain.dossier.dossier import ConfigOrigin, ConfigText
from worker.dossier.config_file import Configured, Problem, configured
from worker.errors import InputError
from worker.publishing.texts.config import effective, mistakes, source
from worker.publishing.texts.config_reference import reference, schema


def config(arguments: argparse.Namespace) -> Answer:
    """What was asked for."""
    match arguments.answer:
        case "schema":
            return Answer(Exit.ACCEPT, schema())
        case "reference":
            return Answer(Exit.ACCEPT, reference())
        case _:
            return check(arguments)


def check(arguments: argparse.Namespace) -> Answer:
    """Read the files that are named, or the one of the checkout that we stand in."""
    files = _files(arguments)
    texts = {origin: _text(path) for origin, path in files.items()}
    names = {origin: str(path) for origin, path in files.items()}
    found = configured([ConfigText(origin=origin, text=text) for origin, text in texts.items()])
    code = Exit.USAGE if found.refused else Exit.ACCEPT
    if arguments.json:
        return Answer(code, f"{json.dumps(_json(found, names), indent=2)}\n")
    if not found.refused:
        return Answer(code, effective(found, names, page()))
    told = (mistakes(one.problems, texts[one.origin] or "", names[one.origin], page()) for one in found.refused)
    return Answer(code, "\n".join(told))


def _files(arguments: argparse.Namespace) -> dict[ConfigOrigin, Path]:
    root = _here(Path.cwd())
    own = Path(arguments.file) if arguments.file else root / PLACE
    misnamed = own if str(own).endswith(MISNAMED) else root / MISNAMED
    if misnamed.exists() and (own == misnamed or not own.exists()):
        raise InputError(f"{misnamed} is not read. Rename it to {PLACE}.")
    files = {ConfigOrigin.REPOSITORY: own} if arguments.file or own.exists() else {}
    if arguments.organisation:
        files[ConfigOrigin.ORGANISATION] = Path(arguments.organisation)
    return files


def _here(folder: Path) -> Path:
    """The root of the checkout that a folder is in; the folder itself where there is none."""
    return next((one for one in (folder, *folder.parents) if (one / ".git").exists()), folder)


def _text(path: Path) -> str | None:
    try:
        return path.read_bytes().decode()
    except UnicodeDecodeError:
        return None
    except OSError as error:
        raise InputError(f"{path} can't be read: {error.strerror}.") from error


def _json(found: Configured, names: Mapping[ConfigOrigin, str]) -> dict[str, object]:
    if found.refused:
        wrong = [row for one in found.refused for row in _problems(one.problems, names[one.origin])]
        return {"valid": False, "problems": wrong, "effective": None}
    holds = {key: {"value": value, "from": source(found, key, names)} for key, value in to_keys(found.config).items()}
    return {"valid": True, "problems": [], "effective": holds}


def _problems(problems: Sequence[Problem], name: str) -> list[dict[str, object]]:
    return [
        {"file": name, "line": one.line, "column": one.column, "key": one.key, "message": one.message}
        for one in problems
    ]
