"""Tests of the program beside the oracle; scripts/parity builds nothing and runs them."""

from parity import settings

settings.prepare_environment()
settings.enforce()
