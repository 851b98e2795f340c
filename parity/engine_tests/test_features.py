"""Every feature that a config of a family can turn on is turned on by one of its surfaces.

PROBES are single changes of a config. Each that the engine accepts for a family shows which features
it has; a feature that no surface of the family has would never be in a record. And the names in the
engine's own sources must all be seen somewhere, so that a new one needs a probe.
"""

import re
import tempfile
import unittest
from pathlib import Path

from parity import check, ropes
from parity.engine_tests.common import BUNDLES, lemnos
from parity.model import write_model
from parity.surface import Surface, families, surfaces_of

SRC = Path(__file__).resolve().parents[2] / "src"
NEVER = {"rope:partial", "o_bias"}  # no family reads a partial rotation, or has a bias there alone, yet
NOT_FEATURES = {"yarn", "rope_parameters", "layer_types"}  # literals that name something else

YARN = {"max_position_embeddings": 16384}
WINDOW = {"sliding_window": 3, "use_sliding_window": True}
PROBES = {
    "plain": {}, "tied": {"tie_word_embeddings": True}, "pad": {"pad_token_id": 2},
    "tied_pad": {"tie_word_embeddings": True, "pad_token_id": 2},
    "attention_bias": {"attention_bias": True}, "mlp_bias": {"mlp_bias": True},
    "mha": {"num_key_value_heads": 4}, "mqa": {"num_key_value_heads": 1},
    "head_dim": {"head_dim": 8},
    "window": {"sliding_window": 3}, "window_from_layer": WINDOW | {"max_window_layers": 1},
    "window_on_all": WINDOW | {"max_window_layers": 0},
    "layer_types": WINDOW | {"layer_types": ["sliding_attention", "full_attention"]},
    "top_k": {"num_local_experts": 3, "num_experts_per_tok": 2},
    "all_experts": {"num_local_experts": 3, "num_experts_per_tok": 3},
    "linear": {"rope_parameters": ropes.linear(10000.0)},
    "dynamic": {"rope_parameters": ropes.dynamic(10000.0)},
    "llama3": {"rope_parameters": ropes.llama3(10000.0)},
    "yarn": YARN | {"rope_parameters": ropes.yarn(10000.0)},
    "yarn_attention_factor": YARN | {"rope_parameters": ropes.yarn(10000.0, attention_factor=0.9)},
    "yarn_mscale": YARN | {"rope_parameters": ropes.yarn(10000.0, mscale=1.0, mscale_all_dim=0.8)},
    "yarn_truncate": YARN | {"rope_parameters": ropes.yarn(10000.0, truncate=False)},
    "yarn_no_factor": YARN | {"rope_parameters": ropes.yarn(10000.0, factor=None)},
    "longrope": {"rope_parameters": ropes.longrope(10000.0, 2, 4), "max_position_embeddings": 16},
}


class Features(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.covered = {family: cls.of_surfaces(family) for family in families()}
        cls.probed = {family: cls.of_probes(family) for family in families()}

    def test_every_feature_of_a_family_is_in_a_surface(self):
        for family in families():
            missing = self.probed[family] - self.covered[family]
            self.assertFalse(missing, f"{family}: no surface has {', '.join(sorted(missing))}")

    def test_pairs_that_act_on_each_other_are_in_one_surface(self):
        source = (SRC / "models/features.cpp").read_text()
        table = re.search(r"kInteracting\[\] = \{(.*?)\};", source, re.DOTALL)[1]
        pairs = re.findall(r'\{"([^"]+)", "([^"]+)"\}', table)
        self.assertTrue(pairs)
        for family in families():
            sets = [features(folder) for folder in model_folders(family)]
            for pair in pairs:
                if set(pair) <= self.probed[family]:
                    self.assertTrue(any(set(pair) <= found for found in sets), f"{family}: {pair}")

    def test_every_name_in_the_engine_is_known_here(self):
        seen = set.union(*self.covered.values())
        for name in declared():
            self.assertTrue(name in seen or name in NEVER, f"no surface has \"{name}\"")

    @staticmethod
    def of_surfaces(family):
        return set.union(*(features(folder) for folder in model_folders(family)))

    @staticmethod
    def of_probes(family):
        found = set()
        for name, config in PROBES.items():
            for legacy in (False, True):
                found |= probe(family, name, config, legacy)
        return found


def model_folders(family):
    """Of each surface's first bundle."""
    return [BUNDLES / s.name / f"tiny-eps3-base-s{s.seeds_for('tiny')[0]}/model"
            for s in surfaces_of(family) if s.name not in check.MUST_BE_REFUSED]


def features(folder):
    code, report, said = lemnos("inspect", folder)
    if code:
        raise AssertionError(f"{folder}: {said or report}")
    return set(report["features"])


def probe(family, name, config, legacy):
    """Nothing for a config that this family or Transformers does not know."""
    sizes = {"num_local_experts": 3} if family == "mixtral" else {}
    surface = Surface(f"{family}_probe_{name}", {"head_dim": 4} | sizes | config, family=family,
                      legacy_config=legacy)
    with tempfile.TemporaryDirectory() as folder:
        try:
            write_model(surface, "tiny", 1, Path(folder))
        except (KeyError, RuntimeError, TypeError, ValueError):
            return set()
        code, report, _ = lemnos("inspect", folder)
        return set(report["features"]) if code == 0 else set()


def declared():
    """Names of features in the sources: the literals of features.cpp, and those of each function whose
    name ends in "features"."""
    texts = [(SRC / "models/features.cpp").read_text()]
    for file in (SRC / "models").glob("*.cpp"):
        texts += re.findall(r"^std::vector<std::string> \w*features\(.*?^}", file.read_text(),
                            re.DOTALL | re.MULTILINE)
    literals = {name for text in texts for name in re.findall(r'"([^"]*)"', text)}
    names = {name for name in literals if re.fullmatch(r"[a-z_0-9]+(:[a-z_0-9]+)?", name)}
    return names - NOT_FEATURES


if __name__ == "__main__":
    unittest.main()
