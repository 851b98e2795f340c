import json
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from parity import current, document, qualify, records
from parity.surface import Surface, surface_named

KINDS = ("logits", "grad", "step1", "step2")
SURFACE = Surface("llama", family="llama")


def report(place, worst=1e-8, **more):
    """What `lemnos verify --json` says of a green bundle."""
    figures = {"max_abs_vs_hf": worst, "max_abs_vs_truth": 2e-8, "rms_vs_truth": 3e-9,
               "hf_max_abs_vs_truth": 2e-8, "hf_rms_vs_truth": 6e-9, "finite": True}
    kinds = [figures | {"kind": k, "gate1": True, "gate2": True, "max_ulp": 9.0} for k in KINDS]
    tensors = [figures | {"kind": k, "name": f"{k}/{n}", "max_abs_vs_hf": worst / n}
               for k in KINDS for n in (1, 2, 4)]
    return {
        "ok": True, "kinds": kinds, "tensors": tensors, "missing": [], "additional": [],
        "device": "llvmpipe (LLVM 15.0.6, 256 bits)", "driver": "Mesa", "gemm": "auto", "sources": "5ab", "ops": ["add"],
        "features": ["attention:gqa", "tied"], "stage": place.stage, "spirv": place.kernels,
        "binary": "b1", "paths": place.kernels, "tensors_sha256": place.path,
        "documents_bit_equal": True if place.fixture == "packed" else None,
        "resume_bit_equal": True if place.fixture == "tiny" else None,
    } | more


def reference():
    return {"oracle": {"torch": "1", "transformers": "2", "peft": "3", "fingerprint": "f"},
            "margins": {"topk": 0.0123456}}


def results(positions=(1,), verdict="PASS", stage="base", **more):
    full = records.wanted(SURFACE, stage, positions, lavapipe=True)
    return [(place, reference(), report(place, **more), verdict) for place in full]


def record(**more):
    return records.build(SURFACE, "base", results(**more), {"commit": "c"})


class FullLists(unittest.TestCase):
    def test_every_fixture_and_profile_on_both_kinds_of_kernels(self):
        full = records.wanted(SURFACE, "base", [1], lavapipe=True)
        cpu = {(w.fixture, w.profile) for w in full if w.kernels == "cpu"}
        gpu = {(w.fixture, w.profile) for w in full if w.kernels == "gpu"}
        self.assertEqual(cpu, {(f, p) for f in SURFACE.fixtures for p in records.PROFILES})
        self.assertEqual({fixture for fixture, _ in gpu}, set(SURFACE.fixtures))
        self.assertEqual({p for f, p in gpu if f == "tiny"}, set(records.PROFILES))

    def test_on_a_gpu_everything_runs_there(self):
        full = records.wanted(SURFACE, "lora", [1, 2, 3], lavapipe=False)
        self.assertEqual({w.kernels for w in full}, {"gpu"})
        self.assertEqual(len(full), len(SURFACE.fixtures) * len(records.PROFILES) * 3)

    def test_the_optimizer_is_of_one_surface_and_has_both_fixtures(self):
        self.assertIn("optimizer", records.stages_of(SURFACE))
        self.assertNotIn("optimizer", records.stages_of(surface_named("qwen3")))
        paths = {w.path for w in records.wanted(SURFACE, "optimizer", [1], lavapipe=True)}
        self.assertIn("llama/tiny-stock-optimizer-near-zero-s1", paths)
        self.assertIn("llama/tiny-eps3-optimizer-s1", paths)


class Contents(unittest.TestCase):
    def test_figures_are_rounded_and_stand_beside_the_oracles(self):
        made = record(worst=1.23456e-8)
        self.assertTrue(made["green"])
        self.assertEqual((made["worst"], made["oracle_noise"]), (1.23e-8, 2e-8))
        tiny = made["bundles"][0]
        self.assertEqual(tiny["margins"], {"topk": 0.0123})
        self.assertEqual(tiny["noise"]["grad"]["rms"], 6e-9)
        self.assertEqual(set(tiny["kernels"]), {"cpu", "gpu"})
        self.assertEqual(tiny["kernels"]["cpu"]["kinds"]["grad"]["median"], 6.17e-9)
        self.assertTrue(tiny["kernels"]["cpu"]["resume_bit_equal"])

    def test_one_red_bundle_makes_it_red(self):
        rows = results()
        rows[3] = (*rows[3][:3], "FAIL gate 1")
        made = records.build(SURFACE, "base", rows, {})
        self.assertFalse(made["green"])
        self.assertEqual(document.verdict(made), "FAIL gate 1")

    def test_only_features_of_every_bundle_count(self):
        rows = results()
        rows[5][2]["features"] = ["attention:gqa", "head_dim"]
        self.assertEqual(records.build(SURFACE, "base", rows, {})["features"], ["attention:gqa"])

    def test_reports_of_different_sources_or_drivers_make_none(self):
        for key in ("sources", "driver", "device", "gemm", "ops"):
            rows = results()
            rows[1][2][key] = "another"
            with self.assertRaisesRegex(records.RecordError, key):
                records.build(SURFACE, "base", rows, {})
        rows = results()
        rows[1][1]["oracle"]["fingerprint"] = "g"
        with self.assertRaisesRegex(records.RecordError, "oracles"):
            records.build(SURFACE, "base", rows, {})

    def test_it_is_small(self):
        self.assertLess(len(records.text_of(record())), 15_000)
        self.assertEqual(json.loads(records.text_of(record())), record())

    def test_folders_are_named_after_devices(self):
        self.assertEqual(records.device_folder("NVIDIA H200"), "nvidia-h200")
        self.assertEqual(records.device_folder("llvmpipe (LLVM 19.1.7, 256 bits)"), "lavapipe")
        self.assertEqual(record()["device"], "lavapipe")
        self.assertEqual(record(gemm="split")["device"], "lavapipe-split")


