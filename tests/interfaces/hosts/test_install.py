"""Installing into a host and taking it out again: everything that is not ours stays, byte for byte."""

from __future__ import annotations

import json
import os
import subprocess
import tomllib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemic import __version__
from mnemic.errors import BadInput, Conflict, Refused
from mnemic.interfaces.hosts import HOSTS, PLUGIN, Place, install, uninstall
from mnemic.interfaces.hosts.pieces import Hooks, Server
from mnemic.knowledge.skill import text as skill

SETTINGS = '{\n\t"model": "opus",\n\t"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "say done"}]}]},\n\t"ö": 1\n}'
TOML = '# mine\nmodel = "x"   # keep\n\n[mcp_servers.other]\ncommand = "other"\n'


def place(root: Path, *, project: bool = False, **environ: str) -> Place:
    return Place(root=root, project=project, command=("/opt/bin/mnemic", "--namespace", "work"), environ=environ)


def tree(root: Path) -> dict[str, str]:
    return {str(file.relative_to(root)): file.read_text("utf-8") for file in sorted(root.rglob("*")) if file.is_file()}


def changes(report: dict[str, object]) -> list[str]:
    return [item["change"] for item in report["files"]]  # type: ignore[attr-defined, index]


@pytest.mark.parametrize("project", [False, True])
@pytest.mark.parametrize("host", list(HOSTS))
def test_installing_into_nothing_and_out_again_leaves_nothing(tmp_path: Path, host: str, project: bool) -> None:
    root, config = tmp_path / "root", tmp_path / "config"
    root.mkdir()
    assert set(changes(install(host, place(root, project=project), config))) == {"created"}
    assert set(changes(uninstall(host, place(root, project=project), config))) == {"removed"}
    assert list(root.rglob("*")) == []


@pytest.mark.parametrize("host", list(HOSTS))
def test_installing_twice_changes_nothing_the_second_time(tmp_path: Path, host: str) -> None:
    install(host, place(tmp_path / "root"), tmp_path / "config")
    before = tree(tmp_path)
    assert set(changes(install(host, place(tmp_path / "root"), tmp_path / "config"))) == {"unchanged"}
    assert tree(tmp_path) == before


@pytest.mark.parametrize("host", list(HOSTS))
def test_a_dry_run_shows_the_difference_and_writes_nothing(tmp_path: Path, host: str) -> None:
    report = install(host, place(tmp_path / "root"), tmp_path / "config", dry_run=True)
    assert all("mnemic" in item["diff"] for item in report["files"])
    assert list(tmp_path.iterdir()) == []


def test_files_that_were_there_get_their_bytes_back(tmp_path: Path) -> None:
    files = {".claude/settings.json": SETTINGS, ".claude.json": '{"numStartups":3,"mcpServers":{}}', ".codex/config.toml": TOML,
             ".codex/AGENTS.md": "# Mine\n\nBe brief.", ".cursor/mcp.json": ""}  # fmt: skip
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, "utf-8")
    before = tree(tmp_path)
    for host in HOSTS:
        install(host, place(tmp_path), tmp_path / "config")
    assert tree(tmp_path).items().isdisjoint(before.items())
    for host in HOSTS:
        uninstall(host, place(tmp_path), tmp_path / "config")
    after = tree(tmp_path)
    assert {name: after[name] for name in before} == before
    assert set(after) - set(before) == {"config/installs.json"}


def test_what_the_user_changed_in_between_stays(tmp_path: Path) -> None:
    file = tmp_path / ".claude" / "settings.json"
    file.parent.mkdir()
    file.write_text(SETTINGS, "utf-8")
    install("claude-code", place(tmp_path), tmp_path / "config")
    data = json.loads(file.read_text("utf-8"))
    data["theme"] = "dark"
    data["hooks"]["Stop"].append({"hooks": [{"type": "command", "command": "say bye"}]})
    file.write_text(json.dumps(data, indent="\t"), "utf-8")
    uninstall("claude-code", place(tmp_path), tmp_path / "config")
    left = json.loads(file.read_text("utf-8"))
    assert left == {
        **json.loads(SETTINGS), "theme": "dark",
        "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "say done"}]},
                           {"hooks": [{"type": "command", "command": "say bye"}]}]},
    }  # fmt: skip
    assert list(left) == ["model", "hooks", "ö", "theme"]


