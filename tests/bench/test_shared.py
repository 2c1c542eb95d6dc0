from __future__ import annotations

import argparse
import shutil
from pathlib import Path

import pytest

from bench.clones import in_database, in_folder
from bench.shared import measure, render
from tests.homes import Home
from tests.servers import Server, serving


def options(**more: object) -> argparse.Namespace:
    known = {"namespaces": 3, "nodes": 24, "captured": 2, "clients": 2, "seconds": 0.4, "rate": 20.0, "backup": False}
    return argparse.Namespace(**known | more)


def test_both_homes_are_filled_copied_asked_and_written_to(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bench.shared.FRESH", "fork")  # which is quicker
    server.drop("bench")
    report = measure(options(), tmp_path, server.fresh("bench"), server.folder)
    server.drop("bench")
    for row in (report, report["sqlite"]):
        assert (row["namespaces"], row["nodes"], row["captured"], row["errors"]) == (3, 24, 2, 0)
        assert row["recall"]["p95_ms"] >= row["recall"]["p50_ms"] > 0 and row["capture_per_s"] > 0
        assert list(row["modes"]) == ["alone", "paced", "flat", "write alone", "write flat"]
        assert row["modes"]["alone"]["first"]["count"] > 0
    assert report["modes"]["flat"]["cpu_ms"]["server"] > 0 == report["sqlite"]["modes"]["flat"]["cpu_ms"]["server"]
    assert render(report).count("| 0 |") == 10
    with pytest.raises(SystemExit, match="holds .*give the same sizes"):
        measure(options(nodes=30), tmp_path, "postgresql://nobody@nowhere/none")


@pytest.mark.parametrize("engine", ["sqlite", "postgres"])
def test_a_copied_namespace_is_whole_and_goes_its_own_way(server: Server, tmp_path: Path, engine: str) -> None:
    server.drop("bench")
    home = Home(tmp_path, url=server.fresh("bench") if engine == "postgres" else "")
    home.capture(("user", "The walrus naps."), ("assistant", "On the ice."), ns="one")
    home.capture(("user", "The kiln fires at noon."), ns="one")
    home.store.close()
    in_database(home.url, {"two": "one"}) if home.url else in_folder(tmp_path / "home", {"two": "one"})
    home.open()
    assert home.sane("two") and home.sane("one")
    assert home.search("walrus", "two") == home.search("walrus", "one") == ["/sessions/s/1/user"]
    home.capture(("user", "A seal barks."), ns="two")
    assert [one.path for one in home.store.documents("two")] == ["/sessions/s/1", "/sessions/s/2", "/sessions/s/3"]
    assert (home.search("seal", "two"), home.search("seal", "one")) == (["/sessions/s/3/user"], [])
    assert home.sane("two") and home.sane("one")
    home.store.close()
    server.drop("bench")


def test_a_server_in_a_kept_folder_has_what_it_had(tmp_path: Path) -> None:
    folder = Path(f"/tmp/mnemic-{tmp_path.name[-20:]}")
    try:
        with serving(kept=folder) as server:
            server.execute("CREATE TABLE kept()")
        with serving(kept=folder) as server:
            server.execute("SELECT FROM kept")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
