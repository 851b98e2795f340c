import json
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import torch

from parity import check, guard, settings


class Guard(unittest.TestCase):
    def test_the_environment_is_the_pinned_one(self):
        guard.check()
        self.assertEqual(guard.fingerprint(), guard.fingerprint())

    def test_another_version_is_refused(self):
        with mock.patch.object(guard, "pinned_versions", lambda: {"transformers": "1.2.3"}):
            with self.assertRaisesRegex(guard.GuardError, "1.2.3"):
                guard.check()

    def test_a_changed_source_is_refused(self):
        honest = guard._imported_hashes("transformers")
        changed = honest | {"transformers/models/llama/modeling_llama.py": "0" * 64}
        with mock.patch.object(guard, "_imported_hashes", lambda package: changed):
            with self.assertRaisesRegex(guard.GuardError, "modeling_llama.py was changed"):
                guard.check()

    def test_another_wheel_is_refused(self):
        with mock.patch.object(guard, "record_digest", lambda package: "0" * 64):
            with self.assertRaisesRegex(guard.GuardError, "RECORD"):
                guard.check()

    def test_a_module_from_elsewhere_is_refused(self):
        stray = type(sys)("transformers.stray")
        stray.__file__ = "/elsewhere/transformers/stray.py"
        with mock.patch.dict(sys.modules, {"transformers.stray": stray}):
            with self.assertRaisesRegex(guard.GuardError, "elsewhere"):
                guard.check()


class Settings(unittest.TestCase):
    def test_an_importable_kernel_package_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "causal_conv1d.py").write_text("")
            with mock.patch.object(sys, "path", sys.path + [folder]):
                with self.assertRaisesRegex(settings.SettingsError, "causal_conv1d"):
                    settings.refuse_kernel_packages()

    def test_two_threads_are_noticed(self):
        torch.set_num_threads(2)
        try:
            with self.assertRaisesRegex(settings.SettingsError, "one thread"):
                settings.check()
        finally:
            torch.set_num_threads(1)

    def test_another_attention_is_noticed(self):
        from parity.model import load_model
        from parity.tests.common import bundle

        model = load_model(bundle("llama_bias") / "model")
        model.config._attn_implementation = "sdpa"
        with self.assertRaisesRegex(settings.SettingsError, "sdpa"):
            settings.check_model(model)


ENTRY = {"surface": "s", "family": "f", "fixture": "tiny", "profile": "eps3", "stage": "base",
         "seed": 1, "path": "s/tiny-eps3-base-s1", "noise": {}}


def report(gate1=True, gate2=True, ok=True, **more):
    kinds = [{"kind": kind, "max_abs_vs_hf": 1e-8, "gate1": gate1, "gate2": gate2}
             for kind in check.KINDS]
    return {"ok": ok, "kinds": kinds, "missing": [], "additional": [],
            "resume_bit_equal": True} | more


class Verdicts(unittest.TestCase):
    def test_green(self):
        self.assertEqual(check.verdict(ENTRY, report()), "PASS")

    def test_everything_else_is_not(self):
        for wrong in (
            report(gate1=False), report(gate1=None), report(gate2=None), report(ok=False),
            report(missing=["grad/x"]), report(additional=["grad/y"]), report(kinds=[]),
            {"ok": True, "error": "exit code 1"}, report(gate2=False),
        ):
            self.assertFalse(check.verdict(ENTRY, wrong).startswith("PASS"), wrong)

    def test_bits_that_must_be_equal_are(self):
        packed = ENTRY | {"fixture": "packed"}
        self.assertEqual(check.verdict(packed, report(documents_bit_equal=True)), "PASS")
        for wrong in (None, False):
            self.assertTrue(check.verdict(packed, report(documents_bit_equal=wrong))
                            .startswith("FAIL other bits"))
            self.assertTrue(check.verdict(ENTRY, report(resume_bit_equal=wrong))
                            .startswith("FAIL other bits"))

    def test_what_is_not_finite_fails_at_once(self):
        wrong = report(gate1=None, gate2=False, ok=False)
        wrong["kinds"][1] |= {"finite": False, "max_abs_vs_hf": None}
        self.assertEqual(check.verdict(ENTRY, check.restored(wrong)), "FAIL not finite")
        self.assertEqual(check.cell(wrong["kinds"][1], 1e-8), "inf/1.0e-08")

    def test_an_error_document_is_a_refusal_only_by_name(self):
        entry = ENTRY | {"surface": "mixtral_aux_loss"}

        def verdict(code, message):
            document = {"error": {"kind": "unsupported", "message": message, "exit_code": code}}
            return check.verdict(entry, check.restored(document))

        field = check.MUST_BE_REFUSED["mixtral_aux_loss"]
        self.assertEqual(verdict(3, f"config.json: {field} is true"), f"PASS refused: {field}")
        self.assertTrue(verdict(3, "another reason").startswith("FAIL"))
        self.assertTrue(verdict(1, f"{field} crashed").startswith("FAIL"))

    def test_a_gate_2_red_counts_when_it_repeats_on_three_seeds(self):
        self.assertEqual(self.run_check({1: False, 2: False, 3: False}), 1)
        self.assertEqual(self.run_check({1: False, 2: True, 3: False}), 0)
        self.assertEqual(self.run_check({1: False}), 1)

    def run_check(self, gate2_of_seed):
        with tempfile.TemporaryDirectory() as folder:
            folder = Path(folder)
            entries = [ENTRY | {"seed": s, "path": f"s/tiny-eps3-base-s{s}"} for s in gate2_of_seed]
            for entry, gate2 in zip(entries, gate2_of_seed.values()):
                file = folder / f"{entry['path']}.json"
                file.parent.mkdir(exist_ok=True)
                file.write_text(json.dumps(report(gate2=gate2, ok=gate2)))
            (folder / "index.json").write_text(json.dumps(entries))
            with mock.patch("builtins.print"):
                return check.main([str(folder), "--results", str(folder)])
