"""`assay config`: check a `.github/assay.yml` before it is merged, by the rules of a judging."""

import argparse
import json
from collections.abc import Mapping
from pathlib import Path

from app.cli.parser import CommandResult, Exit
from app.cli.terminal import terminal_page
from worker.domain.config.config import CONFIG_PATH, MISNAMED_CONFIG_PATH, to_keys
from worker.domain.dossier import ConfigOrigin, ConfigText
from worker.dossier.config import EffectiveConfig, resolve_config
from worker.errors import InputError
from worker.publishing.texts.cli_reports import effective_report, key_source, mistake_report, reference, schema


def config(arguments: argparse.Namespace) -> CommandResult:
    if arguments.answer == "check":
        return check(arguments)
    return CommandResult(Exit.ACCEPT, schema() if arguments.answer == "schema" else reference())


def check(arguments: argparse.Namespace) -> CommandResult:
    """Read the named files, or the one of this checkout. Exit code 2: a file is refused."""
    files = _files(arguments)
    texts = dict[ConfigOrigin, str | None]()
    for origin, path in files.items():
        try:
            texts[origin] = path.read_bytes().decode()
        except UnicodeDecodeError:
            texts[origin] = None
        except OSError as error:
            raise InputError(f"{path} can't be read: {error.strerror}.") from error
    names = {origin: str(path) for origin, path in files.items()}
    effective = resolve_config([ConfigText(origin=origin, text=text) for origin, text in texts.items()])
    code = Exit.USAGE if effective.refused_files else Exit.ACCEPT
    if arguments.json:
        return CommandResult(code, f"{json.dumps(_json(effective, names), indent=2)}\n")
    if not effective.refused_files:
        return CommandResult(code, effective_report(effective, names, terminal_page()))
    reports = (
        mistake_report(file.problems, texts[file.origin] or "", names[file.origin], terminal_page())
        for file in effective.refused_files
    )
    return CommandResult(code, "\n".join(reports))


def _files(arguments: argparse.Namespace) -> dict[ConfigOrigin, Path]:
    here = Path.cwd()
    root = next((parent for parent in (here, *here.parents) if (parent / ".git").exists()), here)
    own = Path(arguments.file) if arguments.file else root / CONFIG_PATH
    misnamed = own if str(own).endswith(MISNAMED_CONFIG_PATH) else root / MISNAMED_CONFIG_PATH
    if misnamed.exists() and (own == misnamed or not own.exists()):
        raise InputError(f"{misnamed} is not read. Rename it to {CONFIG_PATH}.")
    files = {ConfigOrigin.REPOSITORY: own} if arguments.file or own.exists() else {}
    if arguments.organisation:
        files[ConfigOrigin.ORGANISATION] = Path(arguments.organisation)
    return files


def _json(configured: EffectiveConfig, names: Mapping[ConfigOrigin, str]) -> dict[str, object]:
    if configured.refused_files:
        problems = [
            {
                "file": names[file.origin],
                "line": problem.line,
                "column": problem.column,
                "key": problem.key,
                "message": problem.message,
            }
            for file in configured.refused_files
            for problem in file.problems
        ]
        return {"valid": False, "problems": problems, "effective": None}
    values = {
        key: {"value": value, "from": key_source(configured, key, names)}
        for key, value in to_keys(configured.config).items()
    }
    return {"valid": True, "problems": [], "effective": values}
