"""torch runs without NVIDIA's libraries where no driver is, and gets them back when one comes."""

from __future__ import annotations

import ctypes
import importlib.util
import json
import os
import platform
import re
import shutil
import stat
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from app import paths
from app.errors import FileProblem, UsageError
from app.headless import cuda_command
from app.tools.hosting import cuda_pack
from installer import cpu_torch, environment
from installer import cuda_pack as cuda_maker
from installer.console import Console
from tests.unit.installer.tiny import REPO, TinyCopy, write_pip_wheel, write_wheel

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() != "x86_64",
    reason="elsewhere torch's build brings no CUDA libraries, or needs them",
)

NAME = "libcublas.so.13"
FUNCTIONS = {f"cublasNumber{n}": NAME for n in range(300)} | {
    "cublasGetStatusString": NAME,
    "cublasLater": "CUBLAS_2",
    "cublasPlain": "",
}

# Like torch: one library whose functions have versions, one without, in folders below `nvidia`.
USER = """
int cublasCreate(void); int cublasLtMatmul(void); int ncclSend(void); int __cudaRegister(void);
int answer(void) {
    int register_ = __cudaRegister() % 100;
    return cublasCreate() * 1000 + cublasLtMatmul() * 100 + ncclSend() * 10 + register_;
}
"""
REAL = {
    "cu13/lib/libcublas.so.13": "int cublasCreate(void) { return 7; }",
    "cu13/lib/libcublasLt.so.13": "int cublasLtMatmul(void) { return 8; }",
    "cu13/lib/libcudart.so.13": "int __cudaRegister(void) { return 0; }",
    "nccl/lib/libnccl.so.2": "int ncclSend(void) { return 9; }",
}


@pytest.fixture(scope="session")
def gcc() -> Callable[..., None]:
    """Compile C into a shared library, with the arguments given."""
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not installed")

    def compile_c(code: str, target: Path, *arguments: str) -> None:
        target.parent.mkdir(parents=True, exist_ok=True)
        command = ["gcc", "-shared", "-fPIC", "-x", "c", "-", "-o", str(target)]
        command += ["-x", "none", *arguments]
        subprocess.run(command, input=code, check=True, text=True)

    return compile_c


@pytest.fixture(scope="session")
def packages(tmp_path_factory: pytest.TempPathFactory, gcc: Callable[..., None]) -> Path:
    """A folder with a torch of one library, and with the libraries that it is linked to."""
    folder = tmp_path_factory.mktemp("site-packages")
    for place, code in REAL.items():
        path = folder / "nvidia" / place
        script = folder / "versions"
        script.write_text(f"{path.name} {{ global: *; }};")
        version = [] if "nccl" in place else [f"-Wl,--version-script={script}"]
        gcc(code, path, f"-Wl,-soname,{path.name}", *version)
        script.unlink()
    path = folder / "torch" / "lib" / "libtorch_cuda.so"
    rooms = ":".join(f"$ORIGIN/../../nvidia/{room}/lib" for room in ("nccl", "cu13"))
    # Bound at once, as Python does it: a function that is missing is noticed on loading.
    flags = ["-Wl,--disable-new-dtags", "-Wl,--no-as-needed", "-Wl,-z,now", f"-Wl,-rpath,{rooms}"]
    gcc(USER, path, *map(str, (folder / "nvidia").glob("*/lib/*")), *flags)
    return folder


