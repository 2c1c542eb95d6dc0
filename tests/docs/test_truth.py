"""What a page names exists: verbs and their options, settings, variables, tools, routes, methods, benchmarks, files, links.

A page that names what is gone, or was never there, misleads whoever follows it, and nobody notices who does not.
"""

from __future__ import annotations

import argparse
import ast
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from mnemic.interfaces.mcp import reading as mcp_reading
from mnemic.interfaces.mcp.tools import BOX
from mnemic.interfaces.rest.routes import ROUTES
from mnemic.memory import Memory
from mnemic.settings import Curve, load
from reference import cli, settings
from reference.python import parts
from tests.docs.reading import DOCS, FENCE, PAGES, ROOT, anchors, blocks, commands, lines, links, named, spans, text_of

FOREIGN = {
    "--plugin-dir": "Claude Code's", "--lora-modules": "of servers of models",
    "--mutate": "agmi's",
}  # fmt: skip
"""Options of other programs that a page names by themselves."""
OTHERS = {"supports_ttl": "LangGraph's", "detect_contradictions": "cognee's"}
"""Names of other programs that our code does not use."""
BESIDES = ("/", "/healthz", "/readyz", "/openapi.json", "/mcp")
FIELDS = {section: {item for item in kind.__dataclass_fields__} for section, kind in settings.sections().items()}  # type: ignore[attr-defined]


def ids(page: Path) -> str:
    return named(page)


every_page = pytest.mark.parametrize("page", PAGES, ids=ids)


# the command line


def problem_of(words: list[str]) -> str | None:
    """What a command line of ours names that is not there; None if all of it is."""
    command: Any = cli.root()
    path = "mnemic"
    rest = iter(words[1:])
    for word in rest:
        word = word.strip("[]")
        if word.startswith("-") and word not in ("-", "--"):
            name, _, value = word.partition("=")
            for one in name.split("|"):
                if one not in cli.options(command) | {"--help"}:
                    return f"{path} has no option {one}"
            if not value and not _flag(command, name):
                next(rest, None)
        elif hasattr(command, "commands") and re.fullmatch(r"[a-z][a-z-]*(\|[a-z-]+)*…?", word):
            known = command.commands
            if path == "mnemic daily" and word not in known:
                return None  # a date in words
            for one in word.rstrip("…").split("|"):
                if one and one not in known:
                    return f"{path} has no verb {one!r}"
            word = word.partition("|")[0].rstrip("…")
            command, path = known[word], f"{path} {word}"
        elif hasattr(command, "commands"):
            return None
    return None


def _flag(command: Any, name: str) -> bool:
    own = [one for one in command.params if one.param_type_name == "option" and name in (*one.opts, *one.secondary_opts)]
    return any(one.is_flag for one in own)


@every_page
def test_every_command_line_that_a_page_names_can_be_given(page: Path) -> None:
    ours = [words for words in commands(text_of(page)) if words[0] == "mnemic"]
    assert [f"{' '.join(words)}: {why}" for words in ours if (why := problem_of(words))] == []


@every_page
def test_every_option_that_a_page_names_alone_is_one_of_ours(page: Path) -> None:
    ours = {name for _, command in cli.commands(cli.root(), ("mnemic",)) for name in cli.options(command)}
    ours |= {name for file in ROOT.glob("bench/*.py") if "__main__" in text_of(file) for name in options_of(f"bench.{file.stem}")}
    ours |= {name for module in ("tests.lifecycle.killed", "reference.__main__") for name in options_of(module)}
    used = [word for span in spans(text_of(page)) if span.startswith("--") for word in re.findall(r"--[a-z][a-z-]+", span)]
    assert [word for word in used if word not in ours and word not in FOREIGN] == []


def test_every_verb_stands_on_the_page_of_the_command_line() -> None:
    told = {word for span in spans(text_of(DOCS / "cli.md")) for word in span.split()}
    assert sorted(set(cli.root().commands) - told) == []


def test_a_verb_an_option_and_a_group_s_verb_that_are_not_there_would_be_seen() -> None:
    assert problem_of(["mnemic", "remembr", "x"]) == "mnemic has no verb 'remembr'"
    assert problem_of(["mnemic", "recall", "x", "--explian"]) == "mnemic recall has no option --explian"
    assert problem_of(["mnemic", "--home", "recal", "ledger", "list|shw"]) == "mnemic ledger has no verb 'shw'"
    assert problem_of(["mnemic", "dream", "work", "nxt"]) == "mnemic dream work has no verb 'nxt'"
    assert problem_of(["mnemic", "recall", "remembr", "--k", "3", "--json"]) is None


