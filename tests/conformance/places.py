"""Where the recordings and the seeds are: beside the checkout, or nowhere."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SHARED = ROOT.parent / "shared"
GOLDEN = SHARED / "golden"
DIFFERENCES = Path(__file__).with_name("golden-differences.txt")

VERSIONS = ("v0.12.1", "engine-v0.5.15")
FILES = (
    "workflows",
    "worker-protocol",
    "commands-events",
    "errors",
    "namespaces-meta",
    "timeouts",
)
ABSENT = f"{SHARED} is not there: the recordings and seeds are kept beside the checkout"