def answer_of(packages: Path) -> str:
    """What the library answers in a process of its own, or the loader's error."""
    code = "import ctypes, sys; print(ctypes.CDLL(sys.argv[1]).answer())"
    command = [sys.executable, "-c", code, str(packages / "torch" / "lib" / "libtorch_cuda.so")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip() or done.stderr.strip().splitlines()[-1]


@pytest.fixture
def library(tmp_path: Path) -> ctypes.CDLL:
    path = tmp_path / NAME
    path.write_bytes(cpu_torch.shared_library(NAME, FUNCTIONS))
    return ctypes.CDLL(str(path))


def test_every_function_of_a_stand_in_returns_an_error(library: ctypes.CDLL) -> None:
    assert {getattr(library, name)() for name in FUNCTIONS if "String" not in name} == {1}


def test_asked_for_its_error_a_stand_in_tells_what_it_is(library: ctypes.CDLL) -> None:
    text = library.cublasGetStatusString
    text.restype = ctypes.c_char_p
    assert (
        text()
        == b"Sightline stand-in for libcublas.so.13: NVIDIA's CUDA libraries are not installed"
    )


def test_functions_are_found_by_their_version_and_by_no_other(library: ctypes.CDLL) -> None:
    find = ctypes.CDLL(None).dlvsym
    find.restype = ctypes.c_void_p
    find.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p]
    found = {
        (name, version): find(library._handle, name.encode(), version.encode()) is not None
        for name in ("cublasNumber1", "cublasLater")
        for version in (NAME, "CUBLAS_2", "libcublas.so.12")
    }
    assert [pair for pair, there in found.items() if there] == [
        ("cublasNumber1", NAME),
        ("cublasLater", "CUBLAS_2"),
    ]


