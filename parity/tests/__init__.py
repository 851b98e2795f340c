"""The oracle's own tests: each proves that a check of the oracle can turn red."""

from parity import settings

settings.prepare_environment()
settings.enforce()
