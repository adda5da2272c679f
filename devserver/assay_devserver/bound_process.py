"""Runs a program that must not outlive its parent: `python bound_process.py PARENT PROGRAM ARG…`.

A script of its own, run before the program replaces it: what happens between fork and exec of a
process with threads has to be as good as nothing.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main(parent: int, program: list[str]) -> None:
    if sys.platform == "linux":
        # The kernel's promise, which kill -9 of the parent cannot break. It survives exec.
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        sys.exit(1)  # the parent died before the promise was given
    os.execv(program[0], program)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
