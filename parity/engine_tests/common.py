"""The program under test: $LEMNOS_BINARY, and bundles of all surfaces on `tiny`: $LEMNOS_BUNDLES."""

import json
import os
import subprocess
from pathlib import Path

BINARY = Path(os.environ["LEMNOS_BINARY"])
BUNDLES = Path(os.environ["LEMNOS_BUNDLES"])


def lemnos(*words):
    """(exit code, the JSON document, what it said to people)."""
    call = [BINARY, *map(str, words), "--json"]
    done = subprocess.run(call, capture_output=True, text=True, timeout=600, check=False)
    return done.returncode, json.loads(done.stdout) if done.stdout.strip() else {}, done.stderr
