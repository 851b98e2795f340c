"""python -m parity.margins SURFACE ...: which seeds keep clear of tied choices.

A near tie in a top-k may fall either way on another machine and proves nothing. So where a seed has
a margin under SMALLEST_MARGIN in a fixture, in any stage or profile, the next one takes its place:
Surface.fixture_seeds holds the first three that pass. What decides is printed here, seed by seed;
it is a property of the model alone, before any engine has seen the bundle.
"""

import argparse
import tempfile
from pathlib import Path

from parity import settings


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="parity.margins", description=__doc__)
    parser.add_argument("surfaces", nargs="+")
    parser.add_argument("--fixtures", type=lambda text: text.split(","), help="only these")
    parser.add_argument("--seeds", type=_range, default=range(1, 200), help="first-last")
    options = parser.parse_args(arguments)
    settings.prepare_environment()
    from parity.surface import surface_named

    settings.enforce()
    for surface in map(surface_named, options.surfaces):
        for fixture in options.fixtures or surface.fixtures:
            seeds = find_seeds(surface, fixture, options.seeds)
            print(f"{surface.name} {fixture}: {seeds}", flush=True)


def find_seeds(surface, fixture, seeds, wanted=3):
    """The first `wanted` seeds that pass; prints each that is tried."""
    from parity.choices import SMALLEST_MARGIN

    found = []
    for seed in seeds:
        margin, stage = _margin(surface, fixture, seed, SMALLEST_MARGIN)
        print(f"{surface.name} {fixture} seed {seed}: {margin:.1e} in {stage}", flush=True)
        found += [seed] if margin >= SMALLEST_MARGIN else []
        if len(found) == wanted:
            break
    return found


def _margin(surface, fixture, seed, limit):
    """The smallest margin and its stage, or the first that is under the limit."""
    from parity.fixtures import make_batch
    from parity.model import load_adapter, load_model, write_adapter, write_model
    from parity.training import PROFILES, Runner, train

    smallest = (float("inf"), "no stage")
    batch = make_batch(surface, fixture, seed)
    with tempfile.TemporaryDirectory() as work:
        base, adapter = Path(work) / "model", Path(work) / "adapter"
        write_model(surface, fixture, seed, base)
        for stage in ("base", "lora"):
            if stage == "lora":
                write_adapter(surface, seed, base, surface.lora_targets, adapter)
            model = load_model(base) if stage == "base" else load_adapter(base, adapter)
            outcomes = train(Runner(model, batch), PROFILES)
            margin = min(c.margin for o in outcomes.values() for c in o.choices)
            smallest = min(smallest, (margin, stage))
            if margin < limit:
                break
    return smallest


def _range(text):
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


if __name__ == "__main__":
    main()
