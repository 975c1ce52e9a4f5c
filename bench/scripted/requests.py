"""What a request to a model says: criteria, lines with their numbers, the author's case; and replies of the schema that it gives.

Reads text that was made for a model. Invariant: a place taken from here was shown in this request.
"""

import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple, cast

Json = dict[str, Any]

FENCED: Final = re.compile(r"^\[\[(\w+) begin: ([^\n]*)\]\]\n(.*?)\n?\[\[\1 end\]\]$", re.DOTALL | re.MULTILINE)
CRITERION: Final = re.compile(r"^(AC\d+|description)(?: \(inferred\))?: (.*)$", re.MULTILINE)
RUBRIC: Final = re.compile(r"^- `(\w+)`: ", re.MULTILINE)
ROW: Final = re.compile(r"^(\d+) ([ +-])(.*)$", re.MULTILINE)
CLAIM: Final = re.compile(r"^claim: (\S+) -> (\S+?)(?::(\d+)[\d-]*)?: (\w+)", re.MULTILINE)
QUESTION: Final = re.compile(
    r"^- (q\d+): Does this make it `(\w+)`(?: at (\S+?)(?::(\d+) \((\w+)\))?)?\?(.*?)(?: \[settled by ([^\]\n]*)\])?$",
    re.MULTILINE,
)
PART: Final = re.compile(r"This is part \d+ of \d+")
LEFT_OPEN: Final = re.compile(r"leaves questions open: ([^.\n]*)\.")


class Place(NamedTuple):
    """A line as it was shown. *mark*: `+` new, `-` gone, a space for what stood before."""

    path: str
    line: int
    mark: str
    text: str

    @property
    def side(self) -> str:
        return "base" if self.mark == "-" else "head"


class Claim(NamedTuple):
    """What the author says of a criterion."""

    criterion: str
    path: str
    line: int | None


class Suspicion(NamedTuple):
    """What code asks about, and what kind of line would settle it."""

    id: str
    category: str
    path: str
    line: int | None
    side: str
    text: str
    settled_by: str


class Asked(NamedTuple):
    """One request, read."""

    criteria: Mapping[str, str]
    rubric: tuple[str, ...]
    places: tuple[Place, ...]
    claims: tuple[Claim, ...]
    suspicions: tuple[Suspicion, ...]
    issues: str
    case: str
    left_open: frozenset[str]
    """The suspicions that an earlier reply to the same question did not settle."""
    schema: Json
    is_part: bool

    def at(self, path: str, line: int | None, side: str = "head") -> Place | None:
        """The place if it was shown, else the next one in its file."""
        here = [one for one in self.places if one.path == path and one.text.strip()]
        if line is None or not here:
            return here[0] if here else None
        return min(here, key=lambda one: (one.side != side, abs(one.line - line)))


def read(body: Json) -> Asked:
    """Read a body of POST /v1/messages."""
    system = "\n".join(block["text"] for block in body["system"])
    text: str = body["messages"][0]["content"]
    fenced = [(match[2], match[3]) for match in FENCED.finditer(text)]
    return Asked(
        criteria=dict(one for label, said in fenced if label == "criteria" for one in CRITERION.findall(said)),
        rubric=tuple(RUBRIC.findall(system.rpartition("Score these criteria")[2].partition("Categories:")[0])),
        places=tuple(place for label, said in fenced if '"' in label for place in _places(label, said)),
        claims=tuple(
            Claim(one[1], one[2], int(one[3]) if one[3] else None)
            for label, said in fenced
            if label == "case"
            for one in CLAIM.finditer(said)
        ),
        suspicions=tuple(
            Suspicion(one[1], one[2], one[3] or "", int(one[4]) if one[4] else None, one[5] or "", one[6], one[7] or "")
            for label, said in fenced
            if label == "questions"
            for one in QUESTION.finditer(said)
        ),
        issues="\n".join(said for label, said in fenced if label.startswith("issue ")),
        case="\n".join(said for label, said in fenced if label == "case"),
        left_open=frozenset(
            name
            for turn in body["messages"][2::2]
            for found in LEFT_OPEN.findall(turn["content"])
            for name in re.findall(r"q\d+", found)
        ),
        schema=body["output_config"]["format"]["schema"],
        is_part=PART.search(text) is not None,
    )


def _places(label: str, said: str) -> list[Place]:
    if not label.startswith("diff"):
        return []
    path = label.partition('"')[2].rpartition('"')[0]
    return [Place(path, int(row[1]), row[2], row[3]) for row in ROW.finditer(said)]


def reply(asked: Asked, said: Mapping[str, Any]) -> Json:
    """*said*, in the schema of the request: what it names and nobody said is filled in as plainly as it allows."""
    return cast("Json", _filled(asked.schema, said, asked.schema))


def pointed(place: Place, note: str) -> Json:
    """A place as a reply names it; what the schema does not know is left out."""
    return {
        "path": place.path, "line": place.line, "end_line": None, "side": place.side, "quote": place.text, "note": note,
    }  # fmt: skip


def _filled(schema: Json, said: Any, whole: Json) -> Any:
    """*said* with the fields of *schema*, all of them and no other."""
    schema = _meant(schema, said, whole)
    if said is None:
        return _plain(schema, whole)
    if schema.get("type") == "array":
        return [_filled(schema["items"], one, whole) for one in said]
    if "properties" in schema:
        return {
            name: _filled(one, said[name], whole) if name in said else _plain(one, whole)
            for name, one in schema["properties"].items()
        }
    return said


def _meant(schema: Json, said: Any, whole: Json) -> Json:
    """Follow references, and take of alternatives the one that is null or is not."""
    while "$ref" in schema:
        schema = whole["$defs"][schema["$ref"].rpartition("/")[2]]
    if "anyOf" not in schema:
        return schema
    wanted = next((one for one in schema["anyOf"] if (one.get("type") == "null") is (said is None)), schema["anyOf"][0])
    return _meant(wanted, said, whole)


def _plain(schema: Json, whole: Json) -> Any:
    """The plainest value that the schema allows."""
    schema = _meant(schema, None, whole)
    if "enum" in schema:
        return "none" if "none" in schema["enum"] else schema["enum"][0]
    if "properties" in schema:
        return {name: _plain(one, whole) for name, one in schema["properties"].items()}
    plain: Json = {"array": [], "string": "None.", "integer": 1, "number": 0.5, "boolean": False, "null": None}
    return plain[schema["type"]]
