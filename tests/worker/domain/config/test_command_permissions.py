"""Rights of commands: roles, bots, authors and reasons."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.domain.config.command_permissions import (
    COMMAND_RIGHTS,
    ROLE_ORDER,
    CommandAuthor,
    CommandRefusal,
    Role,
    find_refusal,
    parse_pause,
    roles_from,
)
from worker.domain.judge_request import CommandName
from worker.domain.time_range import UntilError

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)

LEAST = {
    CommandName.REJUDGE: Role.WRITE,
    CommandName.FORCE: Role.WRITE,
    CommandName.CONTEST: Role.WRITE,
    CommandName.OVERRIDE: Role.MAINTAIN,
    CommandName.PAUSE: Role.MAINTAIN,
    CommandName.RESUME: Role.MAINTAIN,
    CommandName.HELP: Role.WRITE,
    CommandName.APPROVED: Role.WRITE,
    CommandName.CHANGES: Role.WRITE,
    CommandName.DISMISSED: Role.WRITE,
}
NOT_ONES_OWN = {CommandName.FORCE, CommandName.CONTEST, CommandName.OVERRIDE, CommandName.APPROVED, CommandName.CHANGES}


def test_each_command_has_its_right() -> None:
    assert set(COMMAND_RIGHTS) == set(CommandName) == set(LEAST)


@pytest.mark.parametrize("command", CommandName)
@pytest.mark.parametrize("role", Role)
def test_command_needs_its_role_or_a_higher_one(command: CommandName, role: Role) -> None:
    may = ROLE_ORDER.index(role) >= ROLE_ORDER.index(LEAST[command])
    assert find_refusal(command, CommandAuthor(role), "a reason") == (None if may else CommandRefusal.ROLE)


@pytest.mark.parametrize("command", CommandName)
def test_author_cannot_overrule_except_by_override_as_sole_maintainer(command: CommandName) -> None:
    for is_only_maintainer in (False, True):
        author = CommandAuthor(Role.ADMIN, is_author=True, is_only_maintainer=is_only_maintainer)
        is_refused = command in NOT_ONES_OWN and not (is_only_maintainer and command is CommandName.OVERRIDE)
        assert find_refusal(command, author, "a reason") == (CommandRefusal.AUTHOR if is_refused else None)


@given(st.sampled_from(CommandName), st.sampled_from(Role), st.booleans(), st.text(max_size=3))
def test_bot_cannot_give_commands(command: CommandName, role: Role, is_author: object, reason: str) -> None:
    asker = CommandAuthor(role, is_author=bool(is_author), is_bot=True)
    assert find_refusal(command, asker, reason) is CommandRefusal.BOT


@pytest.mark.parametrize("command", CommandName)
def test_contest_and_override_need_a_reason(command: CommandName) -> None:
    needs = command in {CommandName.CONTEST, CommandName.OVERRIDE}
    assert find_refusal(command, CommandAuthor(Role.ADMIN), "") == (CommandRefusal.REASON if needs else None)


def test_roles_include_all_higher_ones() -> None:
    assert roles_from(Role.MAINTAIN) == (Role.MAINTAIN, Role.ADMIN)


@pytest.mark.parametrize(
    ("text", "hours", "reason"),
    [
        ("", None, ""),
        ("a release", None, "a release"),
        ("for 2h", 2, ""),
        ("for 2h: a  release\ntoday", 2, "a release today"),
        ("for 1d a release", 24, "a release"),
        ("for 2026-11-20T15:00Z a release", 3, "a release"),
        ("for the release", None, "for the release"),
        ("2h", 2, ""),
        ("90m, a release", 1.5, "a release"),
        ("until 2026-11-20T15:00Z a release", 3, "a release"),
        ("Until the release", None, "Until the release"),
        ("until 2h", 2, ""),
        ("3 flaky tests", None, "3 flaky tests"),
        ("2026-11-19 was bad", None, "2026-11-19 was bad"),
    ],
)
def test_pause_command_holds_its_end_and_reason(text: str, hours: int | None, reason: str) -> None:
    assert parse_pause(text, NOW) == (None if hours is None else NOW + timedelta(hours=hours), reason)


@pytest.mark.parametrize("text", ["for 2hours", "for 3 a release", "for 2026-11-20T11:00Z", "until 15:00", "0m"])
def test_invalid_pause_duration_is_refused(text: str) -> None:
    with pytest.raises(UntilError):
        parse_pause(text, NOW)