class Writing(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.out = Path(folder.name)

    def test_fewer_seeds_replace_more_only_when_the_sources_changed(self):
        self.assertTrue(records.write(self.out, record(positions=(1, 2, 3))))
        self.assertIsNone(records.write(self.out, record()))
        self.assertTrue(records.write(self.out, record(positions=(1, 2, 3))))
        self.assertTrue(records.write(self.out, record(sources="other")))

    def test_a_file_in_the_wrong_place_is_no_record(self):
        file = records.write(self.out, record())
        self.assertEqual([made for _, made in records.load_all(self.out)], [record()])
        file.rename(file.with_name("qwen3.base.json"))
        with self.assertRaisesRegex(records.RecordError, "llama.base"):
            records.load_all(self.out)

    def run_qualify(self, drop=0, **more):
        """write_records on made-up results, of which the last `drop` are missing."""
        found = {row[0]: row[1:] for stage in records.STAGES for row in results(stage=stage, **more)}
        for place in list(found)[:drop]:
            del found[place]
        options = mock.Mock(stages=["base", "lora", "optimizer"], seeds=[1], out=self.out)
        with mock.patch("builtins.print"):
            return qualify.write_records(options, [SURFACE], found, {}, True, 0)

    def test_a_full_run_writes_and_a_red_one_says_so(self):
        self.assertEqual(self.run_qualify(), 0)
        self.assertEqual(len(records.load_all(self.out)), 3)
        self.assertEqual(self.run_qualify(verdict="FAIL gate 1"), 1)
        self.assertFalse(any(made["green"] for _, made in records.load_all(self.out)))

    def test_a_partial_run_writes_nothing_of_that_stage(self):
        self.assertEqual(self.run_qualify(drop=1), 1)
        self.assertEqual([made["stage"] for _, made in records.load_all(self.out)],
                         ["lora", "optimizer"])

    def test_what_changes_meanwhile_voids_the_run(self):
        options = mock.Mock(results=None, binary="lemnos")
        found = {row[0]: row[1:] for row in results()}
        entry = {"oracle": "f", "binary": "b1"}
        qualify.refuse_changes(options, entry, dict(entry), found)
        for exit_ in ({"oracle": "f", "binary": "b2"}, {"oracle": "g", "binary": "b1"}):
            with self.assertRaisesRegex(SystemExit, "void"):
                qualify.refuse_changes(options, entry, exit_, found)
        for wrong in (results(binary="b2"), results()[:1] + results(binary="b2")):
            with self.assertRaisesRegex(SystemExit, "binaries"):
                qualify.refuse_changes(options, entry, entry, {row[0]: row[1:] for row in wrong})
        with self.assertRaisesRegex(SystemExit, "another oracle"):
            qualify.refuse_changes(options, entry | {"oracle": "g"}, entry | {"oracle": "g"}, found)


class Current(unittest.TestCase):
    def lack(self, made, **today):
        place = records.wanted(SURFACE, "base", [1], lavapipe=True)[0]
        return current.lack(SURFACE, "base", made, [report(place, **today)])

    def test_a_green_record_of_these_sources_holds(self):
        self.assertIsNone(self.lack(record()))

    def test_everything_else_does_not(self):
        self.assertIn("no record", self.lack(None))
        self.assertIn("red", self.lack(record(verdict="FAIL gate 1")))
        self.assertIn("other sources", self.lack(record(), sources="new"))
        self.assertIn("tied", self.lack(record(), features=["attention:gqa"]))
        partial = record()
        partial["bundles"] = partial["bundles"][1:]
        self.assertIn("lacks tiny eps3", self.lack(partial))
        self.assertIn("nothing", current.lack(SURFACE, "base", record(), []))

    def test_a_family_without_surfaces_is_named(self):
        answer = json.dumps({"families": [{"name": "llama"}, {"name": "gemma9"}]})
        done = mock.Mock(stdout=answer)
        with mock.patch("subprocess.run", return_value=done):
            lacking = current.families_without_surfaces("lemnos")
        self.assertEqual([text for _, text in lacking], ["gemma9: no parity/surfaces/gemma9.py"])


class Document(unittest.TestCase):
    def test_a_row_holds_ours_beside_the_oracles_noise(self):
        text = document.render([record(worst=1.2e-7)])
        count = len(results())
        self.assertIn(f"| llama | base | lavapipe | {count} | 1.2e-07 | 6.0e-08 | 2.0e-08 | 0.50 | 0.50 "
                      "| 1.2e-02 | green |", text)
        self.assertIn("torch 1, transformers 2, peft 3", text)

    def test_without_records_it_says_so(self):
        self.assertIn("no record yet", document.render([]))


if __name__ == "__main__":
    unittest.main()