def test_uninstalling_works_without_its_notes_and_twice(tmp_path: Path) -> None:
    (tmp_path / ".codex").mkdir()
    (tmp_path / ".codex" / "config.toml").write_text(TOML, "utf-8")
    install("codex", place(tmp_path), tmp_path / "config")
    (tmp_path / "config" / "installs.json").unlink()
    for _ in range(2):
        uninstall("codex", place(tmp_path), tmp_path / "config")
        assert (tmp_path / ".codex" / "config.toml").read_text("utf-8") == TOML
    assert not (tmp_path / ".codex" / "AGENTS.md").exists()


def test_the_hooks_run_the_command_with_its_options_and_can_never_block(tmp_path: Path) -> None:
    install("claude-code", place(tmp_path), tmp_path / "config")
    hooks = json.loads((tmp_path / ".claude" / "settings.json").read_text("utf-8"))["hooks"]
    assert list(hooks) == ["SessionStart", "UserPromptSubmit", "Stop", "PreCompact", "SessionEnd"]
    (one,) = hooks["UserPromptSubmit"][0]["hooks"]
    assert one == {"type": "command", "command": "/opt/bin/mnemic --namespace work hook prompt || exit 0", "timeout": 10}
    server = json.loads((tmp_path / ".claude.json").read_text("utf-8"))["mcpServers"]["mnemic"]
    assert server == {"type": "stdio", "command": "/opt/bin/mnemic", "args": ["--namespace", "work", "mcp"]}


def test_codex_waits_for_the_server_and_keeps_every_comment(tmp_path: Path) -> None:
    (tmp_path / ".codex").mkdir()
    (tmp_path / ".codex" / "config.toml").write_text(TOML, "utf-8")
    install("codex", place(tmp_path), tmp_path / "config")
    text = (tmp_path / ".codex" / "config.toml").read_text("utf-8")
    assert text.startswith(TOML)
    servers = tomllib.loads(text)["mcp_servers"]
    assert servers["mnemic"] == {"command": "/opt/bin/mnemic", "args": ["--namespace", "work", "mcp"], "required": True}
    assert servers["other"] == {"command": "other"}


def test_another_command_takes_the_place_of_the_first(tmp_path: Path) -> None:
    install("codex", place(tmp_path), tmp_path / "config")
    moved = Place(root=tmp_path, project=False, command=("/new place/mnemic",), environ={})
    assert changes(install("codex", moved, tmp_path / "config")) == ["changed", "changed", "unchanged"]
    hooks = json.loads((tmp_path / ".codex" / "hooks.json").read_text("utf-8"))["hooks"]
    assert [group["hooks"][0]["command"] for group in hooks["Stop"]] == ["'/new place/mnemic' hook stop || exit 0"]
    uninstall("codex", moved, tmp_path / "config")
    assert not (tmp_path / ".codex").exists()


def test_a_name_that_is_taken_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    (tmp_path / ".claude.json").write_text('{"mcpServers": {"mnemic": {"command": "npx", "args": ["other"]}}}', "utf-8")
    before = tree(tmp_path)
    with pytest.raises(Conflict, match="that is not ours: rename or remove it first"):
        install("claude-code", place(tmp_path), tmp_path / "config")
    (tmp_path / ".codex").mkdir()
    (tmp_path / ".codex" / "config.toml").write_text("[mcp_servers.mnemic]\ncommand = 'x'\n", "utf-8")
    with pytest.raises(Conflict, match=r"has a \[mcp_servers.mnemic\] that is not ours"):
        install("codex", place(tmp_path), tmp_path / "config")
    assert {name: text for name, text in tree(tmp_path).items() if name in before} == before
    assert not (tmp_path / ".claude").exists() and not (tmp_path / ".codex" / "hooks.json").exists()


@pytest.mark.parametrize(
    ("line", "ours"),
    [
        ("/opt/bin/mnemic --namespace work hook prompt || exit 0", True),
        ("mnemic hook prompt", True),
        ("'/my bin/python' -m mnemic --home '/a b' hook stop || exit 0", True),
        ("/v/bin/python -I -S /v/lib/mnemic/interfaces/hooks/start.py stop || /v/bin/mnemic hook stop || exit 0", True),
        ("mnemic hook stop && say done", False),
        ("mnemic hook stop | tee log", False),
        ("say mnemic hook stop", False),
        ("mnemic hook stop; say done", False),
        ("mnemic hook", False),
        ("mnemic tend", False),
        ("python -I -S /elsewhere/start.py stop", False),
        ("say 'it is", False),
        ("|| ||", False),
        ("", False),
    ],
)
def test_a_hook_is_ours_if_it_runs_us_and_nothing_else(line: str, ours: bool) -> None:
    text = json.dumps({"hooks": {"Stop": [{"hooks": [{"type": "command", "command": line}]}]}})
    assert (Hooks(Path("s.json"), {}).take(text) is None) == ours


