"""A text with its secrets replaced by marks, and which line held what.

Does not know any secret's shape (`patterns`, `named` and `private_keys` do). Invariant: as many lines as before, and nothing
outside of a span is changed.
"""

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

from worker.domain.value import Value
from worker.dossier.secrets.named import named_secrets
from worker.dossier.secrets.patterns import shaped_secrets
from worker.dossier.secrets.private_keys import private_keys
from worker.dossier.secrets.redaction import SecretKind
from worker.dossier.secrets.span import Span


class Found(NamedTuple):
    line: int
    kind: SecretKind


class Concealed(Value):
    """`found` names the line of each secret, counted from 1, and its kind, in order.

    `secrets` are what was taken out, to be looked for elsewhere and never to be kept.
    """

    text: str
    found: tuple[Found, ...] = ()
    secrets: Mapping[str, SecretKind] = MappingProxyType({})


def conceal(text: str, known: Mapping[str, SecretKind] = MappingProxyType({})) -> Concealed:
    """Replace what looks like a secret, and the *known* ones wherever they stand. The same text comes back where is none."""
    spans = list(_apart([*private_keys(text), *shaped_secrets(text), *named_secrets(text), *_again(text, known)]))
    if not spans:
        return Concealed(text)
    pieces: list[str] = []
    found: list[Found] = []
    done, line = 0, 1
    for start, end, kind in spans:
        before = text[done:start]
        line += before.count("\n")
        found.append(Found(line, kind))
        pieces += [before, kind.mark]
        done = end
    secrets = {text[start:end]: kind for start, end, kind in spans}
    return Concealed("".join([*pieces, text[done:]]), tuple(found), secrets)


def _again(text: str, known: Mapping[str, SecretKind]) -> Iterator[Span]:
    for secret, kind in known.items():
        at = text.find(secret)
        while at >= 0:
            yield Span(at, at + len(secret), kind)
            at = text.find(secret, at + len(secret))


def _apart(spans: Iterable[Span]) -> Iterator[Span]:
    """What overlaps becomes one span, of the kind that was looked for first."""
    waiting: Span | None = None
    for span in sorted(spans, key=lambda one: one.start):
        if waiting is None or span.start >= waiting.end:
            if waiting is not None:
                yield waiting
            waiting = span
        elif span.end > waiting.end:
            waiting = waiting._replace(end=span.end)
    if waiting is not None:
        yield waiting
