"""A child process that gets SIGKILL at its n-th system call: a real kill, at which nothing is cleaned up.

Through ptrace(2), so that SQLite's calls count like ours. On x86-64 only the calls that may change a file are counted;
between two of them a kill leaves the same files. The killed call itself is not carried out.
"""

from __future__ import annotations

import ctypes
import os
import platform
import signal
from collections.abc import Callable

_TRACEME, _PEEKUSER, _SYSCALL, _SETOPTIONS = 0, 3, 24, 0x4200
_SYSGOOD, _EXITKILL = 1, 0x100000
_NUMBER, _THIRD = 15 * 8, 12 * 8
"""Where a stopped process keeps the number of its system call, and the call's third argument."""
_OPENAT, _CREATING = 257, os.O_CREAT | os.O_TRUNC
_CHANGING = {1, 18, 20, 40, 74, 75, 76, 77, 82, 83, 84, 86, 87, 88, 90, 91, 132, 235, 258, 261, 263, 264, 265, 266, 268, 280,
             285, 296, 316, 326}  # fmt: skip
"""write pwrite64 writev sendfile fsync fdatasync truncate ftruncate rename mkdir rmdir link unlink symlink chmod fchmod utime
utimes mkdirat futimesat unlinkat renameat linkat symlinkat fchmodat utimensat fallocate pwritev renameat2 copy_file_range"""

_libc = ctypes.CDLL(None, use_errno=True)
_libc.ptrace.restype = ctypes.c_long
_libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]


def killed_at(n: int, prepare: Callable[[], Callable[[], object]]) -> bool:
    """Do in a child what `prepare` returns there, until its n-th call, from 1; whether it came so far.

    Raises PermissionError where no process may be traced, RuntimeError if the child fails by itself.
    """
    child = os.fork()
    if child == 0:
        try:
            act = prepare()
            if _libc.ptrace(_TRACEME, 0, None, None):
                os._exit(77)
            os.kill(os.getpid(), signal.SIGSTOP)
            act()
            os._exit(0)
        finally:
            os._exit(1)
    status = os.waitpid(child, 0)[1]
    if not os.WIFSTOPPED(status):
        kind = PermissionError if os.waitstatus_to_exitcode(status) == 77 else RuntimeError
        raise kind("the child did not begin")
    _libc.ptrace(_SETOPTIONS, child, None, _SYSGOOD | _EXITKILL)
    status = _run_until(child, n)
    if os.WIFEXITED(status) and os.WEXITSTATUS(status):
        raise RuntimeError("the child failed by itself")
    return os.WIFSIGNALED(status)


def _run_until(child: int, n: int) -> int:
    """Let a child run to its end or its n-th counted call; how it ended."""
    entering, sent = True, 0
    while True:
        _libc.ptrace(_SYSCALL, child, None, sent)
        status = os.waitpid(child, 0)[1]
        if not os.WIFSTOPPED(status):
            return status
        sent = 0
        if os.WSTOPSIG(status) != signal.SIGTRAP | 0x80:
            sent = os.WSTOPSIG(status)
            continue
        if entering and _counts(child):
            n -= 1
            if n == 0:
                os.kill(child, signal.SIGKILL)
                return os.waitpid(child, 0)[1]
        entering = not entering


def _counts(child: int) -> bool:
    if platform.machine() != "x86_64":
        return True
    number = _libc.ptrace(_PEEKUSER, child, _NUMBER, None)
    if number == _OPENAT:
        return bool(_libc.ptrace(_PEEKUSER, child, _THIRD, None) & _CREATING)
    return number in _CHANGING