def test_commands_are_found_wherever_a_page_may_name_one() -> None:
    page = (
        "Say `mnemic a --x 1`.\n\n```console\n$ HOME=x mnemic b && mnemic c   # not d\n$ echo 1 | mnemic e - < f\n```\n\n"
        "    $ mnemic g\n\nand\n\n```python\nmnemic = h\n```\n"
    )
    found = [words for words in commands(page) if words[0] == "mnemic"]
    assert sorted(words[1] for words in found) == ["a", "b", "c", "e", "g"]


# benchmarks, programs, targets


class Parsed(BaseException):
    """Ends a program where it would read its arguments; holds its parser."""


@cache
def options_of(module: str) -> frozenset[str]:
    """The options of a program: those of its own parser, or where it has none the words that it looks for."""

    def stop(parser: argparse.ArgumentParser, *given: Any) -> None:
        raise Parsed(parser)

    if not module.startswith("bench."):
        return frozenset(re.findall(r'"(--[a-z][a-z-]*)"', text_of(ROOT / f"{module.replace('.', '/')}.py")))
    kept = argparse.ArgumentParser.parse_args
    argparse.ArgumentParser.parse_args = stop  # type: ignore[assignment, method-assign]
    try:
        import_module(module).main()
    except Parsed as ended:
        return frozenset(ended.args[0]._option_string_actions)
    finally:
        argparse.ArgumentParser.parse_args = kept  # type: ignore[method-assign]
    raise AssertionError(f"{module} read no arguments")


def programs(text: str) -> Iterator[tuple[str, list[str]]]:
    for words in commands(text):
        if words[:2] in (["python", "-m"], ["$(BIN)/python", "-m"]) and len(words) > 2:
            yield words[2], words[3:]


@every_page
def test_every_program_that_a_page_runs_exists_with_its_options(page: Path) -> None:
    wrong = []
    for module, given in programs(text_of(page)):
        if module.split(".")[0] not in ("bench", "tests", "examples", "reference"):
            continue
        file = ROOT / module.replace(".", "/")
        if not file.with_suffix(".py").is_file() and not (file / "__main__.py").is_file():
            wrong.append(module)
        else:
            used = sorted(word for word in (word.strip("[]") for word in given) if word.startswith("--"))
            wrong += [f"{module} {word}" for word in used if word.partition("=")[0] not in options_of(module)]
    assert wrong == []


def test_a_benchmark_s_options_are_those_of_its_parser() -> None:
    assert {"--nodes", "--keep", "--json"} <= options_of("bench.scale") and "--nodez" not in options_of("bench.scale")


def test_every_benchmark_stands_on_a_page() -> None:
    told = "\n".join(text_of(page) for page in PAGES)
    benches = [file.stem for file in ROOT.glob("bench/*.py") if "__main__" in text_of(file)]
    assert [name for name in benches if f"bench.{name}" not in told] == []


@every_page
def test_every_target_of_make_exists(page: Path) -> None:
    targets = re.findall(r"^([a-z]+):", text_of(ROOT / "Makefile"), re.M)
    assert [words[1] for words in commands(text_of(page)) if words[0] == "make" and words[1:] and words[1] not in targets] == []


# settings and variables


@every_page
def test_every_file_of_settings_that_a_page_shows_is_one(page: Path, tmp_path: Path) -> None:
    for block in blocks(text_of(page)):
        if block.language == "toml" and block.title in ("", "mnemic.toml"):
            (tmp_path / "mnemic.toml").write_text(block.text, "utf-8")
            load({"HOME": str(tmp_path)}, home=tmp_path)


@every_page
def test_every_setting_that_a_page_names_exists(page: Path) -> None:
    wrong = []
    for span in spans(text_of(page)):
        if found := re.fullmatch(r"\[([a-z]+)(\.types(?:\.\w+)?|\.folders)?\](?: ([a-z_]+)(?: = .*)?)?", span):
            section, inner, key = found.groups()
            known = set(Curve.__dataclass_fields__) if inner == ".types" else FIELDS.get(section)
            if known is None or (key and key not in known):
                wrong.append(span)
        elif (found := re.fullmatch(r"([a-z]+)\.([a-z_]+)", span)) and found[1] in FIELDS and found[1] not in dir(Memory):
            wrong += [] if found[2] in FIELDS[found[1]] else [span]
    assert wrong == []


