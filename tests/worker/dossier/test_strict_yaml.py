import contextlib
from collections.abc import Callable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from worker.dossier import strict_yaml
from worker.dossier.strict_yaml import StrictYamlError, load_operator_yaml, load_strict_yaml

Load = Callable[[str], object]
LOADERS = (load_strict_yaml, load_operator_yaml)


@pytest.mark.parametrize("load", LOADERS)
@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("on: no", {"on": "no"}),
        ("a: 0777", {"a": "0777"}),
        ("a: 12:30", {"a": "12:30"}),
        ("a: 2026-01-05", {"a": "2026-01-05"}),
        ("a: 0x1F", {"a": "0x1F"}),
        ("a: 1_000", {"a": "1_000"}),
        ("a: .inf", {"a": ".inf"}),
        ("a: True", {"a": "True"}),
        ("a: true", {"a": True}),
        ("a: -12", {"a": -12}),
        ("a: 0.70", {"a": 0.7}),
        ("a: 1.5e3", {"a": 1500.0}),
        ("a: ~", {"a": None}),
        ("a:", {"a": None}),
        ("<<: {a: 1}", {"<<": {"a": 1}}),
        ("- [1, two]", [[1, "two"]]),
        ("", None),
        ('{"a":\t[1, null]}', {"a": [1, None]}),
        ("{a: b}", {"a": "b"}),
        ("a: 12345678901234567890", {"a": "12345678901234567890"}),
    ],
)
def test_only_plain_values_are_converted(text: str, value: object, load: Load) -> None:
    assert load(text) == value


@pytest.mark.parametrize("load", LOADERS)
@pytest.mark.parametrize(
    ("text", "problem", "line"),
    [
        ("a: 1\na: 2", 'the key "a" stands twice', 2),
        ("b:\n  - {a: 1, a: 2}", 'the key "a" stands twice', 2),
        ('{"a": 1, "a": 2}', 'the key "a" stands twice', None),
        ("a: &x 1\nb: *x", "aliases are not allowed", 2),
        ("a: !!python/name:os.system x", "tags are not allowed", 1),
        ('a: !!int "7"', "tags are not allowed", 1),
        ("1: a", "a key that is not text", 1),
        ("[a]: b", "a key that is not text", 1),
        ("? {a: b}\n: c", "a key that is not text", 1),
        ("a: b: c", "mapping values are not allowed here", 1),
        ("a: 1\n---\nb: 2", "but found another document", 2),
        ('a: "\\UFFFFFFFF"', "an escape that names no character", None),
        ('{"a": "\\ud800"}', "half of a surrogate pair", None),
        ("a: \x01", "a character that YAML does not allow", None),
        ('{"a": NaN}', "NaN is not a number we read", None),
        ("x" * 65537, "longer than 64 KB", None),
        ("[" * 1000, "nested too deeply", 1),
        ("- " * 1000, "nested too deeply", 1),
        ("{" * 60000, "nested too deeply", 1),
        ('{"a":' * 9000, "nested too deeply", 1),
    ],
)
def test_ambiguous_yaml_is_refused_with_its_line(text: str, problem: str, line: int | None, load: Load) -> None:
    with pytest.raises(StrictYamlError) as refused:
        load(text)
    assert problem in refused.value.problem
    assert refused.value.line == line
    assert (f"line {line}: " in str(refused.value)) == (line is not None)


@given(st.text(alphabet=st.characters(codec="utf-8") | st.sampled_from(list(":-[]{}&*!|>'\"\n \t#?"))))
@example("a: |\n b\n\tc")
@example("%YAML 9.9\n---\na")
@example("\ufeffa: b")
def test_any_text_is_loaded_or_refused(text: str) -> None:
    with contextlib.suppress(StrictYamlError):
        load_strict_yaml(text)


def test_operator_yaml_loads_without_libyaml(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strict_yaml, "OwnLoader", None)
    assert load_operator_yaml("a: [1, b]") == {"a": [1, "b"]}


@pytest.mark.parametrize("text", ["a: b\t", "- 1\t# one"])
def test_tab_after_value_is_accepted_in_operator_yaml_only(text: str) -> None:
    assert load_operator_yaml(text) in ({"a": "b"}, [1])
    with pytest.raises(StrictYamlError):
        load_strict_yaml(text)
