"""kith-static is one file: it runs in an empty folder as the root of the file system, on the calls of Linux 4.18 alone,
and writes what kith writes: python3 tests/project/static_test.py STATIC KITH SAMPLES [EMULATOR]. EMULATOR, one file too,
runs a STATIC for another machine."""
import ctypes
import errno
import os
import platform
import shutil
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

static, kith, samples, *emulators = (Path(word).resolve() for word in sys.argv[1:])
in_root = ("/emulator", "/kith") if emulators else ("/kith",)
LIMIT = 20_000_000  # bytes
CLONE_NEWUSER, PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP = 0x10000000, 38, 22
# The numbers of later calls are larger; x86-64 left a gap behind them before all machines got the same ones.
LAST_CALL_OF_4_18 = {"x86_64": 334, "aarch64": 293}[platform.machine()]
libc = ctypes.CDLL(None, use_errno=True)


def only_old_calls():
    """Later calls fail as they do on Linux 4.18 (a filter of seccomp; the field at 0 is the number of the call)."""
    load, at_most, fail, allow = 0x20, 0x25, 0x00050000 | errno.ENOSYS, 0x7FFF0000
    code = b"".join(struct.pack("HBBI", *step) for step in (
        (load, 0, 0, 0), (at_most, 0, 1, LAST_CALL_OF_4_18), (0x06, 0, 0, fail), (0x06, 0, 0, allow)))
    buffer = ctypes.create_string_buffer(code)
    program = struct.pack("HxxxxxxP", len(code) // 8, ctypes.addressof(buffer))
    for words in ((PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), (PR_SET_SECCOMP, 2, program, 0, 0)):
        if libc.prctl(*words) != 0:
            raise OSError(ctypes.get_errno(), "prctl")


def enter(root):
    if os.geteuid() != 0 and libc.unshare(CLONE_NEWUSER) != 0:
        raise OSError(ctypes.get_errno(), "unshare")
    os.chroot(root)
    os.chdir("/")
    only_old_calls()


def segments(data):
    at, size, count = struct.unpack_from("<Q", data, 32) + struct.unpack_from("<HH", data, 54)
    return {struct.unpack_from("<I", data, at + i * size)[0] for i in range(count)}


data = static.read_bytes()
assert len(data) <= LIMIT, f"{static} has {len(data)} bytes, expected at most {LIMIT}"
assert 3 not in segments(data), f"{static} names an interpreter (PT_INTERP): it is linked dynamically"

with tempfile.TemporaryDirectory() as work:
    root, beside = Path(work, "root"), Path(work, "beside")
    for folder in (root, beside):
        folder.mkdir()
        for name in ("digits.h5", "iris.csv", "wine.csv"):
            if (samples / name).exists():
                shutil.copy(samples / name, folder)
    shutil.copy(static, root / "kith")
    for emulator in emulators:
        shutil.copy(emulator, root / "emulator")

    def both(*words):
        """Runs the command in the empty root and, with the other program, beside it; the same must come of it."""
        runs = [subprocess.run([*start, *words], cwd=folder, capture_output=True, preexec_fn=before, env={})
                for start, folder, before in ((in_root, None, lambda: enter(root)), ((str(kith),), beside, None))]
        for run in runs:
            assert run.returncode == 0, f"{words}: {run}"
        assert runs[0].stdout == runs[1].stdout, f"{words}: {runs[0].stdout[:400]!r} and {runs[1].stdout[:400]!r}"
        return runs[0].stdout

    def called_later(*words):
        """The filter works: the call of a later number fails."""
        return subprocess.run(words, preexec_fn=only_old_calls, capture_output=True, text=True)

    probe = "import ctypes;l=ctypes.CDLL(None,use_errno=True);print(l.syscall(439,-100,b'/',0,0),ctypes.get_errno())"
    assert called_later(sys.executable, "-c", probe).stdout == f"-1 {errno.ENOSYS}\n"
    both("cluster", "digits.h5", "-k", "10", "-o", "clusters.h5")
    both("knn", "digits.h5", "-k", "5", "-o", "neighbors.h5")
    both("knn", "digits.h5", "-k", "5", "--threads", "2", "--memory", "64MB", "-o", "lists.npy")
    both("assign", "digits.h5", "--centroids", "clusters.h5", "-o", "labels.csv")
    both("evaluate", "clusters.h5", "--truth", "digits.h5:/labels", "-q")
    both("report", "clusters.h5", "--points", "digits.h5", "--tile", "8x8", "-q", "-o", "page.html")
    both("info", "clusters.h5", "--verify")
    for name in ("clusters.h5", "neighbors.h5", "lists.npy", "labels.csv"):
        assert (root / name).read_bytes() == (beside / name).read_bytes(), f"{name} has other bytes"
    assert b"<svg" in (root / "page.html").read_bytes()
    assert both("man", "cluster").startswith(b".")
    assert b"complete" in both("completion", "bash")
    # Parquet and Arrow files need the program kith-arrow, which is not part of the file, and kith says so.
    run = subprocess.run([*in_root, "cluster", "x.parquet", "-k", "2"], preexec_fn=lambda: (
        (root / "x.parquet").write_bytes(b"PAR1" * 9), enter(root)), capture_output=True, text=True, env={})
    assert run.returncode != 0 and "kith-arrow" in run.stderr, run
print(f"{static.name}: {len(data) / 1e6:.1f} MB, runs in an empty folder on the calls of Linux 4.18")
