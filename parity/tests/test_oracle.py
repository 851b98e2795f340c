import filecmp
import unittest

import torch
from safetensors.torch import load_file

from parity import choices, oracle
from parity.fixtures import make_batch
from parity.lift import LiftError, double_copy, lifted
from parity.model import disk_tensors, load_model
from parity.surface import SIZES, families, surface_named, surfaces_of
from parity.tests.common import WORK, batch_of, bundle, stored
from parity.training import Runner


class Lift(unittest.TestCase):
    def setUp(self):
        path = bundle("llama_bias")
        self.model = double_copy(load_model(path / "model"))
        self.inputs = {"input_ids": torch.from_numpy(batch_of(path).input_ids)}

    def test_a_cast_that_is_not_lifted_is_found(self):
        with self.assertRaisesRegex(LiftError, "float32"):
            with lifted(self.model, lift_casts=False):
                self.model(**self.inputs, use_cache=False)

    def test_a_narrow_tensor_in_the_backward_pass_is_found(self):
        class Narrow(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2

            @staticmethod
            def backward(ctx, grad):
                return grad.float().double()

        x = torch.ones(3, dtype=torch.float64, requires_grad=True)
        with self.assertRaises(LiftError), lifted(self.model, lift_casts=False):
            Narrow.apply(x).sum().backward()

    def test_rope_tables_stay_float32(self):
        rotary = self.model.model.rotary_emb
        with lifted(self.model):
            x = torch.zeros(1, 6, 8)
            cos, _ = rotary(x, torch.arange(6)[None])
        self.assertEqual(cos.dtype, torch.float64)
        self.assertTrue(torch.equal(cos, cos.float().double()))

    def test_constants_of_the_code_are_lifted_too(self):
        with lifted(self.model):
            self.assertEqual(torch.zeros(2, dtype=torch.float32).dtype, torch.float64)
            self.assertEqual(torch.ones(2, dtype=torch.bool).float().dtype, torch.float64)


class Bundles(unittest.TestCase):
    def test_the_same_seed_gives_the_same_bytes(self):
        first = bundle("mixtral", stage="lora")
        again = oracle.make_group(WORK / "again", surface_named("mixtral"), "tiny", 1, ["lora"],
                                  ["eps3"], "test")[0]
        files = [p.relative_to(first) for p in first.rglob("*") if p.is_file()]
        self.assertIn("adapter/adapter_model.safetensors", map(str, files))
        for file in files:
            self.assertTrue(filecmp.cmp(first / file, again / file, shallow=False), file)

    def test_gradients_are_split_as_save_pretrained_splits_weights(self):
        path = bundle("mixtral")
        model = load_model(path / "model")
        runner = Runner(model, batch_of(path))
        runner.gradients()
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.copy_(parameter.grad)
        model.save_pretrained(WORK / "gradients")
        saved = load_file(WORK / "gradients" / "model.safetensors")
        ours = disk_tensors(model, {n: p.grad for n, p in model.named_parameters()})
        self.assertEqual(sorted(saved), sorted(ours))
        self.assertTrue(any("experts.0.w1" in name for name in saved))
        self.assertTrue(all(torch.equal(saved[name], ours[name]) for name in saved))

    def test_a_lora_bundle_holds_the_logits_of_the_base_alone(self):
        for fixture in ("tiny", "packed"):
            tensors = stored(bundle("llama_bias", fixture=fixture, stage="lora"))
            base = stored(bundle("llama_bias", fixture=fixture))
            self.assertLess(abs(tensors["logits/none"] - base["logits"]).max(), 1e-6)
            self.assertGreater(abs(tensors["logits/none"] - tensors["logits"]).max(), 1e-3)
            self.assertEqual(tensors["truth/logits/none"].dtype, "float64")

    def test_stored_types_are_widened(self):
        for surface, dtype in (("qwen3_bf16", torch.bfloat16), ("mixtral_f16", torch.float16)):
            saved = load_file(bundle(surface) / "model/model.safetensors")
            self.assertEqual({tensor.dtype for tensor in saved.values()}, {dtype})
            model = load_model(bundle(surface) / "model")
            self.assertEqual({p.dtype for p in model.parameters()}, {torch.float32})

    def test_a_tied_head_appears_once_and_the_padding_row_keeps_the_head_gradient(self):
        tensors = stored(bundle("llama_tied_pad"))
        self.assertNotIn("grad/lm_head.weight", tensors)
        self.assertTrue(abs(tensors["grad/model.embed_tokens.weight"][2]).max() > 0)

    def test_the_reference_of_packed_rows_is_each_document_alone(self):
        """Plain attention isolates documents in Transformers too, so both agree up to rounding."""
        surface = surface_named("llama_bias")
        path = bundle("llama_bias", fixture="packed")
        batch = make_batch(surface, "packed", 1)
        runner = Runner(load_model(path / "model"), batch)
        alone, loss, _ = runner.gradients()
        runner.documents = ()
        together, together_loss, _ = runner.gradients()
        self.assertLess((alone - together).abs().max().item(), 1e-6)
        self.assertAlmostEqual(loss, together_loss, places=6)

    def test_no_parameter_sits_at_a_value_that_hides_an_error(self):
        for surface in ("llama_bias", "qwen3_bias", "mixtral"):
            for name, tensor in load_file(bundle(surface) / "model/model.safetensors").items():
                if "norm" in name:
                    self.assertTrue(bool(((tensor > 0) & (tensor < 1)).all()), name)
                self.assertGreater(tensor.std().item(), 1e-3, name)
                self.assertTrue(bool((tensor != 0).all()), name)


class Batches(unittest.TestCase):
    def test_left_padding_predicts_nothing(self):
        batch = make_batch(surface_named("llama_tied_pad"), "left", 1)
        for mask, labels, positions in zip(batch.attention_mask, batch.labels, batch.position_ids):
            first = mask.argmax()
            self.assertTrue(bool((labels[:first + 1] == -100).all()))
            self.assertEqual(positions[first], 0)
            self.assertEqual(positions[-1], mask.sum() - 1)

    def test_each_fixture_has_its_own_seeds(self):
        surface = surface_named("mixtral")
        self.assertEqual(surface.seeds_for("tiny"), (1, 2, 3))
        self.assertEqual(surface.seeds_for("left"), surface.fixture_seeds["left"])


class Choices(unittest.TestCase):
    def recorder(self, *rows):
        recorder = choices.ChoiceRecorder(torch.ones(len(rows), dtype=torch.bool))
        with recorder:
            torch.topk(torch.tensor(rows), 2, dim=-1)
        return recorder

    def test_a_near_tie_is_refused(self):
        near = self.recorder([0.5, 0.3, 0.29995, 0.1])
        with self.assertRaisesRegex(choices.ChoiceError, "margin"):
            choices.check_choices(near, near)

    def test_another_choice_is_refused(self):
        with self.assertRaisesRegex(choices.ChoiceError, "differently"):
            choices.check_choices(self.recorder([0.5, 0.3, 0.1]), self.recorder([0.5, 0.1, 0.3]))


class Surfaces(unittest.TestCase):
    def test_names_are_unique_and_begin_with_the_family(self):
        names = [(f, s.name) for f in families() for s in surfaces_of(f)]
        self.assertEqual(len(names), len({name for _, name in names}))
        self.assertTrue(all(name.startswith(family) for family, name in names))

    def test_three_seeds_and_both_sizes_each(self):
        for family in families():
            for surface in surfaces_of(family):
                for fixture in surface.fixtures:
                    self.assertEqual(len(set(surface.seeds_for(fixture))), 3)
                self.assertTrue({"tiny", "tile"} <= set(surface.fixtures))
                self.assertTrue(all(surface.config_for(size) for size in SIZES))
