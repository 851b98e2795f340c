import json
import unittest

import numpy as np
from safetensors.numpy import load_file

from parity import gates
from parity.tests.common import answers, bundle, stored, torch_engine


def kind(report, name):
    return next(k for k in report["kinds"] if k["kind"] == name)


class GatesOnAnswers(unittest.TestCase):
    def setUp(self):
        self.path = bundle("llama_bias")
        self.ours = answers(self.path)

    def test_hugging_face_against_itself_passes(self):
        report = gates.judge(self.path, self.ours)
        self.assertTrue(report["ok"])
        self.assertTrue(all(k["gate1"] and k["gate2"] for k in report["kinds"]))

    def test_four_times_the_noise_turns_gate_2_red(self):
        for name in self.ours:
            truth = stored(self.path)[f"truth/{name}"]
            self.ours[name] = (truth + 4 * (self.ours[name] - truth)).astype(np.float32)
        self.assertFalse(kind(gates.judge(self.path, self.ours), "logits")["gate2"])

    def test_three_in_ten_million_in_one_gradient_turns_gate_1_red(self):
        self.ours["grad/model.layers.1.mlp.up_proj.bias"][0] += 3e-7
        report = gates.judge(self.path, self.ours)
        self.assertFalse(report["ok"])
        self.assertFalse(kind(report, "grad")["gate1"])

    def test_not_a_number_is_red(self):
        self.ours["logits"][0, 0, 0] = np.nan
        self.assertFalse(gates.judge(self.path, self.ours)["ok"])

    def test_missing_and_additional_tensors_are_named(self):
        self.ours["grad/other"] = self.ours.pop("grad/lm_head.weight")
        report = gates.judge(self.path, self.ours)
        self.assertEqual(report["missing"], ["grad/lm_head.weight"])
        self.assertEqual(report["additional"], ["grad/other"])
        self.assertFalse(report["ok"])


class GatesOnEngines(unittest.TestCase):
    """Transformers with one mistake in it; every mistake turns the bundle red."""

    def assert_red(self, path, spoil):
        self.assertFalse(gates.judge(path, torch_engine(path, spoil))["ok"])

    def test_without_a_mistake_it_is_green(self):
        for surface, stage in (("llama_bias", "base"), ("mixtral", "base"), ("qwen3", "lora")):
            path = bundle(surface, stage=stage)
            self.assertTrue(gates.judge(path, torch_engine(path, lambda model: None))["ok"])

    def test_swapped_gate_and_up(self):
        def swap(model):
            mlp = model.model.layers[1].mlp
            mlp.gate_proj, mlp.up_proj = mlp.up_proj, mlp.gate_proj
        self.assert_red(bundle("llama_bias"), swap)

    def test_dropped_bias(self):
        self.assert_red(bundle("llama_bias"),
                        lambda model: model.model.layers[0].self_attn.v_proj.bias.zero_())

    def test_epsilon_off_by_ten(self):
        def spoil(model):
            model.model.layers[0].input_layernorm.variance_epsilon *= 10
        self.assert_red(bundle("llama_bias"), spoil)

    def test_wrong_rope_constant(self):
        def spoil(model):
            rotary = model.model.rotary_emb
            rotary.inv_freq *= 1.001
            rotary.original_inv_freq *= 1.001
        self.assert_red(bundle("llama_bias"), spoil)

    def test_window_off_by_one(self):
        def spoil(model):
            model.config.sliding_window += 1
        self.assert_red(bundle("mistral"), spoil)

    def test_another_number_of_experts(self):
        def spoil(model):
            model.model.layers[0].mlp.gate.top_k = 1
        self.assert_red(bundle("mixtral"), spoil)

    def test_lora_scale(self):
        def spoil(model):
            model.base_model.model.model.layers[0].self_attn.q_proj.scaling["default"] *= 1.001
        self.assert_red(bundle("qwen3", stage="lora"), spoil)

    def test_stock_profile_sees_missing_weight_decay(self):
        path = bundle("llama_bias", profile="stock")
        ours = answers(path)
        for name in [n for n in ours if n.startswith("step")]:
            ours[name] = (ours[name] * (1 + 1e-7 * int(name[4]))).astype(np.float32)
        self.assertFalse(gates.judge(path, ours)["ok"])


class OptimizerAlone(unittest.TestCase):
    def setUp(self):
        self.path = bundle("llama", stage="optimizer", profile="stock")
        tensors = stored(self.path)
        self.ours = {n: t.copy() for n, t in tensors.items() if n.startswith("step")}

    def test_ten_steps_and_ten_gradients(self):
        reference = json.loads((self.path / "reference.json").read_text())
        self.assertEqual(reference["steps"], 10)
        self.assertIn("given/10/lm_head.weight", stored(self.path))
        self.assertTrue(gates.judge(self.path, self.ours)["ok"])

    def test_ten_steps_keep_clear_of_zero_and_of_powers_of_two(self):
        for profile in ("eps3", "stock"):
            for name, tensor in stored(bundle("llama", stage="optimizer", profile=profile)).items():
                if name.startswith("step"):
                    self.assertTrue(bool(((abs(tensor) > 0.25) & (abs(tensor) < 0.5)).all()), name)

    def test_parameters_near_zero_are_held_to_twice_torch_s_own_error(self):
        path = bundle("llama", stage="optimizer-near-zero")
        start = load_file(path / "model/model.safetensors")
        self.assertTrue(all(abs(t).max() < 0.05 and (t == 0).any() for t in start.values()))
        tensors = stored(path)
        hf = {n: t for n, t in tensors.items() if n.startswith("step")}
        for factor, green in ((1, True), (3, False)):
            ours = {n: (tensors[f"truth/{n}"] + factor * (t - tensors[f"truth/{n}"])).astype(t.dtype)
                    for n, t in hf.items()}
            self.assertEqual(gates.judge(path, ours)["ok"], green, factor)

    def test_one_ulp_is_allowed_and_two_are_not(self):
        name = "step10/lm_head.weight"
        self.ours[name] = np.nextafter(self.ours[name], np.float32(9))
        self.assertTrue(gates.judge(self.path, self.ours)["ok"])
        self.ours[name] = np.nextafter(self.ours[name], np.float32(9))
        self.assertFalse(gates.judge(self.path, self.ours)["ok"])
