"""The window through the command line."""

from __future__ import annotations

import json
from pathlib import Path

from typer.testing import CliRunner

from mnemic.errors import BadInput
from mnemic.interfaces.cli.app import app


def test_a_prompt_is_prepared_from_a_file_or_stdin_and_status_tells_of_it(tmp_path: Path) -> None:
    env = {"MNEMIC_HOME": str(tmp_path / "home"), "MNEMIC_CONFIG": str(tmp_path / "config")}
    messages = [{"role": "user", "content": f"We decided on {n}. " + "Some more words about nothing. " * 20} for n in range(20)]
    call = ["window", "prepare", "-", "--window", "1000", "--headroom", "0.25", "--session", "s", "--judge", "rules", "--json"]
    done = CliRunner(env=env).invoke(app, call, input=json.dumps(messages))
    assert done.exit_code == 0, done.exception
    row = json.loads(done.stdout)
    assert row.keys() >= {"messages", "tokens", "compacted", "injected", "degraded"}
    assert row["tokens"]["before"] > 750 >= row["tokens"]["after"] == sum(row["tokens"]["by_part"].values())
    assert row["messages"][-1] == messages[-1]
    status = json.loads(CliRunner(env=env).invoke(app, ["window", "status", "--json"]).stdout)
    assert status["messages"] > 10


def test_what_is_no_array_of_messages_is_refused(tmp_path: Path) -> None:
    env = {"MNEMIC_HOME": str(tmp_path / "home"), "MNEMIC_CONFIG": str(tmp_path / "config")}
    for given in ("{}", "[1]", "nonsense", '[{"content": "x"}]'):
        done = CliRunner(env=env).invoke(app, ["window", "prepare", "-"], input=given)
        assert isinstance(done.exception, BadInput), given


def test_the_agent_takes_an_order_and_hands_in_its_summary(tmp_path: Path) -> None:
    runner = CliRunner(env={"MNEMIC_HOME": str(tmp_path / "home"), "MNEMIC_CONFIG": str(tmp_path / "config")})
    messages = [{"role": "user", "content": f"We decided on {n}. " + "Some more words about nothing. " * 20} for n in range(20)]
    call = ["window", "prepare", "-", "--window", "1000", "--session", "s", "--judge", "agent", "--json"]
    assert runner.invoke(app, call, input=json.dumps(messages)).exit_code == 0
    order = json.loads(runner.invoke(app, ["window", "work", "next", "--json"]).stdout)
    place = json.loads(order["input"].splitlines()[3])["path"]
    answer = json.dumps({"lines": [{"kind": "decision", "place": place, "text": "All of them."}]})
    done = runner.invoke(app, ["window", "work", "submit", order["id"], "-", "--json"], input=answer)
    assert done.exit_code == 0, done.exception
    assert json.loads(done.stdout)["status"] == "stored"