def test_the_command_of_a_moved_python_falls_back_and_one_that_is_gone_stops_no_turn(tmp_path: Path) -> None:
    odd = tmp_path / "it's \"my\" $HOME; `folder`"
    odd.mkdir()
    ours = odd / "mnemic"
    ours.write_text('#!/bin/sh\necho "$@"; cat\n', "utf-8")
    ours.chmod(0o755)
    command = (str(ours), "--namespace", "a b")
    quick = (str(odd / "python"), "-I", "-S", str(odd / "start.py"), "--namespace", "a b")
    line = Place(root=tmp_path, project=False, command=command, environ={}, quick=quick).hook("prompt")
    done = subprocess.run(line, shell=True, input="{}", capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "--namespace a b hook prompt\n{}")
    ours.unlink()
    assert subprocess.run(line, shell=True, input="{}", capture_output=True, text=True).returncode == 0


@pytest.mark.parametrize("text", ["{// comment\n", "{a: 1}", '{"a": 1} x', "[]", '{"hooks": []}', '{"hooks": {"Stop": 3}}'])
def test_a_file_that_cannot_be_read_is_not_touched(tmp_path: Path, text: str) -> None:
    file = tmp_path / ".claude" / "settings.json"
    file.parent.mkdir()
    file.write_text(text, "utf-8")
    with pytest.raises(BadInput, match="settings.json"):
        install("claude-code", place(tmp_path), tmp_path / "config")
    assert file.read_text("utf-8") == text
    assert not (tmp_path / ".claude.json").exists()


def test_a_link_stays_a_link_and_rights_stay_as_they_are(tmp_path: Path) -> None:
    real = tmp_path / "dotfiles" / "settings.json"
    real.parent.mkdir()
    real.write_text("{}\n", "utf-8")
    real.chmod(0o640)
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude" / "settings.json").symlink_to(real)
    install("claude-code", place(tmp_path), tmp_path / "config")
    assert (tmp_path / ".claude" / "settings.json").is_symlink()
    assert "mnemic" in real.read_text("utf-8")
    assert os.stat(real).st_mode & 0o777 == 0o640


def test_comments_and_the_layout_of_a_person_stay_and_come_back(tmp_path: Path) -> None:
    text = '{\n  // servers of mine\n  "mcpServers": {\n    "other": {"command": "x", "args": []}, // by hand\n  },\n}\n'
    (tmp_path / ".cursor").mkdir()
    file = tmp_path / ".cursor" / "mcp.json"
    file.write_text(text, "utf-8")
    install("cursor", place(tmp_path), tmp_path / "config")
    made = file.read_text("utf-8")
    assert [line for line in text.splitlines() if line not in made.splitlines()] == []
    file.write_text(made.replace("// by hand", "// edited"), "utf-8")
    uninstall("cursor", place(tmp_path), tmp_path / "config")
    assert file.read_text("utf-8") == text.replace("// by hand", "// edited")


@pytest.mark.parametrize("host", ["claude-code", "codex"])
def test_a_read_only_file_is_refused_before_anything_is_written(tmp_path: Path, host: str) -> None:
    file = {"claude-code": tmp_path / ".claude.json", "codex": tmp_path / ".codex" / "AGENTS.md"}[host]
    file.parent.mkdir(exist_ok=True)
    file.write_text("{}", "utf-8")
    file.chmod(0o444)
    before = tree(tmp_path)
    with pytest.raises(Refused, match="is read-only: nothing was changed"):
        install(host, place(tmp_path), tmp_path / "config")
    assert tree(tmp_path) == before
    file.chmod(0o644)
    install(host, place(tmp_path), tmp_path / "config")
    file.chmod(0o444)
    before = tree(tmp_path)
    with pytest.raises(Refused):
        uninstall(host, place(tmp_path), tmp_path / "config")
    assert tree(tmp_path) == before


def test_a_link_that_leads_nowhere_yet_is_followed_and_left_as_it_was(tmp_path: Path) -> None:
    (tmp_path / ".claude").mkdir()
    (tmp_path / "dotfiles").mkdir()
    link = tmp_path / ".claude" / "settings.json"
    link.symlink_to(tmp_path / "dotfiles" / "settings.json")
    install("claude-code", place(tmp_path), tmp_path / "config")
    assert "mnemic" in (tmp_path / "dotfiles" / "settings.json").read_text("utf-8")
    uninstall("claude-code", place(tmp_path), tmp_path / "config")
    assert link.is_symlink() and list((tmp_path / "dotfiles").iterdir()) == []


