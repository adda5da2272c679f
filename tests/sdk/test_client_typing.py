"""What a type checker knows about a user's code: input and result of a workflow, and options."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
USER = Path(__file__).parent / "typing" / "orders.py"
_FOUND = re.compile(r"orders\.py:(\d+): error: .*\[([\w-]+)\]$", re.MULTILINE)


def test_mypy_finds_what_is_wrong_in_a_users_file_and_nothing_else(tmp_path: Path) -> None:
    options = ["--strict", "--config-file", "", "--follow-imports=silent", "--cache-dir"]
    checked = subprocess.run(
        [sys.executable, "-m", "mypy", *options, str(tmp_path), str(USER)],
        cwd=tmp_path,
        env={"MYPYPATH": str(ROOT / "sdk" / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    wanted = {
        (number, code)
        for number, line in enumerate(USER.read_text().splitlines(), start=1)
        for code in re.findall(r"# error: ([\w-]+)$", line)
    }

    assert {(int(number), code) for number, code in _FOUND.findall(checked.stdout)} == wanted, (
        checked.stdout + checked.stderr
    )
