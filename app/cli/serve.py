"""`assay serve` and `assay work`: the two halves of a deployment, each in its own process.

Does not supervise (`app.cli.up` does). Invariant: a process that was started to end with another one
ends with it, however that one ended.
"""

import argparse
import signal

from app.cli.exit_codes import CommandResult, Exit
from worker.parent_death_signal import die_with_parent
from worker.settings import Settings, load_settings, malformed_setting


def serve(arguments: argparse.Namespace) -> CommandResult:
    """Run the web door until it is told to stop. Without an App, it serves the page that creates one."""
    settings = _prepare(arguments.end_with)
    require_usable_app(settings, is_needed=False)
    from app.web.asgi import run_web

    run_web(settings)
    return CommandResult(Exit.ACCEPT)


def work(arguments: argparse.Namespace) -> CommandResult:
    """Run dispatcher and worker until they are told to stop."""
    settings = _prepare(arguments.end_with)
    require_usable_app(settings)
    from worker.__main__ import run_work
    from worker.log import log_json

    log_json(settings.log_level)
    run_work(settings)
    return CommandResult(Exit.ACCEPT)


def _prepare(end_with: int | None) -> Settings:
    """The settings, before anything is started or loaded. Raises SettingError where one is missing."""
    if end_with is not None:
        die_with_parent(end_with, signal.SIGTERM)
    return load_settings()


def require_usable_app(settings: Settings, *, is_needed: bool = True) -> None:
    """Raises SettingError where a needed App is not set, or has a key that the first pull request would find damaged."""
    if settings.app is None and not is_needed:
        return
    app = settings.require_app()
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    for position, key in enumerate(app.private_keys, start=1):
        try:
            load_pem_private_key(key.get_secret_value().encode(), password=None)
        except (ValueError, TypeError, UnsupportedAlgorithm) as error:
            raise malformed_setting(
                "ASSAY_APP_PRIVATE_KEY", f"holds a key (number {position}) that is damaged"
            ) from error
