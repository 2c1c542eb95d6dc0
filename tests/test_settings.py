from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from mnemic.errors import BadInput
from mnemic.settings import Secret, load


def written(tmp_path: Path, text: str) -> Path:
    (tmp_path / "mnemic.toml").write_text(text, "utf-8")
    return tmp_path


def test_without_anything_the_defaults_hold() -> None:
    found = load({"HOME": "/nowhere"}, home="/nowhere/.mnemic")
    assert (found.home, found.namespace, found.now) == (Path("/nowhere/.mnemic"), "default", None)
    assert found.config == Path("/nowhere/.config/mnemic")
    assert (found.capture.idle_seconds, found.capture.max_buffered, found.capture.retry_seconds) == (1.5, 60, 120)
    assert (found.recall.nodes, found.recall.chars, found.recall.node_chars) == (6, 4_000, 900)


def test_an_argument_wins_over_the_environment_and_that_over_the_file(tmp_path: Path) -> None:
    home = written(tmp_path, 'namespace = "file"\n[embed]\nembedder = "http"\nurl = "http://file"\n')
    env = {"MNEMIC_HOME": str(home), "HOME": "/nowhere"}
    assert load(env).namespace == "file"
    assert load(env | {"MNEMIC_NAMESPACE": "env"}).namespace == "env"
    assert load(env | {"MNEMIC_NAMESPACE": "env"}, namespace="arg").namespace == "arg"
    found = load(env | {"MNEMIC_EMBED_URL": "http://env", "MNEMIC_EMBED_KEY": "k"}).embed
    assert (found.embedder, found.url, found.key.value) == ("http", "http://env", "k")
    assert load(env, overrides={"recall": {"nodes": 2}}).recall.nodes == 2


def test_a_key_never_shows_itself(tmp_path: Path) -> None:
    found = load({"HOME": "/nowhere"}, home=written(tmp_path, '[embed]\nkey = "hunter2"\n'))
    assert found.embed.key.value == "hunter2"
    assert "hunter2" not in repr(found)
    assert not Secret("")


def test_a_namespace_has_the_limits_of_all_but_what_is_said_for_it_alone(tmp_path: Path) -> None:
    text = '[limits]\nnodes = 9\nrequests_per_minute = 60\n[limits.namespaces."Ada & Ben"]\nnodes = 0\n'
    limits = load({"HOME": "/nowhere"}, home=written(tmp_path, text)).limits
    assert [(one.nodes, one.requests_per_minute) for one in (limits.of("other"), limits.of("Ada & Ben"))] == [(9, 60), (0, 60)]
    assert (load({}, home="/nowhere").limits.nodes, load({}, home="/nowhere").limits.requests_per_minute) == (0, 0)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[recal]\n", "unknown 'recal'"),
        ("[recall]\nnode = 3\n", "unknown key 'node' in .*known are scoring, nodes"),
        ("[recall]\nnodes = -1\n", "recall.nodes = -1"),
        ("[recall]\nnodes = true\n", "recall.nodes = True"),
        ("[capture]\nidle_seconds = nan\n", "capture.idle_seconds = nan"),
        ('[embed]\nembedder = "magic"\n', "'magic' is unknown: hashing, onnx or http"),
        ("recall = 3\n", "must be a table"),
        ("[limits]\nrequest = 3\n", "unknown key 'request' in .*known are requests_per_minute, nodes"),
        ("[limits]\nnodes = -1\n", "limits.nodes = -1"),
        ("[limits]\nnamespaces = 3\n", r"\[limits.namespaces\] must hold a table"),
        ("[limits.namespaces.ada]\nnode = 3\n", r"unknown key 'node' in \[limits.namespaces.ada\]"),
        ('[limits.namespaces." "]\nnodes = 3\n', "namespace ' ' cannot be used"),
        ("[recall\n", "cannot be read"),
        ("namespace = 3\n", "namespace '3' cannot be used"),
    ],
)
def test_a_mistake_in_the_file_is_named(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(BadInput, match=told):
        load({"HOME": "/nowhere"}, home=written(tmp_path, text))


@pytest.mark.parametrize("name", ["a\nb", " ", "x" * 201, "\ud800"])
def test_a_namespace_must_be_printable(name: str) -> None:
    with pytest.raises(BadInput, match="cannot be used"):
        load({"HOME": "/nowhere"}, home="/nowhere", namespace=name)


@pytest.mark.parametrize(
    ("text", "moment"),
    [("2026-11-30T12:00:00Z", 12), ("2026-11-30T12:00:00", 12), ("2026-11-30T12:00:00+02:00", 10)],
)
def test_now_can_be_set_and_is_utc(text: str, moment: int) -> None:
    found = load({"HOME": "/nowhere", "MNEMIC_NOW": text}, home="/nowhere")
    assert found.now == datetime(2026, 11, 30, moment, tzinfo=UTC)


@pytest.mark.parametrize("text", ["yesterday", "0001-01-01T00:00:00+05:00"])
def test_now_must_be_a_time(text: str) -> None:
    with pytest.raises(BadInput, match="MNEMIC_NOW"):
        load({"HOME": "/nowhere", "MNEMIC_NOW": text}, home="/nowhere")


def test_the_folder_of_the_heads_follows_the_environment() -> None:
    env = {"HOME": "/h", "XDG_CONFIG_HOME": "/x"}
    assert load(env, home="/nowhere").config == Path("/x/mnemic")
    assert load(env | {"MNEMIC_CONFIG": "/c"}, home="/nowhere").config == Path("/c")


def test_the_language_model_is_set_by_file_and_environment_and_is_off_by_default(tmp_path: Path) -> None:
    assert (load({}, home=tmp_path).llm.url, load({}, home=tmp_path).llm.calls) == (None, 4)
    (tmp_path / "mnemic.toml").write_text('[llm]\nurl = "http://a/v1"\nmodel = "m"\ncalls = 2\ntokens = 9000\n')
    llm = load({"MNEMIC_LLM_URL": "http://b/v1", "MNEMIC_LLM_KEY": "k"}, home=tmp_path).llm
    assert (llm.url, llm.model, llm.calls, llm.tokens, llm.key.value) == ("http://b/v1", "m", 2, 9000, "k")


def test_a_time_zone_that_is_unknown_is_named(tmp_path: Path) -> None:
    (tmp_path / "mnemic.toml").write_text('[vault]\ntimezone = "Europe/Atlantis"\n')
    with pytest.raises(BadInput, match=r"vault\.timezone 'Europe/Atlantis' is unknown here"):
        load({}, home=tmp_path)
    for wrong in ("../UTC", "", "/etc/passwd"):
        (tmp_path / "mnemic.toml").write_text(f'[vault]\ntimezone = "{wrong}"\n')
        with pytest.raises(BadInput, match="is unknown here"):
            load({}, home=tmp_path)
    (tmp_path / "mnemic.toml").write_text('[vault]\ntimezone = "Europe/Lisbon"\n')
    assert load({}, home=tmp_path).vault.timezone == "Europe/Lisbon"

