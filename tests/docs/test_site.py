"""The look at a built site finds what a reader would stumble over, and what would ask another host."""

from __future__ import annotations

from pathlib import Path

import pytest

from reference.site import faults

GOOD = '<head><link rel="stylesheet" href="a.css"></head><body id="top"><a href="sub/#there">x</a><a href="#top">y</a></body>'


@pytest.fixture
def site(tmp_path: Path) -> Path:
    (tmp_path / "sub").mkdir()
    (tmp_path / "index.html").write_text(GOOD)
    (tmp_path / "sub" / "index.html").write_text(
        '<h1 id="there">z</h1><a href="../">up</a><a href="https://example.org/">out</a>'
    )
    (tmp_path / "a.css").write_text("body { background: url(data:image/png;base64,AA) }")
    return tmp_path


def test_a_whole_site_has_no_fault(site: Path) -> None:
    assert list(faults(site)) == []


@pytest.mark.parametrize(("text", "fault"), [
    ('<a href="gone/">x</a>', "index.html: gone/ leads to no page"),
    ('<a href="sub/#nowhere">x</a>', "index.html: sub/#nowhere leads to no anchor"),
    ('<a href="#nowhere">x</a>', "index.html: #nowhere leads to no anchor"),
    ('<img src="gone.png">', "index.html: loads gone.png, which is not there"),
    ('<script src="https://cdn.example/x.js"></script>', "index.html: loads https://cdn.example/x.js from another host"),
    ('<link rel="preconnect" href="//fonts.example">', "index.html: loads //fonts.example from another host"),
])  # fmt: skip
def test_a_fault_is_told(site: Path, text: str, fault: str) -> None:
    (site / "index.html").write_text(text)
    assert list(faults(site)) == [fault]


def test_a_style_sheet_that_asks_another_host_is_told(site: Path) -> None:
    (site / "a.css").write_text("@import 'https://fonts.example/x.css';")
    assert list(faults(site)) == ["a.css: loads https://fonts.example/x.css from another host"]


def test_a_folder_without_pages_is_told(tmp_path: Path) -> None:
    assert list(faults(tmp_path)) == [f"{tmp_path} holds no page: build it first"]
