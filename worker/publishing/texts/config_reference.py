"""The published schema and the reference page of `.github/assay.yml`, made from its keys.

Does not read a file. Invariant: both say what the reader takes, and a test holds the copies in `docs/` to them.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

from worker.domain.config.config import RepositoryConfig
from worker.domain.config.config_path import CONFIG_PATH, DEFAULTS_REPOSITORY, MISNAMED_CONFIG_PATH
from worker.domain.config.schema import ConfigKeys, to_keys

DRAFT: Final = "https://json-schema.org/draft/2020-12/schema"
TITLE: Final = f"Assay: {CONFIG_PATH}"

HEAD: Final = f"""# `{CONFIG_PATH}`

What a repository sets for itself. Without the file every default holds; every key may be left out. Generated from the code: do
not edit (`assay config reference`).

- **Whose file counts.** The repository's own file at the *base* commit of a pull request, over the file `{CONFIG_PATH}` in the
  repository `{DEFAULTS_REPOSITORY}` of the same owner (its default branch), over the defaults: key by key at the top level, so that
  `authors` in the repository replaces all of the owner's `authors`. A default that the App may not see counts as none: a
  private `{DEFAULTS_REPOSITORY}` needs the App installed on it. What the operator set for caps, tier and models stays above all of it.
- **A pull request that edits the file** is judged by the base's version. The check lists what would change, from which value
  to which, and says where that is weaker.
- **A mistake stops no judging.** It takes away the entry in which it stands: all else that can be read holds. For the rest the
  last version without a mistake holds, or else the defaults. As long as a mistake stands, nothing is accepted without a model, as
  with `accept_alone: false`. Where no earlier version is known and the mistake may hide `never_send` (the whole file can't be
  read, or the mistake is in that key or in one nearly called so), no file is sent to a model. Every check says so. On a pull
  request that edits the file the mistake is an annotation at its line.
- **The name is `{CONFIG_PATH}`.** `{MISNAMED_CONFIG_PATH}` is not read. Every check says so, and nothing is accepted without a
  model and no file is sent to one.
- **Before you merge it**: `assay config check` names each mistake with its line and column, or prints what would hold and who
  sets it. Exit code 0 or 2.
- **In an editor** with YAML support, put `# yaml-language-server: $schema=assay.schema.json` on the first line, with the path or
  address of [assay.schema.json](assay.schema.json) (or of what `assay config schema` prints).
- Up to 64 KB of YAML without aliases, tags and doubled keys. `off`, `on`, `yes` and `no` are texts: a switch is `true` or `false`.
- `assay judge` on a checkout reads the file at the base commit too (not the owner's default). Its exit code is the verdict's,
  also where the repository only observes.

| key | default | meaning |
|---|---|---|
"""

OPERATOR_DEFAULTS: Final = {
    "model": "`ASSAY_MODEL`",
    "quiet_window": "`ASSAY_QUIET_WINDOW`",
    "ci_wait": "`ASSAY_CI_WAIT`",
    "version": "`1`",
}
"""Defaults that are not the type's own."""


def schema() -> str:
    """The JSON Schema, as a file."""
    made = {"$schema": DRAFT, **_without_titles(ConfigKeys.model_json_schema()), "title": TITLE}
    return f"{json.dumps(made, indent=2, ensure_ascii=False)}\n"


def _without_titles(part: Any) -> Any:
    """Without the titles that pydantic makes of names: an editor shows them instead of what is meant."""
    match part:
        case dict():
            fields = cast("dict[str, Any]", part).items()
            return {name: _without_titles(one) for name, one in fields if name != "title" or not isinstance(one, str)}
        case list():
            return [_without_titles(one) for one in cast("list[Any]", part)]
        case _:
            return part


def reference() -> str:
    """The page: every key, and an example that sets all of them."""
    told = "\n".join(f"| `{key}` | {default} | {meaning} |" for key, default, meaning in _rows())
    example = "".join(_example())
    return f"{HEAD}{told}\n\n## All of it\n\n```yaml\n{example}```\n"


def _rows() -> Iterator[tuple[str, str, str]]:
    defaults: dict[str, Any] = {**to_keys(RepositoryConfig()), "version": 1}
    for key, field in ConfigKeys.model_fields.items():
        nested = getattr(field.annotation, "model_fields", {})
        yield key, _default(key, defaults[key], nested), f"{field.description} Example: `{_flow(field.examples)}`"
        for name, inner in nested.items():
            yield f"{key}.{name}", f"`{_yaml(defaults[key][name])}`", str(inner.description)


def _default(key: str, value: object, nested: Mapping[str, object]) -> str:
    if key in OPERATOR_DEFAULTS:
        return OPERATOR_DEFAULTS[key]
    return "as below" if nested else f"`{_yaml(value)}`"


def _flow(examples: list[Any] | None) -> str:
    return _yaml(*(examples or ()))


def _yaml(value: Any) -> str:
    """A value in YAML's flow style."""
    match value:
        case None:
            return "none"
        case dict():
            fields = cast("dict[str, Any]", value).items()
            return "{" + ", ".join(f"{name}: {_yaml(one)}" for name, one in fields) + "}"
        case list() | tuple():
            return json.dumps(value, ensure_ascii=False)
        case str():
            return value
        case _:
            return json.dumps(value)


def _example() -> Iterator[str]:
    for key, field in ConfigKeys.model_fields.items():
        yield f"{key}: {_flow(field.examples)}\n"