@every_page
def test_every_variable_that_a_page_names_is_read(page: Path) -> None:
    tests = "".join(text_of(file) for file in ROOT.glob("tests/**/*.py")) + text_of(ROOT / ".ci" / "run")
    used = set(re.findall(r"\bMNEMIC_[A-Z_]+\b", text_of(page)))
    assert [name for name in sorted(used) if name not in settings.VARIABLES and f'"{name}"' not in tests] == []


# MCP and REST


def test_the_tools_on_the_page_of_mcp_are_the_tools_of_the_server() -> None:
    section = text_of(DOCS / "mcp.md").partition("## The tools")[2].partition("\n\n`wiki`")[0]
    named = set(re.findall(r"`([a-z_]+)`", section))
    arguments = {name for tool in BOX.tools for name in tool.schema["properties"]}
    assert {tool.name for tool in BOX.tools} <= named
    assert named <= {tool.name for tool in BOX.tools} | arguments


def test_the_resources_and_prompts_on_the_page_of_mcp_are_those_of_the_server() -> None:
    page = text_of(DOCS / "mcp.md")
    assert [row["name"] for row in mcp_reading.PROMPTS if f"`{row['name']}`" not in page] == []
    assert [row["uri"] for row in mcp_reading.RESOURCES if f"`{row['uri']}`" not in page] == []
    known = [row["uri"] for row in mcp_reading.RESOURCES]
    used = re.findall(r"mnemic://[a-z/-]+", "".join(text_of(page) for page in PAGES))
    assert [uri for uri in used if uri not in known and not uri.startswith("mnemic://at/")] == []


def route_of(method: str, path: str) -> bool:
    """Whether REST has an operation there; a method that is not said may be any."""
    plain = path.partition("?")[0].rstrip("/.,") or "/"
    for route in ROUTES:
        shape = re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(route.path))
        if re.fullmatch(shape, plain) and method in ("", route.method):
            return True
    return False


@every_page
def test_every_route_that_a_page_names_exists(page: Path) -> None:
    served = "".join(text_of(file) for file in ROOT.glob("src/mnemic/interfaces/**/*.py"))
    wrong = []
    for line in lines(text_of(page)):
        said = re.search(r"-X (\w+)", line)
        method = said[1] if said else "POST" if re.search(r"\s-d\s", line) else "GET" if line.startswith("curl") else ""
        for path in re.findall(r"(?:\$U|/api/v1)(/[^\s\"'`)…]*)", line):
            wrong += [] if path == "/" or route_of(method, path) else [f"{method} {path}"]
        if found := re.fullmatch(r"(GET|POST|PUT|PATCH|DELETE) (/\S*)", line):
            known = found[2] in BESIDES or found[2] in served or route_of(found[1], found[2].removeprefix("/api/v1"))
            wrong += [] if known else [line]
    assert wrong == []


def test_a_route_that_is_not_there_would_be_seen() -> None:
    assert route_of("POST", "/recall") and route_of("PATCH", "/facts/1") and route_of("", "/ledger?limit=20")
    assert not route_of("GET", "/recall") and not route_of("", "/recal") and not route_of("", "/facts/1/edit")


def test_the_pages_of_the_workbench_are_those_that_are_told() -> None:
    code = text_of(ROOT / "src" / "mnemic" / "interfaces" / "workbench" / "app.js")
    titles = re.findall(r'^page\("\w+", "([^"]+)"', code, re.M)
    told = re.findall(r"^\| ([A-Z][^|]*) \|", text_of(DOCS / "workbench.md"), re.M)
    assert len(titles) > 5 and sorted(told) == sorted(titles)


# Python


@cache
def attributes() -> dict[str, set[str]]:
    """What `memory` has, and what its parts have."""
    found = {"": set(dir(Memory)) | {"settings", "namespace", "clock", "ids", "last_error", *parts()}}
    for name, kind in parts().items():
        module, _, cls = kind.rpartition(".")
        found[name] = set(dir(getattr(import_module(module), cls))) | {"used"}
    return found


@every_page
def test_every_method_of_memory_that_a_page_names_exists(page: Path) -> None:
    code = "\n".join([*spans(text_of(page)), *(block.text for block in blocks(text_of(page)) if block.language == "python")])
    wrong = []
    for first, second in re.findall(r"\b(?:memory|Memory)\.([a-z]\w*)(?:\.([a-z]\w*))?", code):
        if first not in attributes()[""]:
            wrong.append(f"memory.{first}")
        elif second and first in attributes() and second not in attributes()[first]:
            wrong.append(f"memory.{first}.{second}")
    assert wrong == []


