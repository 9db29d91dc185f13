"""What generated code may try; its text is run in the sandbox, and as it is in a plain process.

Each function returns something if it got what it was after, and raises or returns None if not. Put
before it are the names in capitals: `OUTSIDE`, a file of the user; `INPUT`, a file that the code
may read; `LINK`, a link to `OUTSIDE` in its own folder; `SECRET`, in OUTSIDE and a variable; and
addresses.
"""
# pyright: basic, reportUndefinedVariable=false, reportAttributeAccessIssue=false

import ctypes
import mmap
import os
import resource
import socket
import subprocess
import sys
import threading
import time

LIBC = ctypes.CDLL(None, use_errno=True)


def call(number, *arguments):
    """Returns 1 if a system call of x86-64 worked."""
    return 1 if LIBC.syscall(number, *arguments) >= 0 else None


def text_of(path):
    with open(path, "rb") as file:
        return file.read().decode()


def read_outside():
    return text_of(OUTSIDE)


def read_passwd():
    return text_of("/etc/passwd")


def read_as_root():
    return text_of("/etc/shadow")


def list_home():
    return [one for one in os.listdir(os.path.dirname(OUTSIDE)) if one == "outside"]


def read_variables():
    return [value for value in os.environ.values() if SECRET in value]


def read_own_variables_in_proc():
    return SECRET in text_of("/proc/self/environ") or None


def read_parent_memory():
    return os.open(f"/proc/{os.getppid()}/mem", os.O_RDONLY)


def list_processes():
    return [name for name in os.listdir("/proc") if name.isdigit() and int(name) != os.getpid()]


def write_outside():
    with open(OUTSIDE + ".new", "w") as file:
        return file.write("x")


def append_outside():
    with open(OUTSIDE, "a") as file:
        return file.write("x")


def write_input():
    with open(INPUT, "a") as file:
        return file.write("x")


def empty_input_by_reading():
    os.close(os.open(INPUT, os.O_RDONLY | os.O_TRUNC))
    return os.path.getsize(INPUT) == 0 or None


def truncate_input():
    os.truncate(INPUT, 1)
    return 1


def change_rights():
    os.chmod(INPUT, 0o777)
    return 1


def change_times():
    os.utime(OUTSIDE, (1, 1))
    return 1


def write_shared_memory():
    with open("/dev/shm/sightline-test", "w") as file:
        file.write("x")
    os.unlink("/dev/shm/sightline-test")
    return 1


def follow_planted_link():
    return text_of(LINK)


def make_link():
    os.symlink(OUTSIDE, "new-link")
    return text_of("new-link")


def make_hard_link():
    os.link(INPUT, "hard-link")
    return 1


def rename_file():
    with open("renamed", "w"):
        pass
    os.rename("renamed", "renamed-2")
    return 1


def unlink_file():
    with open("unlinked", "w"):
        os.unlink("unlinked")
    return 1


def nameless_file():
    return os.open(".", os.O_TMPFILE | os.O_RDWR)


def memory_file():
    return os.memfd_create("x")


def numpy_reads():
    import numpy as np

    return np.fromfile(OUTSIDE, np.uint8).size


def numpy_maps():
    import numpy as np

    return int(np.memmap(OUTSIDE, np.uint8, "r")[0])


def numpy_loads_text():
    import numpy as np

    return len(np.loadtxt(OUTSIDE, dtype=str, ndmin=1))


def numpy_writes():
    import numpy as np

    np.arange(3).tofile(OUTSIDE + ".numpy")
    return 1


def pandas_reads():
    import pandas as pd

    return len(pd.read_csv(OUTSIDE, header=None))


def c_library_reads():
    return 1 if LIBC.open(OUTSIDE.encode(), 0) >= 0 else None


def sqlite_attaches():
    import sqlite3

    connection = sqlite3.connect(":memory:")
    connection.execute("attach ? as other", (OUTSIDE + ".sqlite",))
    connection.execute("create table other.t (x)")
    return 1


def tcp():
    with socket.create_connection(TCP, 2) as one:
        return one.send(b"x")


def tcp_listens():
    with socket.create_server(("127.0.0.1", 0)):
        return 1


