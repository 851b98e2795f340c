"""An adapter that `lemnos train` made loads in PEFT and gives the same logits there, and onwards the same
gradients and steps, judged by the gates of `tiny`. (The other direction is every LoRA bundle's.)"""

import json
import shutil
import tempfile
import unittest
from pathlib import Path

from parity import bundle
from parity.engine_tests.common import BUNDLES, lemnos
from parity.fixtures import make_batch
from parity.lift import double_copy
from parity.model import load_adapter
from parity.surface import surface_named
from parity.training import PROFILES, STEPS, Runner, train

CASES = {
    "llama": "all-linear", "qwen3": "all-linear", "qwen2_bf16": "q_proj,v_proj",
    "mistral_full": "all-linear", "mixtral": "q_proj,k_proj,v_proj,o_proj",
}


class OursInPeft(unittest.TestCase):
    def test_logits_gradients_and_steps_are_peft_s(self):
        for name, targets in CASES.items():
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                self.round_trip(surface_named(name), targets, Path(folder))

    def round_trip(self, surface, targets, folder):
        seed = surface.seeds_for("tiny")[0]
        base = BUNDLES / surface.name / f"tiny-eps3-base-s{seed}" / "model"
        adapter = self.trained(base, targets, folder)
        made = self.bundle_of(surface, seed, base, adapter, folder / "bundle")
        code, report, said = lemnos("verify", made)
        self.assertEqual(code, 0, f"{report.get('kinds', report)} {said}")
        self.assertTrue(report["ok"])
        logits = next(kind for kind in report["kinds"] if kind["kind"] == "logits")
        self.assertLessEqual(logits["max_abs_vs_hf"], 2e-7)
        self.assertEqual(report["base_drift"], 0)

    def trained(self, base, targets, folder):
        """Three steps at a rate that moves B well away from zero."""
        rows = [{"input_ids": ids, "labels": ids} for ids in ([3, 1, 4, 1, 5, 9], [2, 7, 1, 8, 2, 8])]
        (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        code, report, said = lemnos(
            "train", "--model-name-or-path", base, "--dataset-name", folder / "rows.jsonl",
            "--output-dir", folder / "run", "--max-steps", 3, "--learning-rate", 0.02,
            "--lora-r", 3, "--lora-alpha", 6, "--lora-dropout", 0, "--lora-target-modules", targets,
            "--per-device-train-batch-size", 2, "--allow-unqualified", "true")
        self.assertEqual(code, 0, f"{report} {said}")
        return folder / "run"

    def bundle_of(self, surface, seed, base, adapter, path):
        batch = make_batch(surface, "tiny", seed)
        model = load_adapter(base, adapter)
        single = train(Runner(model, batch), ["eps3"])["eps3"]
        truth = train(Runner(double_copy(model), batch, truth=True), ["eps3"])["eps3"]
        grown = [abs(p).max().item() for n, p in model.named_parameters() if "lora_B" in n]
        self.assertGreater(min(grown), 1e-3, "an adapter of zeros shows nothing")
        facts = {
            "name": path.name, "stage": "lora", "fixture": "tiny", "profile": "eps3",
            "steps": STEPS, "loss": single.losses,
            "optimizer": PROFILES["eps3"] | {"betas": list(PROFILES["eps3"]["betas"])},
        }
        with bundle.staged(path) as stage:
            shutil.copytree(base, stage / "model")
            (stage / "adapter").mkdir()
            for file in ("adapter_config.json", "adapter_model.safetensors"):
                shutil.copy(adapter / file, stage / "adapter")
            bundle.write_tensors(stage, batch, single.tensors, truth.tensors)
            bundle.write_reference(stage, facts)
        return path


if __name__ == "__main__":
    unittest.main()