@pytest.mark.parametrize("text", ["mcp_servers = {}\n", "mcp_servers = { other = { command = 'x' } }\n", "[[mcp_servers]]\n"])
def test_toml_that_leaves_no_place_for_a_table_is_told_and_not_broken(tmp_path: Path, text: str) -> None:
    (tmp_path / ".codex").mkdir()
    (tmp_path / ".codex" / "config.toml").write_text(text, "utf-8")
    if text.startswith("[["):
        install("codex", place(tmp_path), tmp_path / "config")
        assert tomllib.loads((tmp_path / ".codex" / "config.toml").read_text("utf-8"))["mcp_servers"][0]["mnemic"]
        return
    with pytest.raises(Conflict, match=r"has no place for a \[mcp_servers.mnemic\]"):
        install("codex", place(tmp_path), tmp_path / "config")
    assert tree(tmp_path) == {".codex/config.toml": text}


def test_lines_that_end_as_on_windows_stay_so(tmp_path: Path) -> None:
    (tmp_path / ".codex").mkdir()
    (tmp_path / ".claude").mkdir()
    toml, settings = tmp_path / ".codex" / "config.toml", tmp_path / ".claude" / "settings.json"
    toml.write_bytes(TOML.replace("\n", "\r\n").encode())
    settings.write_bytes(SETTINGS.replace("\n", "\r\n").encode())
    before = (toml.read_bytes(), settings.read_bytes())
    for act in (install, uninstall):
        for host in ("codex", "claude-code"):
            act(host, place(tmp_path), tmp_path / "config")
            assert tomllib.loads(toml.read_text("utf-8"))["model"] == "x" and json.loads(settings.read_bytes())["ö"] == 1
            assert toml.read_bytes().startswith(before[0])
    assert (toml.read_bytes(), settings.read_bytes()) == before


def test_a_host_with_its_folder_elsewhere_is_found_there(tmp_path: Path) -> None:
    install("claude-code", place(tmp_path / "root", CLAUDE_CONFIG_DIR=str(tmp_path / "claude")), tmp_path / "config")
    install("codex", place(tmp_path / "root", CODEX_HOME=str(tmp_path / "codex")), tmp_path / "config")
    assert (tmp_path / "claude" / ".claude.json").exists() and (tmp_path / "codex" / "config.toml").exists()
    assert not (tmp_path / "root").exists()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3), max_leaves=6,
)  # fmt: skip


KEYS = st.text(max_size=5).filter(lambda key: key not in ("hooks", "mcpServers"))
EVENTS = st.sampled_from(["Stop", "SessionStart", "Other"])


@settings(max_examples=100)
@given(st.dictionaries(KEYS, JSON, max_size=4), st.dictionaries(EVENTS, st.lists(JSON, min_size=1, max_size=2), max_size=3))
def test_what_goes_in_comes_out_whatever_else_stands_in_the_file(rest: dict[str, object], events: dict[str, object]) -> None:
    where = place(Path("/r"))
    file = Path("/r/settings.json")
    for piece, key in (
        (Hooks(file, where.groups({"Stop": "stop", "SessionStart": "session-start"})), "hooks"),
        (Server(file, where.server()), "mcpServers"),
    ):
        data = {**rest, key: events} if events else rest
        text = json.dumps(data)
        once = piece.put(text)
        assert piece.put(once) == once
        assert json.loads(piece.take(once) or "{}") == data


def test_the_plugin_bears_our_version_skill_and_licence() -> None:
    for vendor in (".claude-plugin", ".codex-plugin"):
        assert json.loads((PLUGIN / vendor / "plugin.json").read_text("utf-8"))["version"] == __version__
    assert (PLUGIN / "skills" / "mnemic" / "SKILL.md").read_text("utf-8") == skill()
    assert "Apache License" in (PLUGIN / "LICENSE").read_text("utf-8")
    assert len((PLUGIN / "README.md").read_text("utf-8").split()) >= 40


def test_the_plugin_and_the_installer_run_the_same_hooks(tmp_path: Path) -> None:
    plain = Place(root=tmp_path, project=True, command=("mnemic",), environ={})
    install("claude-code", plain, tmp_path / "config")
    installed = json.loads((tmp_path / ".claude" / "settings.json").read_text("utf-8"))
    assert json.loads((PLUGIN / "hooks" / "hooks.json").read_text("utf-8")) == installed
    server = json.loads((tmp_path / ".mcp.json").read_text("utf-8"))["mcpServers"]["mnemic"]
    assert {"type": "stdio", **json.loads((PLUGIN / ".mcp.json").read_text("utf-8"))["mcpServers"]["mnemic"]} == server
