"""Import guard: the oracle is the pinned packages, unchanged, and nothing else.

Versions come from requirements.txt. Every imported source file of transformers and peft must lie in
this interpreter's own site-packages and have the SHA-256 its wheel's RECORD states; the RECORDs
themselves are pinned in pins.json. `fingerprint` is taken at entry and exit of a run.

LEMNOS_ORACLE_FOREIGN=1 accepts other versions (a GPU machine with its own torch): they are named in
every reference, location and RECORD checks stay.
"""

import base64
import hashlib
import json
import os
import sys
from functools import lru_cache
from importlib import metadata
from pathlib import Path

HERE = Path(__file__).parent
GUARDED = ("torch", "transformers", "peft", "tokenizers", "safetensors", "numpy")
HASHED = ("transformers", "peft", "tokenizers", "safetensors")
ADDED_BY_INSTALLER = (".pyc", "/INSTALLER", "/REQUESTED", "/RECORD", "direct_url.json")
STANDALONE = (  # decide no bundle
    "check.py", "current.py", "document.py", "gguf_to_hf.py", "margins.py", "peer_train.py",
    "qualify.py", "records.py",
)
NAMED = ("torch", "transformers", "peft", "tokenizers", "safetensors")


class GuardError(RuntimeError):
    pass


def pinned_versions():
    text = (HERE / "requirements.txt").read_text()
    lines = (line.split("#")[0].strip() for line in text.splitlines())
    return dict(line.split("==") for line in lines if line)


def versions():
    return {name: metadata.version(name) for name in NAMED}


def check():
    """All checks; raises GuardError with what is wrong and what to do."""
    if not _foreign():
        _check_versions()
        _check_records()
    _check_locations()
    _check_sources()


def fingerprint():
    """SHA-256 over the imported transformers and peft sources and our own that decide a bundle."""
    digest = hashlib.sha256()
    for package in ("transformers", "peft"):
        for path, content in sorted(_imported_hashes(package).items()):
            digest.update(f"{path} {content}\n".encode())
    for path in sorted(HERE.rglob("*.py")):
        if not path.parent.name.endswith("tests") and path.name not in STANDALONE:
            digest.update(f"{path.relative_to(HERE)} {_sha256(path)}\n".encode())
    digest.update(json.dumps(versions(), sort_keys=True).encode())
    return digest.hexdigest()


def record_digest(package):
    """Digest of a wheel's RECORD without the lines that an installer adds."""
    return hashlib.sha256("".join(
        f"{path},{value}\n" for path, value in sorted(_record(package).items())
    ).encode()).hexdigest()


def wheel_tags(package):
    text = metadata.distribution(package).read_text("WHEEL") or ""
    return sorted(line[5:] for line in text.splitlines() if line.startswith("Tag: "))


def _foreign():
    return os.environ.get("LEMNOS_ORACLE_FOREIGN") == "1"


def _check_versions():
    wrong = []
    for name, wanted in pinned_versions().items():
        try:
            got = metadata.version(name)
        except metadata.PackageNotFoundError:
            got = "missing"
        if got.split("+")[0] != wanted.split("+")[0]:
            wrong.append(f"{name}: {got} instead of {wanted}")
    if wrong:
        raise GuardError(f"not the pinned oracle ({'; '.join(wrong)}): run scripts/oracle-env")


def _check_records():
    pins = json.loads((HERE / "pins.json").read_text())
    for package in HASHED:
        wanted = pins[package]["record_sha256"].get(" ".join(wheel_tags(package)))
        if wanted and wanted != record_digest(package):
            raise GuardError(f"{package}: RECORD differs from parity/pins.json; another wheel?")


def _check_locations():
    root = Path(sys.prefix).resolve()
    for name, module in list(sys.modules.items()):
        if name.split(".")[0] not in GUARDED:
            continue
        file = getattr(module, "__file__", None)
        if file and Path(file).is_absolute() and root not in Path(file).resolve().parents:
            raise GuardError(f"{name} comes from {file}, not from the environment {root}")


def _check_sources():
    for package in ("transformers", "peft"):
        record = _record(package)
        for path, content in _imported_hashes(package).items():
            if record.get(path) != content:
                raise GuardError(f"{path} was changed after installation (SHA-256 {content})")


@lru_cache(maxsize=None)
def _record(package):
    """path -> hex SHA-256 of the files that the wheel itself brought."""
    entries = {}
    for file in metadata.distribution(package).files or []:
        path = str(file)
        if file.hash is None or path.endswith(ADDED_BY_INSTALLER) or path.startswith(".."):
            continue
        raw = base64.urlsafe_b64decode(file.hash.value + "=" * (-len(file.hash.value) % 4))
        entries[path] = raw.hex()
    return entries


def _imported_hashes(package):
    """Path relative to site-packages -> SHA-256 for each imported source file of a package."""
    site = Path(sys.modules[package].__file__).parent.parent
    hashes = {}
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if name.split(".")[0] == package and file and file.endswith(".py"):
            hashes[str(Path(file).relative_to(site))] = _sha256(Path(file))
    return hashes


def _sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()
