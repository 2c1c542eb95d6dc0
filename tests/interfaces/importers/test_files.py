"""Archives are somebody else's: what is crafted to do harm is named and left out (reliability S11)."""

from __future__ import annotations

import os
import struct
import zipfile
from pathlib import Path

import pytest

from mnemic.errors import BadInput
from mnemic.interfaces.importers import files
from mnemic.interfaces.importers.files import opened


def archive(path: Path, *members: tuple[str | zipfile.ZipInfo, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        for name, data in members:
            made.writestr(name, data, zipfile.ZIP_DEFLATED)
    return path


def names(path: Path) -> tuple[list[str], dict[str, str]]:
    """What is read of an archive or a folder, and what is left out with the reason."""
    source = opened(path)
    source.close()
    return [file.name for file in source.files], {one.where: one.why for one in source.skipped}


@pytest.mark.parametrize("name", ["../evil.json", "/etc/evil.json", "a/../../evil.json", "C:/evil.json", "a\\..\\evil.json"])
def test_a_name_that_leads_out_of_the_archive_is_left_out(name: str, tmp_path: Path) -> None:
    info = zipfile.ZipInfo("x")
    info.filename = name
    read, skipped = names(archive(tmp_path / "a.zip", ("good.json", b"[]"), (info, b"[]")))
    assert read == ["good.json"]
    assert list(skipped.values()) == ["its name leads out of the archive"]


def test_a_link_in_an_archive_is_left_out(tmp_path: Path) -> None:
    info = zipfile.ZipInfo("link.json")
    info.external_attr = 0o120777 << 16
    read, skipped = names(archive(tmp_path / "a.zip", (info, b"/etc/passwd")))
    assert (read, skipped) == ([], {"link.json": "it is a link or no regular file"})


def test_a_bomb_is_left_out_and_what_stands_beside_it_read(tmp_path: Path) -> None:
    read, skipped = names(archive(tmp_path / "a.zip", ("bomb.json", bytes(3 << 20)), ("good.json", b"[]")))
    assert read == ["good.json"]
    assert "as a bomb does" in skipped["bomb.json"]


def test_two_members_of_one_name_count_once(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="Duplicate name"):
        path = archive(tmp_path / "a.zip", ("a.json", b"[1]"), ("a.json", b"[2]"))
    assert names(path) == (["a.json"], {"a.json": "another member has the same name"})


def test_members_that_share_their_bytes_are_left_out(tmp_path: Path) -> None:
    path = archive(tmp_path / "a.zip", ("a.json", b"[1]"), ("b.json", b"[2]"))
    data = path.read_bytes()
    second = data.rindex(b"PK\x01\x02")
    path.write_bytes(data[: second + 42] + struct.pack("<L", 0) + data[second + 46 :])
    read, skipped = names(path)
    assert (read, skipped) == ([], dict.fromkeys(["a.json", "b.json"], "two members share its bytes"))


def test_an_archive_over_the_limits_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = archive(tmp_path / "a.zip", ("a.json", b"[1]"), ("b.json", b"[2]"))
    monkeypatch.setattr(files, "MOST_MEMBERS", 1)
    with pytest.raises(BadInput, match="holds 2 members of 6 bytes: the limits are 1 and"):
        opened(path)
    monkeypatch.setattr(files, "MOST_DIRECTORY", 10)
    with pytest.raises(BadInput, match="its list of members has 104 bytes, the limit is 10"):
        opened(path)


def test_what_is_no_archive_or_cut_off_is_refused(tmp_path: Path) -> None:
    path = archive(tmp_path / "a.zip", ("a.json", b"[1]"))
    for data in (b"", b"hello", path.read_bytes()[:-30]):
        path.write_bytes(data)
        with pytest.raises(BadInput, match="cannot be read as a zip archive"):
            opened(path)


def test_a_damaged_member_is_an_error_of_reading(tmp_path: Path) -> None:
    path = archive(tmp_path / "a.zip", ("a.json", os.urandom(5000)))
    data = bytearray(path.read_bytes())
    data[2000] ^= 255
    path.write_bytes(data)
    source = opened(path)
    with pytest.raises(OSError, match="the archive is damaged here"), source.files[0].opened() as stream:
        while stream.read(1000):
            pass
    source.close()


def test_an_encrypted_member_is_left_out(tmp_path: Path) -> None:
    path = archive(tmp_path / "a.zip", ("a.json", b"[1]"))
    data = bytearray(path.read_bytes())
    data[data.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(data)
    assert "it is encrypted" in names(path)[1]["a.json"]


def test_a_folder_is_read_without_links_and_hidden_files(tmp_path: Path) -> None:
    root = tmp_path / "in"
    (root / ".git").mkdir(parents=True)
    (root / "b").mkdir()
    (tmp_path / "outside.json").write_text("[]")
    for name in (".git/config.json", "b/two.json", "one.json", ".hidden.json"):
        (root / name).write_text("[]")
    (root / "link.json").symlink_to(tmp_path / "outside.json")
    (root / "away").symlink_to(tmp_path)
    assert names(root)[0] == ["b/two.json", "one.json"]
    assert names(root)[1] == {"link.json": "it is a link or no regular file"}


def test_what_an_archive_holds_is_read_and_counted(tmp_path: Path) -> None:
    seen: list[int] = []
    source = opened(archive(tmp_path / "a.zip", ("a.json", b"[1, 2]"), ("__MACOSX/a.json", b"x")), seen.append)
    assert (source.name, source.size, source.files[0].text(100)) == ("a", 6, "[1, 2]")
    assert sum(seen) == 6
    with pytest.raises(OSError, match="longer than 3 bytes"):
        source.files[0].text(3)
    source.close()
