import json
import tempfile
import unittest
from pathlib import Path

from parity import table


def entry(surface="llama", stage="base", verdict="PASS", **changes):
    kind = {"max_abs_vs_hf": 1e-8, "hf_max_abs_vs_truth": 2e-8, "rms_vs_truth": 3e-9,
            "hf_rms_vs_truth": 6e-9, "max_ulp": 0.5} | changes
    kinds = [kind | {"kind": name} for name in ("logits", "grad", "step1", "step2")]
    return {"family": "llama", "surface": surface, "fixture": "tiny", "profile": "eps3", "seed": 1,
            "stage": stage, "verdict": verdict, "report": {"device": "a card", "kinds": kinds}}


def row_of(text, word):
    return next(line for line in text.splitlines() if line.startswith(f"| {word} |"))


class Table(unittest.TestCase):
    def test_a_row_holds_ours_and_hf_noise(self):
        text = table.render([entry()])
        self.assertIn("| llama | tiny | eps3 | base | a card | 1.0e-08 / 2.0e-08 |", text)
        self.assertTrue(text.splitlines()[2].endswith("| 1 | 1 | 1.0e-08 | 0.50 |"))

    def test_seeds_share_a_row_that_shows_the_worst(self):
        text = table.rows([entry(), entry(max_abs_vs_hf=7e-8, verdict="FAIL gate 1"), entry()])
        self.assertEqual(text.count("| llama |"), 1)
        self.assertIn("7.0e-08 / 2.0e-08", text)
        self.assertTrue(row_of(text, "llama").endswith("| FAIL gate 1 |"))

    def test_what_is_not_a_number_is_the_worst(self):
        self.assertIn("nan / ", table.rows([entry(), entry(max_abs_vs_hf=float("nan"))]))

    def test_a_refused_surface_has_no_figures(self):
        refused = entry("mixtral_aux_loss", verdict="PASS refused: output_router_logits")
        refused["report"] = {"ok": False, "error": "exit code 3"}
        text = table.render([refused])
        self.assertIn("| - | - | - | - | - | PASS refused: output_router_logits |", text)
        self.assertIn("| llama | - | 1 | 1 | - | - |", text)

    def test_a_refused_surface_belongs_to_the_device_of_its_file(self):
        refused = entry("mixtral_aux_loss", verdict="PASS refused: output_router_logits")
        refused["report"] = {"ok": False, "error": "exit code 3"}
        text = table.summary(table.named_device([entry(), refused]))
        self.assertIn("| llama | a card | 2 | 2 |", text)

    def test_the_optimizer_has_a_table_of_its_own(self):
        text = table.render([entry(stage="optimizer")])
        self.assertEqual(row_of(text, "eps3"), "| eps3 | a card | 4 | 0.50 | PASS |")
        self.assertNotIn("surface", text)

    def test_only_the_text_between_the_markers_changes(self):
        with tempfile.TemporaryDirectory() as folder:
            results, document = Path(folder) / "r.json", Path(folder) / "d.md"
            results.write_text(json.dumps([entry()]))
            document.write_text("a\n<!-- parity-table:x -->\nold\n<!-- /parity-table:x -->\nb\n")
            for _ in range(2):
                table.main([str(document), f"x={results}"])
            text = document.read_text()
            self.assertTrue(text.startswith("a\n<!-- parity-table:x -->\n| family |"))
            self.assertTrue(text.endswith("</details>\n<!-- /parity-table:x -->\nb\n"))
            self.assertNotIn("old", text)
            with self.assertRaisesRegex(SystemExit, "parity-table:y"):
                table.main([str(document), f"y={results}"])


if __name__ == "__main__":
    unittest.main()