@pytest.mark.skipif(shutil.which("readelf") is None, reason="readelf is not installed")
def test_binutils_reads_the_same_and_finds_nothing_wrong(tmp_path: Path) -> None:
    path = tmp_path / NAME
    path.write_bytes(cpu_torch.shared_library(NAME, FUNCTIONS))
    done = subprocess.run(["readelf", "-aW", path], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert f"Library soname: [{NAME}]" in done.stdout
    assert re.search(r"GNU_STACK.* RW +0x10", done.stdout), "the stack cannot be executed"
    assert not re.search(r"LOAD.* RWE", done.stdout)
    names = re.findall(r"FUNC +GLOBAL DEFAULT +1 (\S+)", done.stdout)
    assert set(names) == {f"{n}@@{v}" if v else n for n, v in FUNCTIONS.items()} or set(names) == {
        f"{n}@{v}" if v else n for n, v in FUNCTIONS.items()
    }


def test_a_library_loads_with_stand_ins_and_without_the_real_ones(
    packages: Path, tmp_path: Path
) -> None:
    shutil.copytree(packages, tmp_path, dirs_exist_ok=True)
    assert answer_of(tmp_path) == "7890"
    shutil.rmtree(tmp_path / "nvidia")
    assert "cannot open shared object file" in answer_of(tmp_path)
    written = cpu_torch.stand_ins(tmp_path)
    assert {str(path.relative_to(tmp_path / "nvidia")) for path in written} == {*REAL}
    assert answer_of(tmp_path) == "1110"
    shutil.copy(packages / "nvidia/nccl/lib/libnccl.so.2", tmp_path / "nvidia/nccl/lib")
    cpu_torch.remove_stand_ins(tmp_path)
    left = [path.name for path in (tmp_path / "nvidia").rglob("*.so*")]
    assert left == ["libnccl.so.2"], "a real library is none of ours"


def test_the_cuda_pack_unpacked_over_a_bundle_replaces_every_stand_in(
    packages: Path, tmp_path: Path
) -> None:
    shutil.copytree(packages / "torch", tmp_path / "torch")
    written = cpu_torch.stand_ins(packages, tmp_path)
    pack, opened = cpu_torch.cuda_files(packages, packages)
    assert {path.relative_to(tmp_path) for path in written} <= set(pack)
    assert opened == [], "nothing here is opened by name"
    with pytest.raises(LookupError, match="SIGHTLINE_TORCH=cuda"):
        cpu_torch.cuda_files(packages, tmp_path)
    for file in pack:
        shutil.copy(packages / file, tmp_path / file)
    assert answer_of(tmp_path) == "7890"


@pytest.fixture
def pack(packages: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A CUDA pack of the tiny torch, "1.0+cu13"; the program is a package with that torch."""
    fetched = tmp_path / "fetched"
    shutil.copytree(packages / "nvidia", fetched / "nvidia")
    info = fetched / "nvidia_all-1.0.dist-info"
    (info / "licenses").mkdir(parents=True)
    (info / "licenses" / "License.txt").write_text("NVIDIA's terms")
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: nvidia-all\nVersion: 1.0\n")
    files = [p.relative_to(fetched) for p in fetched.rglob("*") if p.is_file()]
    (info / "RECORD").write_text("".join(f"{path},,\n" for path in files))
    monkeypatch.setattr(cuda_maker, "_torch_folder", lambda: packages / "torch")
    target = tmp_path / "pack.zip"
    cuda_maker._write(target, fetched, "1.0+cu13", 1_700_000_000)
    monkeypatch.setattr(paths, "packaged_torch", lambda: "1.0+cu13")
    monkeypatch.setenv("SIGHTLINE_CUDA", str(tmp_path / "shared"))
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared").chmod(0o755)  # whatever the umask is
    return target


def test_an_installed_cuda_pack_is_used_though_the_stand_ins_stay(
    packages: Path, pack: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bundle = tmp_path / "program" / "lib"
    shutil.copytree(packages / "torch", bundle / "torch")
    cpu_torch.stand_ins(packages, bundle)
    (bundle / "resources").mkdir()
    (bundle / "resources" / "build.json").write_text('{"torch": "1.0+cu13"}')
    code = """if True:
        import ctypes, sys
        sys._MEIPASS = sys.argv[1]
        import app.tools.model_process.cuda_libraries
        print(ctypes.CDLL(sys.argv[1] + "/torch/lib/libtorch_cuda.so").answer())
    """

    def answer() -> str:
        command = [sys.executable, "-c", code, str(bundle)]
        done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=REPO)
        return done.stdout.strip() + done.stderr.strip()

    assert answer() == "1110", "without a pack, errors and no device"
    before = os.umask(0o077)
    try:
        assert cuda_command.cuda(pack) == 0
    finally:
        os.umask(before)
    folder = tmp_path / "shared" / "1.0+cu13"
    assert str(folder) in capsys.readouterr().out
    assert stat.S_IMODE(folder.stat().st_mode) == 0o755
    assert (folder / "nvidia_all-1.0.dist-info/licenses/License.txt").stat().st_mode & 0o044
    assert answer() == "7890"
    (folder / "nvidia/nccl/lib/libnccl.so.2").write_bytes(b"")
    assert "the CUDA pack is damaged" in answer()


def test_a_cuda_pack_is_refused_for_another_torch_and_where_it_is_damaged(
    pack: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paths, "packaged_torch", lambda: "2.0+cu14")
    with pytest.raises(FileProblem, match=r"for torch 1.0\+cu13, and this Sightline has torch 2.0"):
        cuda_pack.install(pack)
    monkeypatch.setattr(paths, "packaged_torch", lambda: "")
    with pytest.raises(UsageError, match="full build"):
        cuda_pack.install(pack)
    assert cuda_command.cuda(None) == 1
    monkeypatch.setattr(paths, "packaged_torch", lambda: "1.0+cu13")
    with pytest.raises(FileProblem, match="no such file"):
        cuda_pack.install(tmp_path / "none.zip")
    whole = pack.read_bytes()
    pack.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(FileProblem, match="damaged"):
        cuda_pack.install(pack)
    pack.write_bytes(whole)
    with zipfile.ZipFile(pack, "a") as archive:
        archive.writestr("nvidia/cu13/lib/libmore.so", b"")
    with pytest.raises(FileProblem, match="damaged"):
        cuda_pack.install(pack)
    assert list((tmp_path / "shared").iterdir()) == []
    assert cuda_pack.installed() is None


@pytest.mark.parametrize(
    ("place", "of_cuda"),
    [
        ("nvidia/cudnn/lib/libcudnn_ops.so.9", True),
        ("libcublas.so.13", True),
        ("triton/language/core.py", True),
        ("torch/lib/libtorch_cuda.so", False),
        ("torchvision.libs/libnvjpeg.4a0b5c81.so.13", False),
        ("libnvjpeg.4a0b5c81.so.13", False),
        ("libcups.so.2", False),
        ("libcurl.so.4", False),
    ],
)
def test_a_bundle_is_told_what_belongs_to_the_cuda_pack(place: str, *, of_cuda: bool) -> None:
    assert cpu_torch.of_cuda(place) is of_cuda


def test_a_driver_or_the_variable_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(cpu_torch.VARIABLE, raising=False)
    monkeypatch.setattr(cpu_torch, "has_driver", lambda: False)
    assert cpu_torch.cuda_wanted() is None, "what is there stays"
    monkeypatch.setenv(cpu_torch.VARIABLE, "cuda")
    assert cpu_torch.cuda_wanted() is True
    monkeypatch.setattr(cpu_torch, "has_driver", lambda: True)
    monkeypatch.setenv(cpu_torch.VARIABLE, "cpu")
    assert cpu_torch.cuda_wanted() is False
    monkeypatch.delenv(cpu_torch.VARIABLE)
    assert cpu_torch.cuda_wanted() is True
    monkeypatch.setattr(cpu_torch, "has_driver", lambda: False)
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    assert cpu_torch.cuda_wanted() is True, "no stand-in is for that processor"


def test_a_driver_is_known_by_its_device_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cpu_torch, "DRIVER", (str(tmp_path / "nvidia0"),))
    (tmp_path / "nvidia0").touch()
    assert cpu_torch.has_driver()


def test_of_the_lock_only_what_computes_on_a_gpu_is_left_out() -> None:
    entries = environment.read_locks([REPO / "installer" / "requirements" / "ai.txt"])
    left_out = set(filter(cpu_torch.PACKAGES.match, entries))
    assert {"nvidia-cublas", "nvidia-cudnn-cu13", "nvidia-nccl-cu13", "triton"} <= left_out
    assert not left_out & {"torch", "torchvision", "torchxrayvision"}
    assert all(name.startswith(("nvidia-", "cuda-", "triton")) for name in left_out)


@pytest.fixture(scope="session")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("wheels")


@pytest.fixture
def copy(wheels: Path, packages: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TinyCopy:
    """A working copy that locks a tiny torch, its real libraries and triton; without a driver."""

    def files(*places: str) -> dict[str, bytes]:
        return {place: (packages / place).read_bytes() for place in places}

    kits = {
        "torch": files("torch/lib/libtorch_cuda.so"),
        "nvidia-cublas": files(*(f"nvidia/{place}" for place in REAL if "nccl" not in place)),
        "nvidia-nccl-cu13": files("nvidia/nccl/lib/libnccl.so.2"),
        "triton": {"triton.py": b""},
    }
    made = TinyCopy(tmp_path / "copy", wheels)
    # A wheel's file name has underscores, its lock entry has none.
    locked = [
        write_wheel(wheels, name.replace("-", "_"), "1.0", kit).replace(
            name.replace("-", "_"), name, 1
        )
        for name, kit in kits.items()
    ]
    space = "# Takes 0.25 GiB of disk while it is installed, and 0.5 GiB for CUDA.\n"
    made.lock(pip=write_pip_wheel(wheels), viewer="", ai=space + "".join(locked))
    for name, value in made.environment().items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv(cpu_torch.VARIABLE, raising=False)
    monkeypatch.setattr(cpu_torch, "has_driver", lambda: False)
    return made


SETS = ["viewer", "ai"]
LEFT_OUT = {"nvidia_cublas", "nvidia_nccl_cu13", "triton"}


@pytest.mark.slow
def test_a_driver_that_comes_later_brings_the_real_libraries(
    copy: TinyCopy, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    one = environment.Environment(copy.folder, Console())
    (site,) = [copy.venv / "lib" / f"python3.{sys.version_info.minor}" / "site-packages"]
    assert one.ensure(SETS)
    assert not LEFT_OUT & {name.replace("-", "_") for name in copy.installed()}
    assert answer_of(site) == "1110"
    assert "no NVIDIA driver: leaving out NVIDIA's CUDA libraries" in capsys.readouterr().err
    assert not one.ensure(SETS), "the second start does nothing"
    monkeypatch.setattr(cpu_torch, "has_driver", lambda: True)
    assert one.ready(["viewer"])
    assert not one.ready(SETS)
    assert one.ensure(SETS)
    assert answer_of(site) == "7890"
    assert {name.replace("-", "_") for name in copy.installed()} >= LEFT_OUT
    told = capsys.readouterr().err
    assert "adding NVIDIA's CUDA libraries" in told
    assert "installing 3 of 5 locked packages" in told
    monkeypatch.setattr(cpu_torch, "has_driver", lambda: False)
    assert one.ready(SETS), "what is there stays, whatever becomes of the driver"
    copy.stamp.unlink()
    installs = copy.pip_installs()
    assert one.ensure(SETS)
    assert copy.pip_installs() == installs
    assert answer_of(site) == "7890"
    monkeypatch.setenv(cpu_torch.VARIABLE, "cpu")
    assert one.ensure(SETS)
    assert answer_of(site) == "1110"
    assert not LEFT_OUT & {name.replace("-", "_") for name in copy.installed()}
    ledger = json.loads((copy.venv / "sightline-packages.json").read_text())["packages"]
    assert set(ledger) == {"pip", "torch"}


def test_the_space_asked_for_is_that_of_what_is_missing(copy: TinyCopy) -> None:
    one = environment.Environment(copy.folder, Console())
    locks = copy.folder / "installer" / "requirements"
    wanted = environment.read_locks([locks / "ai.txt"])
    cuda = [name for name in wanted if cpu_torch.PACKAGES.match(name)]
    others = [name for name in wanted if name not in cuda]
    assert one._needed_space(SETS, wanted, wanted) == pytest.approx(0.75)
    assert one._needed_space(SETS, others, others) == pytest.approx(0.25)
    assert one._needed_space(SETS, wanted, cuda) == pytest.approx(0.5)


@pytest.mark.slow
def test_the_real_torch_computes_on_the_cpu_with_stand_ins(tmp_path: Path) -> None:
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        pytest.skip("torch is not installed")
    site = Path(spec.origin).parents[1]
    for path in site.iterdir():
        if not path.name.startswith(("nvidia", "triton", "cuda", "sightline")):
            (tmp_path / path.name).symlink_to(path)
    if not cpu_torch.stand_ins(tmp_path):
        pytest.skip("torch is not a CUDA build")
    code = """if True:
        import sys; sys.path.insert(0, sys.argv[1])
        import torch, torchvision, torchxrayvision, transformers
        assert torch.__file__.startswith(sys.argv[1])
        assert not torch.cuda.is_available()
        boxes = torch.tensor([[0, 0, 2, 2.], [0, 0, 2, 2], [4, 4, 6, 6]])
        assert torchvision.ops.nms(boxes, torch.tensor([.5, .9, .1]), .5).tolist() == [1, 2]
        a = torch.tensor([[2., 0], [0, 4]])
        assert torch.linalg.solve(a, torch.tensor([2., 4])).tolist() == [1, 1]
        assert torch.fft.fft(torch.ones(4)).real.tolist() == [4, 0, 0, 0]
        image = torch.ones(1, 1, 5, 5)
        assert torch.nn.functional.conv2d(image, torch.ones(1, 1, 3, 3)).unique().tolist() == [9]
        try: torch.ones(1).cuda()
        except RuntimeError as error: print("no GPU:", error)
    """
    command = [sys.executable, "-S", "-c", code, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("no GPU:")
    assert done.stderr == ""