def udp():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        return one.sendto(b"x", tuple(UDP))


def unix_socket():
    with socket.socket(socket.AF_UNIX) as one:
        one.connect(UNIX)
        return one.send(b"x")


def abstract_unix_socket():
    with socket.socket(socket.AF_UNIX) as one:
        one.connect(ABSTRACT)
        return one.send(b"x")


def netlink():
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW):
        return 1


def fork():
    pid = os.fork()
    if not pid:
        os._exit(0)
    os.waitpid(pid, 0)
    return pid


def fork_by_number():
    pid = LIBC.syscall(57)
    if not pid:
        os._exit(0)
    return pid if pid > 0 else None


def clone_by_number():
    pid = LIBC.syscall(56, 17, 0, 0, 0, 0)
    if not pid:
        os._exit(0)
    return pid if pid > 0 else None


def start_program():
    return subprocess.run([sys.executable, "-c", "0"]).returncode == 0 or None


def spawn_program():
    return os.posix_spawn("/bin/true", ["true"], {})


def replace_itself():
    # Only its refusal can be seen from here.
    os.execv("/bin/false/none", ["x"])


def thread():
    done = []
    one = threading.Thread(target=lambda: done.append(1))
    one.start()
    one.join()
    return done


def trace_parent():
    return 1 if LIBC.ptrace(0x4206, os.getppid(), None, None) == 0 else None  # PTRACE_SEIZE


def read_parent_by_call():
    data = ctypes.create_string_buffer(8)
    vector = (ctypes.c_uint64 * 2)(ctypes.addressof(data), 8)
    return 1 if LIBC.syscall(310, os.getppid(), vector, 1, vector, 1, 0) != -1 else None


def pidfd_of_parent():
    return os.pidfd_open(os.getppid())


def signal_parent():
    os.kill(os.getppid(), 0)
    return 1


def signals_by_owner():
    import fcntl

    fcntl.fcntl(1, 8, os.getppid())  # F_SETOWN
    return 1


def raise_limits():
    resource.setrlimit(resource.RLIMIT_AS, (-1, -1))
    return 1


def raise_limits_of_parent():
    return resource.prlimit(os.getppid(), resource.RLIMIT_CORE, (0, 0)) and 1


def three_gigabytes():
    return len(mmap.mmap(-1, 3 * 2**30))


def three_gigabytes_by_numpy():
    import numpy as np

    return np.empty(3 * 2**30, np.uint8).size


def ten_gigabytes_on_disk():
    with open("large", "wb") as file:
        file.seek(10 * 2**30)
        return file.write(b"x")  # a hole: no plain process fills the disk by it


def many_open_files():
    return len([os.open(INPUT, os.O_RDONLY) for _ in range(200)])


def new_user_namespace():
    return call(272, 0x10000000)


def mount_something():
    return call(165, b"none", b"/mnt", b"tmpfs", 0, None)


def change_root():
    return call(161, b"/")


def io_uring():
    return call(425, 8, ctypes.create_string_buffer(120))


def bpf():
    return call(321, 0, ctypes.create_string_buffer(72), 72)


def user_fault():
    return call(323, 1)


def performance_events():
    return call(298, ctypes.create_string_buffer(112), 0, -1, -1, 0)


def keys():
    return call(250, 0, -3, 1)


def calls_of_32_bits():
    return call(0x40000000 + 39)


def open_by_structure():
    return call(437, -100, OUTSIDE.encode(), (ctypes.c_uint64 * 3)(), 24)


def terminal_input():
    import fcntl

    fcntl.ioctl(1, 0x5412, b"x")  # TIOCSTI
    return 1


def outcome(action):
    try:
        got = action()
    except BaseException as error:
        return f"refused: {type(error).__name__}: {error}"
    return "refused: nothing" if got is None or got == [] or got is False else f"done: {got!r}"[:80]


def analyze():
    started = time.monotonic()
    found = {one.__name__: outcome(one) for one in NAMES}
    return {"attacks": found, "seconds": time.monotonic() - started}


NAMES = [
    one
    for name, one in list(globals().items())
    if getattr(one, "__code__", None)
    and name not in ("call", "text_of", "outcome", "analyze")
    and not one.__code__.co_argcount
]