@every_page
def test_every_piece_of_python_is_python_and_imports_what_is_there(page: Path) -> None:
    for block in blocks(text_of(page)):
        if block.language != "python":
            continue
        tree = ast.parse(block.text.replace("…", "..."))
        for one in ast.walk(tree):
            if isinstance(one, ast.ImportFrom) and one.module and one.module.split(".")[0] == "mnemic":
                for name in one.names:
                    assert _offers(one.module, name.name), f"{one.module} has no {name.name}"


def _offers(module: str, name: str) -> bool:
    """By reading: what a module needs may not be installed."""
    base = ROOT / "src" / module.replace(".", "/")
    file = base / "__init__.py" if base.is_dir() else base.with_suffix(".py")
    if (base / f"{name}.py").is_file() or (base / name).is_dir():
        return True
    return file.is_file() and re.search(rf"\b{name}\b", text_of(file)) is not None


# names, files, extras


@cache
def words_of_the_code() -> frozenset[str]:
    files = [file for folder in ("src", "tests", "bench", "examples", "reference") for file in ROOT.glob(f"{folder}/**/*.py")]
    return frozenset(word for file in files if "tests/docs" not in str(file) for word in re.findall(r"\w+", text_of(file)))


@every_page
def test_every_name_in_code_is_a_name_of_the_code(page: Path) -> None:
    names = {span.removesuffix("()") for span in spans(text_of(page)) if re.fullmatch(r"[a-z]+(?:_[a-z0-9]+)+(?:\(\))?", span)}
    assert sorted(name for name in names if name not in words_of_the_code() and name not in OTHERS) == []


@every_page
def test_every_file_of_the_project_that_a_page_names_is_there(page: Path) -> None:
    path = r"(?:src|tests|bench|docs|examples|reference|mnemic)/[\w./-]+"
    used = [span for span in spans(text_of(page)) if re.fullmatch(path, span)]
    assert [span for span in used if not (ROOT / span).exists() and not (ROOT / "src" / span).exists()] == []


@every_page
def test_every_extra_that_a_page_installs_exists(page: Path) -> None:
    extras = tomllib.loads(text_of(ROOT / "pyproject.toml"))["project"]["optional-dependencies"]
    used = {name.strip() for names in re.findall(r"(?:mnemic|'\.)\[([a-z, -]+)\]", text_of(page)) for name in names.split(",")}
    assert sorted(used - set(extras)) == []


# links and the shape of the site


@pytest.mark.parametrize("page", [*PAGES, *sorted(DOCS.glob("*/*.md"))], ids=ids)
def test_every_link_leads_to_a_page_and_a_heading_of_it(page: Path) -> None:
    wrong = []
    for link in links(text_of(page)):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        outside = DOCS in page.parents and DOCS not in target.parents
        if outside or not target.is_file() or (anchor and anchor not in anchors(text_of(target))):
            wrong.append(link)
    assert wrong == []


def navigation(tree: Any) -> Iterator[str]:
    if isinstance(tree, str):
        yield tree
    for one in tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ():
        yield from navigation(one)


def test_every_page_has_one_place_in_the_navigation() -> None:
    nav = list(navigation(tomllib.loads(text_of(ROOT / "zensical.toml"))["project"]["nav"]))
    assert len(nav) == len(set(nav))
    assert set(nav) == {str(file.relative_to(DOCS)) for file in DOCS.rglob("*.md")}


@every_page
def test_a_page_reads_the_same_on_the_site_as_in_the_repository(page: Path) -> None:
    """The site's Markdown begins no list and no table within a paragraph, ends a table at a blank line, and needs four blanks
    before what stands in an item."""
    wrong, before = [], ""
    for line in FENCE.sub("\n", text_of(page)).splitlines():
        item = re.match(r"[-*] ", line)
        text = before.strip() and not re.match(r"[-*#|] ?|  |\d+\. ", before)
        after_table = before.lstrip().startswith("|") and line.strip() and not line.lstrip().startswith("|")
        if ((item or line.startswith("|")) and text) or after_table or re.match(r" {1,3}(?:[-*] |\|)", line):
            wrong.append(line)
        before = line
    assert wrong == []


@every_page
def test_a_page_shows_no_place_of_one_machine(page: Path) -> None:
    assert re.findall(r"(?:/root/|/work/|/tmp/\w+/|file://)\S*", text_of(page)) == []
