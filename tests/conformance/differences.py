"""Reads golden-differences.txt: what we answer otherwise than the original, and who wants it.

A line is `recording | entry | reason`. The recording is `version/file`, or `both/file`; a reason
quotes the sentence that wants it so (CONTRACT: "…"), or names the issue it is due with.
"""

import re
from dataclasses import dataclass

from tests.conformance.places import DIFFERENCES, VERSIONS

QUOTED = re.compile(r'(CONTRACT|DESIGN|PROTOCOL|ISSUE): "(.+)"')
DUE = re.compile(r'due with "(.+)"')


@dataclass(frozen=True, slots=True)
class Difference:
    recordings: tuple[str, ...]
    entry: str
    reason: str


def read() -> list[Difference]:
    lines = DIFFERENCES.read_text("utf-8").splitlines()
    return [_difference(line) for line in lines if line.strip() and not line.startswith("#")]


def _difference(line: str) -> Difference:
    recording, entry, reason = (part.strip() for part in line.split(" | "))
    version, file = recording.split("/")
    versions = VERSIONS if version == "both" else (version,)
    recordings = tuple(f"{one}/{file}" for one in versions)
    return Difference(recordings, entry, reason)


def listed(version: str, file: str) -> set[str]:
    """The entries that differ."""
    recording = f"{version}/{file}"
    return {one.entry for one in read() if recording in one.recordings}
