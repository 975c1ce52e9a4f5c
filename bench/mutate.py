"""Breaks each stage once, in a copy of the project, and names the conversations that noticed.

    .venv/bin/python bench/mutate.py [NAME ...]

Prints one line a mutation; ends with 1 if one of them went unnoticed. A mutation whose text is not in the code
exactly once is an error, so that this list can't rot. It takes about a minute a mutation.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NOTICED = re.compile(r"^(?:FAILED|ERROR) (\S+)", re.MULTILINE)
ENOUGH = "3"


@dataclass(frozen=True)
class Mutation:
    """What is broken, where, how, and the conversations that are told."""

    stage: str
    path: str
    before: str
    after: str
    told: str


MUTATIONS = (
    Mutation(
        "door: any signature opens",
        "app/web/webhooks.py",
        "if not self.verifier.is_valid(signature, body):",
        "if not (self.verifier.is_valid(signature, body) or body):",
        "test_the_door.py",
    ),
    Mutation(
        "events: our own check runs are not known as ours",
        "app/ingest/checks.py",
        '    if is_own_app(run.app, delivery):\n        return Ignored("own_check_run")\n',
        '    if not is_own_app(run.app, delivery):\n        return Ignored("own_check_run")\n',
        "test_the_door.py",
    ),
    Mutation(
        "commands: a command in a code block counts",
        "app/ingest/comments.py",
        "    command = parse_command(text)\n",
        '    command = parse_command(text.replace("`", "").strip())\n',
        "test_commands.py",
    ),
    Mutation(
        "commands: anybody may give them",
        "worker/domain/config/command_permissions.py",
        "    if ROLE_ORDER.index(asker.role) < ROLE_ORDER.index(right.least_role):\n",
        "    if ROLE_ORDER.index(asker.role) < 0:\n",
        "test_commands.py",
    ),
    Mutation(
        "intake: a delivery that was counted counts again",
        "worker/adapters/redis/lua/want.lua",
        "'NX'",
        "'GET'",
        "test_one_check_per_head.py test_the_door.py",
    ),
    Mutation(
        "dispatch: no check run is opened before the judge comes",
        "worker/wiring/app.py",
        "        self._initial_status().open(request, head_sha)",
        "        del request, head_sha",
        "test_the_first_case.py test_heads_that_move.py test_one_check_per_head.py",
    ),
    Mutation(
        "assemble: failing CI is not seen",
        "worker/dossier/assemble.py",
        "return CiState.FAILURE",
        "return CiState.SUCCESS",
        "test_ci.py",
    ),
    Mutation(
        "pipeline: running CI is not waited for",
        "worker/scheduling/pipeline.py",
        "if running and now < until else None",
        "if running and now > until else None",
        "test_ci.py",
    ),
    Mutation(
        "judge: a fact does not reject",
        "worker/judge/escalation.py",
        "    if inputs.opinion.facts and (_is_opinion_sufficient(inputs) or not inputs.has_model):",
        "    if not inputs.opinion and (_is_opinion_sufficient(inputs) or not inputs.has_model):",
        "test_the_first_case.py",
    ),
    Mutation(
        "judge: pointers are not held against the change",
        "worker/judge/checks/evidence.py",
        "        if missing is not None:",
        "        if missing is not None and missing < 0:",
        "test_the_model.py",
    ),
    Mutation(
        "judge: no second question after an unusable reply",
        "worker/judge/llm/client.py",
        "for _ in range(2):",
        "for _ in range(1):",
        "test_the_model.py",
    ),
    Mutation(
        "judge: an outage is a reject",
        "worker/judge/llm/model_judge.py",
        "return abstain(bundle, AbstainReason.JUDGE_UNAVAILABLE, texts.judge_unavailable(reason))",
        "return replace(abstain(bundle, AbstainReason.UNPROVEN, texts.judge_unavailable(reason)), signals={})",
        "test_the_model.py",
    ),
    Mutation(
        "record: the ledger is not written",
        "worker/scheduling/record.py",
        "    recorder.ledger.append(pull, entry, events, beside)",
        "    del pull",
        "test_the_first_case.py test_the_model.py",
    ),
    Mutation(
        "publish: a head that moved gets the verdict",
        "worker/publishing/check_runs.py",
        "        if newest == head_sha:\n            return None\n        self._lease.renew()",
        "        if newest:\n            return None\n        self._lease.renew()",
        "test_heads_that_move.py",
    ),
    Mutation(
        "publish: older heads keep their unfinished checks",
        "worker/publishing/check_runs.py",
        "            if head_sha != newest:",
        "            if not newest:",
        "test_heads_that_move.py",
    ),
    Mutation(
        "publish: the check run is not searched for before it is made again",
        "worker/adapters/github/check_runs.py",
        "return mine[-1] if mine else None",
        "return mine[-1] if len(mine) > 9 else None",
        "test_one_check_per_head.py",
    ),
    Mutation(
        "render: an outage passes",
        "worker/publishing/texts/check_run.py",
        "            return Conclusion.NEUTRAL if is_neutral else Conclusion.ACTION_REQUIRED",
        "            return Conclusion.NEUTRAL",
        "test_the_model.py test_ci.py",
    ),
    Mutation(
        "carry: the same content is judged again",
        "worker/scheduling/pipeline.py",
        "carried_over = None if dossier.contest or is_rejudge else carry_over_verdict(dossier, header, context)",
        "carried_over = carry_over_verdict(dossier, header, context) if dossier.contest or is_rejudge else None",
        "test_heads_that_move.py test_commands.py test_same_content.py",
    ),
    Mutation(
        "purse: a day has no end",
        "worker/adapters/redis/budget.py",
        "levels = [self._level(Cap.DAY, whole(books[0][SPENT]))]",
        "levels = [self._level(Cap.DAY, 0 * whole(books[0][SPENT]))]",
        "test_money.py",
    ),
    Mutation(
        "purse: nothing is settled",
        "worker/adapters/redis/budget.py",
        "change = billed - whole(amount)",
        "change = billed - billed",
        "test_money.py",
    ),
    Mutation(
        "court: at a cap no fact counts",
        "worker/judge/llm/model_judge.py",
        "    if opinion.facts:",
        "    if opinion.facts and not reached:",
        "test_money.py",
    ),
    Mutation(
        "court: a repository's pause is not heard",
        "worker/wiring/judge.py",
        "    return Pause.OPERATOR if active.is_everywhere else Pause.REPOSITORY, active.suspension",
        "    return None, None",
        "test_money.py",
    ),
)


def main() -> int:
    chosen = [one for one in MUTATIONS if not sys.argv[1:] or any(word in one.stage for word in sys.argv[1:])]
    with tempfile.TemporaryDirectory(prefix="assay-mutate-") as folder:
        copy = Path(folder) / "assay"
        shutil.copytree(
            ROOT, copy, ignore=shutil.ignore_patterns(".venv", ".git", "__pycache__", ".hypothesis"), symlinks=True
        )
        environ = {**os.environ, "UV_PROJECT_ENVIRONMENT": str(copy / ".venv")}  # noqa: TID251 - a child's
        environ.pop("VIRTUAL_ENV", None)
        uv = [str(Path(sys.executable).with_name("uv")), "sync", "--quiet", "--frozen", "--all-groups"]
        subprocess.run([*uv, "--python", sys.executable], cwd=copy, env=environ, check=True)
        if broken := failing(sorted({name for one in chosen for name in one.told.split()}), copy):
            print(f"The conversations fail as it is, so they prove nothing: {', '.join(broken)}")
            return 2
        unnoticed = [one.stage for one in chosen if not noticed(one, copy)]
    print(
        f"{len(chosen) - len(unnoticed)} of {len(chosen)} noticed" + "".join(f"\nUNNOTICED {one}" for one in unnoticed)
    )
    return 1 if unnoticed else 0


def noticed(mutation: Mutation, copy: Path) -> bool:
    """Break the copy, run the conversations, mend it."""
    file = copy / mutation.path
    whole = file.read_text()
    assert whole.count(mutation.before) == 1, f"{mutation.stage}: the text stands {whole.count(mutation.before)} times"
    file.write_text(whole.replace(mutation.before, mutation.after))
    try:
        caught = failing(mutation.told.split(), copy)
    finally:
        file.write_text(whole)
    print(f"{mutation.stage}: {', '.join(caught) if caught else 'NOBODY'}", flush=True)
    return bool(caught)


def failing(told: Sequence[str], copy: Path) -> list[str]:
    """Run these conversations; the names of those that fail."""
    files = [f"tests/conversations/{name}" for name in told]
    command = [".venv/bin/python", "-m", "pytest", "-q", "-n", "2", "-m", "", f"--maxfail={ENOUGH}", *files]
    ran = subprocess.run(command, cwd=copy, capture_output=True, text=True, check=False)
    return sorted({name.split("::")[-1] for name in NOTICED.findall(ran.stdout)})


if __name__ == "__main__":
    sys.exit(main())
