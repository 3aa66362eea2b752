"""Trained models in one file: what is written comes back, and nothing else is unpacked."""

from __future__ import annotations

import io
import json
import os
import stat
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.checkpoints import write_checkpoints

from tfdistribute.checkpoints.contents import files_of
from tfdistribute.checkpoints.newest import newest_checkpoint
from tfdistribute.errors import ArgumentError, ModelDirectoryError, ModelError
from tfdistribute.model_file import FORMAT, read_model_file, write_model_file

FILE = {"type": "file", "name": "vocabularies/1.txt"}
DESCRIPTION = {"type": "list", "values": [{"type": "double", "values": ["0.1"]}, FILE]}
OWN = ("signature.json",)
VERSIONS = {"tfdistribute": "0.1.0", "R": "4.2.2", "tensorflow": None}

Members = list[tuple[zipfile.ZipInfo, bytes]]


@pytest.fixture(scope="module")
def checkpoint(tensorflow: Any, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The prefix of the newest of two checkpoints."""
    del tensorflow
    return write_checkpoints(tmp_path_factory.mktemp("model"), 10, 20)


@pytest.fixture
def saved(checkpoint: str, tmp_path: Path) -> Path:
    """A model file with a vocabulary."""
    return save(checkpoint, tmp_path / "m.tfd", vocabulary=b"a\nb\n")


def save(checkpoint: str, path: Path, vocabulary: bytes = b"", **options: Any) -> Path:
    words = path.with_suffix(".txt")
    words.write_bytes(vocabulary)
    files = {"vocabularies/1.txt": str(words), **options.pop("files", {})}
    values = [*DESCRIPTION["values"], *options.pop("values", ())]
    write_model_file(
        str(path),
        model="linear_regressor",
        versions=VERSIONS,
        prefix=checkpoint,
        description={**DESCRIPTION, "values": values},
        files=files,
        **options,
    )
    return path


def edited(path: Path, change: Callable[[Members], Members]) -> str:
    """Write the members of a model file again, changed; sizes and checksums of the archive are right."""
    with zipfile.ZipFile(path) as archive:
        members = [(info, archive.read(info)) for info in archive.infolist()]
    changed = path.with_name("changed.tfd")
    with zipfile.ZipFile(changed, "w") as archive:
        for info, content in change(members):
            archive.writestr(info, content, info.compress_type)
    return str(changed)


def manifest_with(**fields: Any) -> Callable[[Members], Members]:
    def change(members: Members) -> Members:
        (info, text), *others = members
        return [(info, json.dumps({**json.loads(text), **fields}).encode()), *others]

    return change


def added(name: str, content: bytes = b"x", mode: int = 0, listed: bool = True) -> Any:
    def change(members: Members) -> Members:
        info = zipfile.ZipInfo(name)
        info.external_attr = mode << 16
        if listed:
            files = json.loads(members[0][1])["files"] | {name: len(content)}
            members = manifest_with(files=files)(members)
        return [*members, (info, content)]

    return change


@pytest.mark.smoke
def test_a_model_file_restores_its_model_directory(saved: Path, checkpoint: str, tmp_path: Path):
    target = tmp_path / "deep" / "restored"
    manifest = read_model_file(str(saved), str(target))
    assert (manifest.model, manifest.description) == ("linear_regressor", DESCRIPTION)
    assert (manifest.format, manifest.versions) == (FORMAT, VERSIONS)
    assert newest_checkpoint(str(target)) == str(target / "model.ckpt-20")
    for ending in (".index", ".data-00000-of-00001"):
        written = (target / f"model.ckpt-20{ending}").read_bytes()
        assert written == Path(checkpoint + ending).read_bytes()
    assert (target / "vocabularies" / "1.txt").read_text() == "a\nb\n"
    assert stat.S_IMODE(target.stat().st_mode) == 0o777 & ~umask()
    assert os.listdir(tmp_path / "deep") == ["restored"]


def umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_the_same_model_gives_the_same_file(checkpoint: str, tmp_path: Path):
    one, other = (save(checkpoint, tmp_path / name) for name in ("a.tfd", "b.tfd"))
    assert one.read_bytes() == other.read_bytes()


def test_files_of_a_directory_keep_their_places(checkpoint: str, tmp_path: Path):
    (tmp_path / "keras" / "variables").mkdir(parents=True)
    (tmp_path / "keras" / "variables" / "v.index").write_text("v")
    keras = {"keras/model": str(tmp_path / "keras")}
    node = {"type": "file", "name": "keras/model"}
    path = save(checkpoint, tmp_path / "m.tfd", files=keras, values=[node])
    read_model_file(str(path), str(tmp_path / "m"))
    assert (tmp_path / "m" / "keras" / "model" / "variables" / "v.index").read_text() == "v"


def test_a_description_with_functions_must_be_trusted(checkpoint: str, tmp_path: Path):
    code = {"attributes": {"class": {"type": "code", "index": 1}}}
    path = save(checkpoint, tmp_path / "m.tfd", files={"functions.rds": __file__}, values=[code])
    with pytest.raises(ModelError, match="holds code .* R functions") as caught:
        read_model_file(str(path), str(tmp_path / "m"))
    assert caught.value.argument == "trusted"
    assert not (tmp_path / "m").exists()
    read_model_file(str(path), str(tmp_path / "m"), trusted=True)
    assert (tmp_path / "m" / "functions.rds").exists()


def test_a_file_holds_what_its_description_needs_and_the_own_files_of_a_model(
    checkpoint: str, tmp_path: Path
):
    for name in ("functions.rds", "keras/model.keras", "vocabularies/2.txt", "signature.json"):
        path = save(checkpoint, tmp_path / "m.tfd", files={name: __file__}, overwrite=True)
        with pytest.raises(ModelError, match=f'does not need "{name}"'):
            read_model_file(str(path), str(tmp_path / "m"), trusted=True)
    read_model_file(str(path), str(tmp_path / "m"), own=OWN)


def test_an_existing_file_is_replaced_only_if_asked(saved: Path, checkpoint: str, tmp_path: Path):
    before = saved.read_bytes()
    with pytest.raises(ArgumentError, match="exists"):
        save(checkpoint, saved)
    assert saved.read_bytes() == before
    save(checkpoint, saved, overwrite=True)
    assert saved.read_bytes() != before
    with pytest.raises(ArgumentError, match="No such file or directory"):
        save(checkpoint, tmp_path / "m.tfd", overwrite=True, files={"x": str(tmp_path / "gone")})
    assert sorted(path.suffix for path in tmp_path.iterdir()) == [".tfd", ".txt"]


def test_a_checkpoint_that_its_training_has_removed_is_named(tensorflow: Any, tmp_path: Path):
    del tensorflow
    prefix = write_checkpoints(tmp_path / "model", 10)
    for file in files_of(prefix):
        os.unlink(file)
    with pytest.raises(ModelDirectoryError, match='model.ckpt-10" was removed while it was copied'):
        save(prefix, tmp_path / "m.tfd")
    assert not (tmp_path / "m.tfd").exists()


def test_a_directory_that_is_not_empty_stays_as_it_is(saved: Path, tmp_path: Path):
    (tmp_path / "m").mkdir()
    read_model_file(str(saved), str(tmp_path / "m"))
    before = sorted(os.listdir(tmp_path / "m"))
    with pytest.raises(ModelDirectoryError, match="exists and is not empty"):
        read_model_file(str(saved), str(tmp_path / "m"))
    assert sorted(os.listdir(tmp_path / "m")) == before


LINK = stat.S_IFLNK | 0o777

CHANGES: dict[str, tuple[Any, str]] = {
    "a name with ..": (added("../outside"), "is not the name of a file"),
    "an absolute name": (added("/tmp/outside"), "is not the name of a file"),
    "a hidden name": (added(".Rprofile"), "is not the name of a file"),
    "a backslash": (added("a\\b"), "is not the name of a file"),
    "a link": (added("link", b"/etc/passwd", LINK), "is not a regular file"),
    "a member that is not listed": (added("extra", listed=False), "lists other members"),
    "a missing member": (lambda members: members[:-1], "lists other members"),
    "a member twice": (lambda members: [*members, members[-1]], "lists other members"),
    "another size": (manifest_with(files={"model.ckpt-20.index": 1}), "lists other members"),
    "another checkpoint": (manifest_with(checkpoint="model.ckpt-30"), "has no checkpoint"),
    "a checkpoint elsewhere": (manifest_with(checkpoint="../model.ckpt-20"), "has no checkpoint"),
    "no manifest": (lambda members: members[1:], "is missing or is not JSON"),
    "a manifest that is a list": (
        lambda members: [(members[0][0], b"[]"), *members[1:]],
        "does not describe a model",
    ),
    "deep JSON": (
        lambda members: [(members[0][0], b"[" * 10**6), *members[1:]],
        "is missing or is not JSON",
    ),
    "an unknown field": (manifest_with(surprise=1), "does not describe a model"),
}


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("change", CHANGES)
def test_a_foreign_or_changed_file_is_refused_before_anything_is_written(
    change: str, saved: Path, tmp_path: Path
):
    make, expected = CHANGES[change]
    path = edited(saved, make)
    before = sorted(os.listdir(tmp_path))
    with pytest.raises(ModelError, match=expected) as caught:
        read_model_file(path, str(tmp_path / "m"), trusted=True)
    assert caught.value.argument == "path"
    assert len(str(caught.value)) < 2000
    assert sorted(os.listdir(tmp_path)) == before


def test_a_compressed_member_is_refused(saved: Path, tmp_path: Path):
    # A few bytes could unpack to many.
    def compressed(members: Members) -> Members:
        members[-1][0].compress_type = zipfile.ZIP_DEFLATED
        return members

    with pytest.raises(ModelError, match="is compressed or encrypted"):
        read_model_file(edited(saved, compressed), str(tmp_path / "m"))


def test_members_that_share_bytes_are_refused(saved: Path, tmp_path: Path):
    # A file of a few bytes could unpack to many.
    inner, content = io.BytesIO(), bytes(10_000)
    with zipfile.ZipFile(inner, "w") as archive:
        archive.writestr(zipfile.ZipInfo("vocabularies/2.txt"), content)
        hidden = archive.infolist()[0]
    path = Path(edited(saved, added("vocabularies/1.txt/2", inner.getvalue())))
    with zipfile.ZipFile(path, "a") as archive:
        outer = archive.infolist()[-1]
        hidden.header_offset = outer.header_offset + len(outer.FileHeader())
        archive.filelist.append(hidden)
        # Writes the directory of the archive again.
        archive.comment = b" "
    with zipfile.ZipFile(path) as archive:
        assert archive.read("vocabularies/2.txt") == content
    with pytest.raises(ModelError, match="its members overlap"):
        read_model_file(str(path), str(tmp_path / "m"))


def test_a_newer_format_says_which_version_wrote_it(saved: Path, tmp_path: Path):
    path = edited(saved, manifest_with(format=2, versions={"tfdistribute": "9.1"}, new="field"))
    with pytest.raises(ModelError, match=r"written by tfdistribute 9\.1 in format 2") as caught:
        read_model_file(path, str(tmp_path / "m"))
    assert caught.value.remedy == "Update tfdistribute."


def damaged(content: bytes) -> Iterator[bytes]:
    for share in range(10):
        yield content[: len(content) * share // 10]
    for place in range(0, len(content), 31):
        yield content[:place] + bytes([content[place] ^ 0xFF]) + content[place + 1 :]


def test_a_file_that_was_cut_off_or_damaged_anywhere_is_refused_or_whole(
    saved: Path, tmp_path: Path
):
    whole, refused = saved.read_bytes(), 0
    copy = tmp_path / "copy.tfd"
    for number, content in enumerate(damaged(whole)):
        copy.write_bytes(content)
        target = tmp_path / f"m{number}"
        try:
            read_model_file(str(copy), str(target))
        except ModelError as error:
            assert len(str(error)) < 2000
            refused += 1
            assert not target.exists()
        else:
            # Bytes such as a member's date change nothing.
            assert (target / "vocabularies" / "1.txt").read_text() == "a\nb\n"
    assert refused > 60
    assert not list(tmp_path.glob(".tfdistribute-*"))


def test_a_checkpoint_that_was_broken_before_it_was_saved_is_refused(saved: Path, tmp_path: Path):
    def broken(members: Members) -> Members:
        found = []
        for info, content in members:
            at = len(content) // 2
            is_data = ".data-" in info.filename
            flipped = content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]
            found.append((info, flipped if is_data else content))
        return found

    with pytest.raises(ModelError, match="checkpoint does not hold what was written"):
        read_model_file(edited(saved, broken), str(tmp_path / "m"))


def test_what_is_not_a_file_is_refused(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe")
    for name in ("pipe", "missing"):
        with pytest.raises(ArgumentError, match="cannot be read"):
            read_model_file(str(tmp_path / name), str(tmp_path / "m"))
    (tmp_path / "text.tfd").write_text("not an archive")
    with pytest.raises(ModelError, match="is not a ZIP archive"):
        read_model_file(str(tmp_path / "text.tfd"), str(tmp_path / "m"))
