"""Installing from files, folders, archives and packs: what comes in, and what never does."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import tarfile
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.errors import Cancelled, SightlineError, UsageError
from app.tools.api import CancelToken, ToolFailed
from app.tools.models.cards import CardFile
from app.tools.models.durable_files import UnsafeFileError
from app.tools.models.folder_changes import sweep
from app.tools.models.install_plan import Consent
from app.tools.models.records import to_toml
from app.tools.models.sources import MANIFEST
from app.tools.models.store import ModelStore
from app.tools.needs import is_installed
from tests.unit.tools.model_support import (
    CODE,
    CONTENT,
    FILES,
    TERMS,
    contents,
    digest,
    foldered,
    single,
    store,
    write_files,
)
from tests.unit.tools.support import FakeHost

REVISION = "0123456789" * 4
PACK = {f"test-folder/{name}": data for name, data in FILES.items()}


def zipped(path: Path, files: dict[str, bytes], compress: int = zipfile.ZIP_STORED) -> Path:
    with zipfile.ZipFile(path, "w", compress) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return path


def tarred(path: Path, files: dict[str, bytes], mode: str = "w") -> Path:
    with tarfile.open(path, mode) as archive:  # pyright: ignore[reportCallIssue, reportArgumentType]
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return path


def manifest(files: dict[str, bytes], card: str = "test-folder", **changed: Any) -> bytes:
    rows = [{"name": n, "size": len(data), "sha256": digest(data)} for n, data in files.items()]
    model = {"card": card, "revision": REVISION, "files": rows}
    return to_toml({"format": 1, "models": [model], **changed}).encode()


def install(made: ModelStore, path: Path, name: str | None = None, **agreed: Any) -> str:
    host = agreed.pop("host", None)
    (status,) = made.install(made.plan_install(path, name), Consent(**agreed), host=host)
    return status.state


def installed(made: ModelStore) -> dict[str, bytes]:
    """The files of the folder model that are there, without their record."""
    found = contents(made.folder)
    return {
        name.removeprefix("test-folder/"): data
        for name, data in found.items()
        if not name.endswith("installed.toml")
    }


# Single files


def test_the_published_file_is_installed_under_whatever_name_it_comes(tmp_path: Path):
    made = store(tmp_path)
    source = tmp_path / "download (1).pt"
    source.write_bytes(CONTENT)
    assert install(made, source) == "installed"
    assert made.verify()[0].state == "intact"
    assert installed(made) == {"test-net.pt": CONTENT}
    assert source.exists()
    record = made.paths_of(single()).record()
    assert record is not None
    assert (record.files[0].sha256, record.source) == (digest(CONTENT), "download (1).pt")


def test_another_file_under_the_right_name_is_refused_with_both_digests(tmp_path: Path):
    made = store(tmp_path)
    source = tmp_path / "test-net.pt"
    source.write_bytes(CONTENT[::-1])
    with pytest.raises(SightlineError) as caught:
        install(made, source)
    assert digest(CONTENT[::-1]) in caught.value.reason
    assert digest(CONTENT) in caught.value.reason
    assert "--other" in caught.value.remedy
    source.write_bytes(b"something else")
    assert "14 bytes" in made.plan_install(source).unpublished[0], "seen without reading it"
    with pytest.raises(SightlineError, match="14 bytes"):
        install(made, source)
    assert contents(made.folder) == {}


@pytest.mark.skipif(not is_installed("torch"), reason="needs torch")
def test_weights_of_ones_own_come_in_if_asked_for_and_the_model_can_load_them(tmp_path: Path):
    made = store(tmp_path)
    source = tmp_path / "mine.pt"
    source.write_bytes(b"mine")
    seen: list[bytes] = []

    def loads(payload: Any) -> dict[str, Any]:
        seen.append(Path(payload["weights"]).read_bytes())
        return {}

    install(made, source, "test-net", unpublished=True, host=FakeHost(loads))
    assert seen == [b"mine"], "the staged copy is what was tried"
    assert "differ from the published" in made.require("test-net", "A tool").warnings[0]
    assert made.status(made.card("test-net")).state == "other", "the list says what results say"

    def broken(payload: Any) -> dict[str, Any]:
        raise ToolFailed("these are weights of another model")

    source.write_bytes(b"worse")
    with pytest.raises(ToolFailed, match="another model"):
        install(made, source, "test-net", unpublished=True, host=FakeHost(broken))
    with pytest.raises(SightlineError, match="cannot be checked without the AI packages"):
        install(made, source, "test-net", unpublished=True)
    assert installed(made) == {"test-net.pt": b"mine"}


def test_of_two_kinds_of_one_models_weights_the_one_installed_last_is_used(tmp_path: Path):
    made = store(tmp_path, replace(single(), check=""))
    (made.folder / "test-net.pt").write_bytes(CONTENT)
    conversion = tmp_path / "test-net.safetensors"
    conversion.write_bytes(CONTENT)
    install(made, conversion, unpublished=True)
    assert installed(made) == {"test-net.safetensors": CONTENT}
    assert made.require("test-net", "A tool").path.name == "test-net.safetensors"


def test_an_unknown_file_is_refused_with_the_known_ones(tmp_path: Path):
    source = tmp_path / "holiday.jpg"
    source.write_bytes(b"x")
    with pytest.raises(UsageError, match="Known files: test-net"):
        store(tmp_path).plan_install(source)
    with pytest.raises(UsageError, match="no such file"):
        store(tmp_path).plan_install(tmp_path / "absent.pt")


@pytest.mark.skipif(not is_installed("torch"), reason="needs torch")
def test_a_file_that_no_digest_is_known_of_is_tried_before_it_is_taken(tmp_path: Path):
    made = store(tmp_path, replace(single(), files=(CardFile("test-net.pt"),)))
    source = tmp_path / "test-net.pt"
    source.write_bytes(b"holiday")

    def broken(payload: Any) -> dict[str, Any]:
        raise ToolFailed("this weights file cannot be read")

    with pytest.raises(ToolFailed, match="cannot be read"):
        install(made, source, host=FakeHost(broken))
    assert contents(made.folder) == {}
    assert install(made, source, host=FakeHost({})) == "installed"
    assert "no digests of the published" in made.require("test-net", "A tool").warnings[0]


@pytest.mark.parametrize(
    "damaged",
    [
        b"",
        b"holiday" * 9,
        CONTENT[:-1],
        CONTENT + b"x",
        CONTENT[:40],
        (1 << 62).to_bytes(8) + b"{}",
    ],
)
def test_tensors_that_are_cut_off_or_none_are_refused(tmp_path: Path, damaged: bytes):
    made = store(tmp_path, foldered())
    source = write_files(tmp_path / "test-folder", FILES | {"model.safetensors": damaged})
    with pytest.raises(SightlineError, match="damaged"):
        install(made, source)
    assert contents(made.folder) == {}


# Folders


def test_a_folder_is_told_by_its_name_its_repositorys_or_its_settings(tmp_path: Path):
    made = store(tmp_path, foldered(), single())
    settings = json.dumps({"_name_or_path": "owner/Test-Folder"}).encode()
    for name, files in (
        ("test-folder", FILES),
        ("Test-Folder.zip", FILES),
        ("weights", FILES | {"config.json": settings}),
    ):
        path = tmp_path / name
        if name.endswith(".zip"):
            zipped(path, {f"Test-Folder/{inside}": data for inside, data in files.items()})
        else:
            write_files(path, files)
        (model,) = made.plan_install(path).models
        assert (model.card.name, model.problems) == ("test-folder", ())
    with pytest.raises(UsageError, match="not a model that Sightline knows"):
        made.plan_install(write_files(tmp_path / "unknown", FILES))
    assert made.plan_install(tmp_path / "unknown", "test-folder").problems == ()


def test_what_is_no_part_of_the_model_is_left_out_and_listed(tmp_path: Path):
    made = store(tmp_path, foldered())
    more = {
        "pytorch_model.bin": b"pickle",
        "other.safetensors": b"",
        "run.sh": b"",
        "LICENSE": b"l",
    }
    source = write_files(tmp_path / "test-folder", FILES | CODE | more | {".git/config": b""})
    (model,) = made.plan_install(source).models
    assert set(model.left_out) == {"pytorch_model.bin", "other.safetensors", "run.sh", *CODE}
    assert model.code == ()
    install(made, source)
    assert installed(made) == FILES | {"LICENSE": b"l"}


def test_a_pickle_comes_in_only_where_the_card_names_it(tmp_path: Path):
    wanted = replace(foldered(), files=(*foldered().files, CardFile("pytorch_model.bin")))
    made = store(tmp_path, wanted)
    files = FILES | {"pytorch_model.bin": b"pickle", "optimizer.pt": b"pickle"}
    install(made, write_files(tmp_path / "test-folder", files))
    assert installed(made) == FILES | {"pytorch_model.bin": b"pickle"}


def test_a_folder_that_lacks_a_file_is_not_installed(tmp_path: Path):
    made = store(tmp_path, foldered())
    source = write_files(tmp_path / "test-folder", {"config.json": b"{}"})
    plan = made.plan_install(source)
    assert "model.safetensors, tokenizer/vocab.txt" in plan.problems[0]
    with pytest.raises(SightlineError, match="files are missing"):
        made.install(plan)
    assert contents(made.folder) == {}


def hub_cache(folder: Path, *, snapshots: tuple[str, ...] = (REVISION,)) -> Path:
    """What `huggingface_hub.snapshot_download` leaves in its cache: blobs, and links to them."""
    top = folder / "models--owner--Test-Folder"
    (top / "blobs").mkdir(parents=True)
    for commit in snapshots:
        for name, data in FILES.items():
            blob = top / "blobs" / hashlib.sha1(data).hexdigest()
            blob.write_bytes(data)
            link = top / "snapshots" / commit / name
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(blob)
    (top / "refs").mkdir()
    (top / "refs" / "main").write_text(snapshots[0])
    return top


def test_the_cache_of_huggingface_hub_is_taken_as_it_lies_with_its_commit(tmp_path: Path):
    top = hub_cache(tmp_path / "hub")
    for path in (tmp_path / "hub", top, top / "snapshots" / REVISION):
        made = store(tmp_path, foldered())
        install(made, path)
        assert installed(made) == FILES
        assert not any(p.is_symlink() for p in made.folder.rglob("*"))
        assert made.overview()[0].revision == REVISION
        made.remove("test-folder")


def test_of_several_snapshots_the_cards_revision_is_taken_else_the_main_branch(tmp_path: Path):
    other = "f" * 40
    top = hub_cache(tmp_path / "hub", snapshots=(REVISION, other))
    made = store(tmp_path, replace(foldered(), revision=other))
    assert made.plan_install(top).models[0].revision == other
    assert store(tmp_path, foldered()).plan_install(top).models[0].revision == REVISION
    assert (
        "its card means ffffffffffff"
        in made.plan_install(top / "snapshots" / REVISION).unpublished[0]
    )


def test_a_folder_that_huggingface_hub_filled_says_its_commit(tmp_path: Path):
    source = write_files(tmp_path / "test-folder", FILES)
    notes = {f"{name}.metadata": f"{REVISION}\netag\n1.0\n".encode() for name in FILES}
    write_files(source / ".cache" / "huggingface" / "download", notes)
    made = store(tmp_path, foldered())
    install(made, source)
    assert made.overview()[0].revision == REVISION
    assert installed(made) == FILES


def test_a_folder_of_more_files_than_any_model_has_is_not_walked_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("app.tools.models.sources.MOST_FILES", 5)
    many = {f"test-folder/{number}.txt": b"" for number in range(20)}
    with pytest.raises(UnsafeFileError, match="more than 5 files"):
        store(tmp_path, foldered()).plan_install(write_files(tmp_path, many) / "test-folder")


def test_a_link_out_of_the_folder_is_refused(tmp_path: Path):
    secret = tmp_path / "secret"
    secret.write_text("key")
    source = write_files(tmp_path / "test-folder", FILES)
    (source / "notes.txt").symlink_to(secret)
    with pytest.raises(UnsafeFileError, match="leads out of it"):
        store(tmp_path, foldered()).plan_install(source)


# Agreeing


def test_terms_are_asked_once_and_kept_with_their_text(tmp_path: Path):
    made = store(tmp_path, foldered(terms=TERMS))
    source = write_files(tmp_path / "test-folder", FILES)
    plan = made.plan_install(source)
    assert plan.terms == (("A folder", TERMS),)
    with pytest.raises(SightlineError, match="terms of A folder are not accepted") as caught:
        made.install(plan)
    assert "--accept-terms" in caught.value.remedy
    assert contents(made.folder) == {}
    assert made.install(plan, Consent(terms=True))[0].accepted
    record = made.paths_of(made.card("test-folder")).record()
    assert record is not None
    assert record.terms_sha256 == digest(TERMS.encode())
    assert record.terms_accepted
    assert made.plan_install(source).terms == (), "they are accepted already"
    assert install(made, source) == "installed"
    assert made.require("test-folder", "A tool").accepted


def test_code_comes_only_with_a_yes_and_is_pinned(tmp_path: Path):
    made = store(tmp_path, foldered(code=True))
    source = write_files(tmp_path / "test-folder", FILES | CODE)
    plan = made.plan_install(source)
    assert plan.code == (("A folder", ("modeling_net.py",)),)
    made.install(plan)
    assert installed(made) == FILES, "it works without: it was left out"
    assert made.overview()[0].code == "not allowed"
    made.install(plan, Consent(code=True))
    assert installed(made) == FILES | CODE
    assert made.require("test-folder", "A tool").code_allowed


def test_a_model_that_cannot_do_without_its_code_is_not_installed_without_a_yes(tmp_path: Path):
    wanted = foldered(code=True)
    wanted = replace(wanted, files=(*wanted.files, CardFile("modeling_net.py", code=True)))
    made = store(tmp_path, wanted)
    source = write_files(tmp_path / "test-folder", FILES | CODE)
    with pytest.raises(SightlineError, match=r"modeling_net\.py") as caught:
        install(made, source)
    assert "--allow-code" in caught.value.remedy
    assert contents(made.folder) == {}
    assert install(made, source, code=True) == "installed"


# Packs


@pytest.mark.parametrize("ending", [".zip", ".tar", ".tar.gz", ".tgz"])
def test_a_pack_carries_models_to_another_machine(tmp_path: Path, ending: str):
    (tmp_path / "here").mkdir()
    (tmp_path / "there").mkdir()
    here = store(tmp_path / "here", foldered(code=True, terms=TERMS), single())
    source = write_files(tmp_path / "test-folder", FILES | CODE)
    install(here, source, terms=True, code=True)
    (here.folder / "test-net.pt").write_bytes(CONTENT)
    out = tmp_path / f"pack{ending}"
    here.pack(["test-folder", "test-net"], out)
    there = store(tmp_path / "there", foldered(code=True, terms=TERMS), single())
    plan = there.plan_install(out)
    assert [model.card.name for model in plan.models] == ["test-folder", "test-net"]
    assert plan.terms == (("A folder", TERMS),), "each user accepts terms for themselves"
    assert plan.code == (("A folder", ("modeling_net.py",)),)
    there.install(plan, Consent(terms=True, code=True))
    assert [status.state for status in there.verify()] == ["intact", "intact"]
    for name in (*FILES, *CODE):
        assert (there.folder / "test-folder" / name).read_bytes() == (FILES | CODE)[name]
    assert there.require("test-folder", "A tool").sha256 == (
        here.require("test-folder", "A tool").sha256
    )


def test_an_unpacked_pack_and_one_that_was_zipped_as_a_folder_are_packs_too(tmp_path: Path):
    files = PACK | {MANIFEST: manifest(FILES)}
    folder = write_files(tmp_path / "pack", files)
    inside = zipped(tmp_path / "p.zip", {f"pack/{name}": data for name, data in files.items()})
    for path in (folder, inside):
        made = store(tmp_path, foldered())
        install(made, path)
        assert installed(made) == FILES
        assert made.overview()[0].revision == REVISION
        made.remove("test-folder")


def test_a_pack_is_not_written_of_what_was_changed_since_its_install(tmp_path: Path):
    made = store(tmp_path, foldered())
    install(made, write_files(tmp_path / "test-folder", FILES))
    (made.folder / "test-folder" / "config.json").write_bytes(b'{"model_type": "NET"}')
    with pytest.raises(SightlineError, match=r"config\.json was changed"):
        made.pack(["test-folder"], tmp_path / "pack.zip")
    assert not list(tmp_path.glob("pack.zip*"))


def test_a_pack_is_written_to_a_new_file_of_a_known_kind_only(tmp_path: Path):
    made = store(tmp_path, foldered())
    with pytest.raises(UsageError, match="not installed"):
        made.pack(["test-folder"], tmp_path / "pack.zip")
    with pytest.raises(UsageError, match=r"\.zip, \.tar"):
        made.pack(["test-folder"], tmp_path / "pack.rar")
    (tmp_path / "there.zip").write_bytes(b"")
    with pytest.raises(UsageError, match="exists already"):
        made.pack(["test-folder"], tmp_path / "there.zip")


def test_an_installation_that_fails_leaves_what_was_there(tmp_path: Path):
    made = store(tmp_path, foldered())
    install(made, write_files(tmp_path / "test-folder", FILES))
    before = contents(made.folder)
    damaged = PACK | {"test-folder/config.json": b'{"model_type": "NET"}'}
    source = zipped(tmp_path / "pack.zip", {MANIFEST: manifest(FILES)} | damaged)
    with pytest.raises(SightlineError, match=r"config\.json is damaged"):
        install(made, source)
    cancel = CancelToken()
    whole = zipped(tmp_path / "whole.zip", {MANIFEST: manifest(FILES)} | PACK)
    with pytest.raises(Cancelled):
        made.install(made.plan_install(whole), progress=lambda *_: cancel.cancel(), cancel=cancel)
    assert contents(made.folder) == before


def test_a_swap_that_fails_half_way_is_undone_for_all_models(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    known = (single(), foldered())
    (tmp_path / "other").mkdir()
    other = store(tmp_path / "other", *known)
    install(other, write_files(tmp_path / "test-folder", FILES | {"config.json": b"{}"}))
    (other.folder / "test-net.pt").write_bytes(CONTENT)
    pack = tmp_path / "pack.zip"
    other.pack(["test-net", "test-folder"], pack)
    made = store(tmp_path, *known)
    install(made, tmp_path / "test-folder")
    (made.folder / "test-net.pt").write_bytes(b"own")
    before = contents(made.folder)
    real = Path.replace
    for failing in ("test-folder", "test-net.pt", "installed.toml"):

        def fails(self: Path, target: Any, failing: str = failing) -> Path:
            if ".incoming-" in str(self) and self.name == failing:
                raise OSError(13, "Permission denied")
            return real(self, target)

        monkeypatch.setattr(Path, "replace", fails)
        with pytest.raises(SightlineError, match="Permission denied"):
            made.install(made.plan_install(pack))
        assert contents(made.folder) == before
    monkeypatch.setattr(Path, "replace", real)
    made.install(made.plan_install(pack))
    assert [status.state for status in made.verify()] == ["intact", "intact"]
    assert not list(made.folder.glob(".*"))


def test_what_an_installation_moved_aside_when_it_was_killed_comes_back(tmp_path: Path):
    made = store(tmp_path, foldered(), single())
    install(made, write_files(tmp_path / "test-folder", FILES))
    (made.folder / "test-net.pt").write_bytes(CONTENT)
    made.accept("test-net")  # its record was not moved yet
    before = contents(made.folder)
    for name, owned in (("test-folder", "test-folder"), ("test-net", "test-net.pt")):
        aside = made.folder / f".replaced-{name}"
        aside.mkdir()
        (made.folder / owned).rename(aside / owned)
    assert [status.state for status in made.overview()] == ["installed", "installed"]
    assert contents(made.folder) == before


def test_what_killed_installations_left_is_swept_up(tmp_path: Path):
    made = store(tmp_path, foldered())
    for name in (".incoming-old", ".removed-test-folder", "test-folder"):
        write_files(made.folder / name, {"part": b"x"})
    sweep(made.folder, [made.paths_of(foldered())])
    assert [path.name for path in made.folder.iterdir()] == ["test-folder"]


@pytest.mark.parametrize("change", ["install", "get", "remove"])
def test_gigabytes_that_a_killed_installation_left_do_not_stay(tmp_path: Path, change: str):
    made = store(tmp_path, foldered())
    plan = made.plan_install(write_files(tmp_path / "test-folder", FILES))
    made.install(plan)
    for left in (".incoming-0123", ".removed-test-folder", ".replaced-test-folder/test-folder"):
        write_files(made.folder / left, {"model.safetensors": b"gigabytes"})
    match change:
        case "install":
            made.install(plan)
        case "remove":
            made.remove("test-folder")
        case _:
            with pytest.raises(SightlineError, match="terms"):
                ModelStore(
                    made.folder, known={"test-folder": foldered(terms=TERMS)}, shipped=tmp_path
                ).get("test-folder")
    assert {path.name for path in made.folder.iterdir()} <= {"test-folder"}


def test_a_model_has_one_digest_however_it_came(tmp_path: Path):
    made = store(tmp_path, foldered())
    files = FILES | {"generation_config.json": b"{}", "pytorch_model.bin": b"p", ".note": b"n"}
    write_files(made.folder / "test-folder", files)
    by_hand = made.require("test-folder", "A tool").sha256
    made.remove("test-folder")
    install(made, write_files(tmp_path / "test-folder", files))
    assert made.require("test-folder", "A tool").sha256 == by_hand


def test_a_disk_that_is_too_full_is_told_before_anything_is_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    made = store(tmp_path, foldered())
    source = write_files(tmp_path / "test-folder", FILES)
    full = type("usage", (), {"free": 10})
    monkeypatch.setattr("shutil.disk_usage", lambda _path: full)
    with pytest.raises(SightlineError, match="not enough space") as caught:
        install(made, source)
    assert "SIGHTLINE_MODELS" in caught.value.remedy
    assert contents(made.folder) == {}


# Hostile and damaged archives


def _link(kind: bytes) -> Callable[[Path], Path]:
    def make(path: Path) -> Path:
        with tarfile.open(path, "w") as archive:
            info = tarfile.TarInfo("test-folder/config.json")
            info.type, info.linkname = kind, "/etc/passwd"
            archive.addfile(info)
        return path

    return make


def _zip_link(path: Path) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        info = zipfile.ZipInfo("test-folder/config.json")
        info.external_attr = 0o120777 << 16
        archive.writestr(info, "/etc/passwd")
    return path


def _twice(path: Path) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("test-folder/config.json", b"{}")
        with pytest.warns(UserWarning, match="Duplicate"):
            archive.writestr("test-folder/config.json", b"[]")
    return path


def _tar_twice(path: Path) -> Path:
    with tarfile.open(path, "w") as archive:
        for data in (b"{}", b"[]"):
            info = tarfile.TarInfo("test-folder/config.json")
            info.size = 2
            archive.addfile(info, io.BytesIO(data))
    return path


def _sparse(path: Path) -> Path:
    """A file of a terabyte that takes no room in the archive."""
    info = tarfile.TarInfo("test-folder/model.safetensors")
    info.pax_headers = {
        "GNU.sparse.major": "0",
        "GNU.sparse.map": "0,0",
        "GNU.sparse.size": str(1 << 40),
    }
    with tarfile.open(path, "w", format=tarfile.PAX_FORMAT) as archive:
        archive.addfile(info)
    return path


def _long_header(kind: bytes) -> Callable[[Path], Path]:
    """A header that says that the name of a file takes a gigabyte."""

    def make(path: Path) -> Path:
        info = tarfile.TarInfo("x")
        info.type, info.size = kind, 1 << 30
        with gzip.open(path, "wb") as archive:
            archive.write(info.tobuf(tarfile.USTAR_FORMAT))
        return path

    return make


def _named(*names: str) -> Callable[[Path], Path]:
    files = dict.fromkeys(names, b"x")
    return lambda path: (zipped if path.suffix == ".zip" else tarred)(path, files)


@pytest.mark.parametrize(
    ("name", "make", "why"),
    [
        ("a.zip", _named("../../etc/x"), "unusable name"),
        ("a.tar", _named("../../etc/x"), "unusable name"),
        ("a.tar", _named("/etc/x"), "unusable name"),
        ("a.zip", _named("test-folder/../../x"), "unusable name"),
        ("a.zip", _named("C:/x"), "unusable name"),
        ("a.zip", _named("test-folder\\..\\x"), "unusable name"),
        ("a.zip", _named("test-folder/con.json"), "unusable name"),
        ("a.zip", _named("test-folder/x."), "unusable name"),
        ("a.tar", _named("test-folder/a\x1b[2J"), "unusable name"),
        ("a.zip", _named("test-folder/" + "x" * 300), "unusable name"),
        ("a.zip", _named("test-folder/Config.json", "test-folder/config.json"), "one on some"),
        ("a.zip", _named("test-folder/é", "test-folder/e\u0301"), "one on some"),
        ("a.tar", _named("test-folder/a", "test-folder/a/b"), "a file and a folder"),
        ("a.zip", _twice, "one file twice"),
        ("a.tar", _tar_twice, "one file twice"),
        ("a.zip", _zip_link, "link or device"),
        ("a.tar", _link(tarfile.SYMTYPE), "link or device"),
        ("a.tar", _link(tarfile.LNKTYPE), "link or device"),
        ("a.tar", _link(tarfile.CHRTYPE), "link or device"),
        ("a.tar", _link(tarfile.FIFOTYPE), "link or device"),
        ("a.tar", _sparse, "link or device"),
        ("a.tar.gz", _long_header(tarfile.GNUTYPE_LONGNAME), "headers are too long"),
        ("a.tar.gz", _long_header(tarfile.XHDTYPE), "headers are too long"),
    ],
)
def test_a_hostile_archive_is_refused_as_a_whole(
    tmp_path: Path, name: str, make: Callable[[Path], Path], why: str
):
    made = store(tmp_path, foldered())
    with pytest.raises(UnsafeFileError, match=why):
        made.plan_install(make(tmp_path / name), "test-folder")
    assert contents(made.folder) == {}


def test_an_archive_that_grows_beyond_measure_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("app.tools.models.sources._SLACK", 1 << 12)
    made = store(tmp_path, foldered())
    zeros = {"test-folder/model.safetensors": bytes(1 << 22)}
    bomb = zipped(tmp_path / "a.zip", zeros, zipfile.ZIP_DEFLATED)
    packed = tarred(tmp_path / "a.tar.gz", zeros, "w:gz")
    for path in (bomb, packed):
        with pytest.raises(UnsafeFileError, match="far too large when unpacked"):
            made.plan_install(path, "test-folder")


def test_a_size_that_the_zip_lies_about_is_found_while_it_is_read(tmp_path: Path):
    made = store(tmp_path, foldered())
    path = zipped(tmp_path / "a.zip", {f"test-folder/{n}": data for n, data in FILES.items()})
    blob = path.read_bytes()
    short, real = (1000).to_bytes(4, "little"), len(CONTENT).to_bytes(4, "little")
    assert blob.count(real * 2) == 2
    path.write_bytes(blob.replace(real * 2, short * 2))
    with pytest.raises(SightlineError):
        install(made, path)
    assert contents(made.folder) == {}


TWICE = manifest(FILES) + manifest(CODE).partition(b"\n\n")[2]
WHOLE = {MANIFEST: manifest(FILES)} | PACK


def listed(more: dict[str, bytes]) -> dict[str, bytes]:
    """A pack with more files, which its manifest lists."""
    inside = {f"test-folder/{name}": data for name, data in more.items()}
    return {MANIFEST: manifest(FILES | more)} | PACK | inside


@pytest.mark.parametrize(
    ("files", "why"),
    [
        (WHOLE | {"test-folder/more.json": b"{}"}, "does not list"),
        (WHOLE | {"run.sh": b""}, "does not list"),
        (
            {MANIFEST: manifest(FILES | CODE)} | PACK | {"test-folder/modeling_net.py": b"x"},
            "has not",
        ),
        (
            {MANIFEST: manifest(FILES | {"x.pkl": b"p"})} | PACK | {"test-folder/x.pkl": b"p"},
            "has not",
        ),
        ({MANIFEST: manifest(FILES)} | {"test-folder/config.json": b"{}"}, "incomplete"),
        ({MANIFEST: manifest({"../x": b"x"})} | PACK, "unusable name"),
        ({MANIFEST: manifest(FILES, "unknown")} | PACK, "does not know: unknown"),
        ({MANIFEST: TWICE} | PACK, "a model twice"),
        ({MANIFEST: manifest(FILES, format=2)} | PACK, "format 2"),
        ({MANIFEST: b"format = 1\nmodels = 3"} | PACK, "not the manifest"),
        ({MANIFEST: b"\xff\xfe"} | PACK, "not the manifest"),
        ({MANIFEST: b"#" * (1 << 22) + b"##"} | PACK, "too long"),
    ],
)
def test_a_pack_that_is_not_what_its_manifest_says_is_refused(
    tmp_path: Path, files: dict[str, bytes], why: str
):
    made = store(tmp_path, foldered())
    with pytest.raises(SightlineError, match=why):
        install(made, zipped(tmp_path / "pack.zip", files))
    assert contents(made.folder) == {}


@pytest.mark.parametrize("name", ["a.zip", "a.tar", "a.tar.gz"])
def test_a_damaged_archive_is_said_to_be_one(tmp_path: Path, name: str):
    made = store(tmp_path, foldered())
    path = tmp_path / name
    path.write_bytes(b"no archive" * 200)
    with pytest.raises(SightlineError, match="damaged or not an archive"):
        made.plan_install(path, "test-folder")
    files = {f"test-folder/{n}": data for n, data in FILES.items()}
    whole = (
        zipped(path, files)
        if name == "a.zip"
        else tarred(path, files, "w:gz" if "gz" in name else "w")
    )
    whole.write_bytes(whole.read_bytes()[:2000])
    with pytest.raises(SightlineError):
        install(made, whole, "test-folder")
    assert contents(made.folder) == {}


def test_a_pack_says_under_which_licence_each_model_stands(tmp_path: Path):
    made = store(tmp_path, replace(foldered(), licence="For research only"))
    install(made, write_files(tmp_path / "test-folder", FILES))
    made.pack(["test-folder"], tmp_path / "pack.zip")
    with zipfile.ZipFile(tmp_path / "pack.zip") as archive:
        assert b'licence = "For research only"' in archive.read(MANIFEST)
