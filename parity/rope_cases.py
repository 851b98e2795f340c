#!/usr/bin/env python3
"""Writes tests/data/rope_cases.json: frequencies, scaling, cos and sin of Transformers' Llama rotary
embedding for every rope type, as hexadecimal floats.  Usage: parity/rope_cases.py [OUTPUT]

PyTorch's vector code computes pow(theta, x) with an error of up to 1 ulp in about 1 % of the frequencies, and which ones
depends on the processor; its portable code, chosen here, rounds them correctly, as we do."""
import json
import os
import pathlib
import sys

os.environ["ATEN_CPU_CAPABILITY"] = "default"
import torch  # noqa: E402
import transformers
from transformers import LlamaConfig
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding

LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
          "original_max_position_embeddings": 8192}
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768}
LONG = {"type": "longrope", "short_factor": [1.0 + 0.05 * i for i in range(8)],
        "long_factor": [1.5 + 0.75 * i for i in range(8)]}

# name, head_dim, sequence length, config fields
CASES = [
    ("default_10000", 64, 2048, {"max_position_embeddings": 2048, "rope_theta": 10000.0}),
    ("default_theta_absent", 16, 64, {"max_position_embeddings": 64}),
    ("default_500000", 128, 4096, {"max_position_embeddings": 8192, "rope_theta": 500000.0}),
    ("default_1e6_new_spelling", 128, 4096, {"max_position_embeddings": 32768, "rope_parameters": {"rope_theta": 1e6, "rope_type": "default"}}),
    ("default_null_scaling", 64, 2048, {"max_position_embeddings": 8192, "rope_theta": 100000, "rope_scaling": None}),
    ("linear", 64, 4096, {"max_position_embeddings": 4096, "rope_theta": 10000.0, "rope_scaling": {"type": "linear", "factor": 3.0}}),
    ("linear_odd_factor", 80, 4096, {"max_position_embeddings": 4096, "rope_theta": 10000.0, "rope_scaling": {"rope_type": "linear", "factor": 2.7}}),
    ("dynamic_within", 64, 2048, {"max_position_embeddings": 2048, "rope_theta": 10000.0, "rope_scaling": {"rope_type": "dynamic", "factor": 2.0}}),
    ("dynamic_within_odd", 64, 1000, {"max_position_embeddings": 2048, "rope_theta": 10000.0, "rope_scaling": {"rope_type": "dynamic", "factor": 3.3}}),
    ("dynamic_beyond", 64, 3000, {"max_position_embeddings": 2048, "rope_theta": 10000.0, "rope_scaling": {"rope_type": "dynamic", "factor": 2.0}}),
    ("dynamic_beyond_odd", 96, 4097, {"max_position_embeddings": 2048, "rope_theta": 10000.0, "rope_scaling": {"type": "dynamic", "factor": 3.3}}),
    ("llama3_8b", 128, 4096, {"max_position_embeddings": 131072, "rope_theta": 500000.0, "rope_scaling": LLAMA3}),
    ("llama3_1b", 64, 4096, {"max_position_embeddings": 131072, "rope_theta": 500000.0, "rope_scaling": {**LLAMA3, "factor": 32.0}}),
    ("llama3_new_spelling", 64, 4096, {"max_position_embeddings": 131072, "rope_parameters": {**LLAMA3, "rope_theta": 500000.0, "high_freq_factor": 3.5}}),
    ("yarn", 128, 4096, {"max_position_embeddings": 131072, "rope_theta": 1e6, "rope_scaling": YARN}),
    ("yarn_mscale", 64, 4096, {"max_position_embeddings": 163840, "rope_theta": 10000.0, "rope_scaling": {**YARN, "factor": 40, "original_max_position_embeddings": 4096, "mscale": 0.707, "mscale_all_dim": 1.0, "beta_fast": 32, "beta_slow": 1}}),
    ("yarn_not_truncated", 64, 4096, {"max_position_embeddings": 131072, "rope_parameters": {**YARN, "rope_theta": 150000.0, "factor": 32.0, "original_max_position_embeddings": 4096, "truncate": False}}),
    ("yarn_given_factor", 32, 512, {"max_position_embeddings": 4096, "rope_theta": 10000.0, "rope_scaling": {**YARN, "factor": 4.0, "original_max_position_embeddings": 1024, "attention_factor": 1.25}}),
    ("yarn_null_factor", 32, 512, {"max_position_embeddings": 4096, "rope_theta": 10000.0, "rope_scaling": {**YARN, "factor": None, "original_max_position_embeddings": 1024}}),
    ("yarn_narrow", 16, 512, {"max_position_embeddings": 64, "rope_theta": 10000.0, "rope_scaling": {**YARN, "original_max_position_embeddings": 16}}),
    ("longrope_short", 16, 512, {"max_position_embeddings": 8192, "rope_theta": 10000.0, "original_max_position_embeddings": 512, "rope_scaling": LONG}),
    ("longrope_long", 16, 513, {"max_position_embeddings": 8192, "rope_theta": 10000.0, "original_max_position_embeddings": 512, "rope_scaling": LONG}),
    ("longrope_factor", 16, 513, {"max_position_embeddings": 8192, "rope_theta": 10000.0, "rope_parameters": {**LONG, "rope_theta": 5e5, "factor": 4.0, "original_max_position_embeddings": 600}}),
]


def hex_floats(values):
    return [float(v).hex() for v in values.flatten().tolist()]


def run_case(name, head_dim, length, fields):
    config = LlamaConfig(hidden_size=2 * head_dim, num_attention_heads=2, head_dim=head_dim, **json.loads(json.dumps(fields)))
    rotary = LlamaRotaryEmbedding(config)
    positions = torch.arange(length)[None]
    cos, sin = rotary(torch.zeros(1, dtype=torch.float32), positions)
    pairs = rotary.inv_freq.numel()
    rows = [1, length - 1]
    return {"name": name, "head_dim": head_dim, "length": length, "config": fields,
            "inv_freq": hex_floats(rotary.inv_freq), "attention_scaling": float(rotary.attention_scaling).hex(),
            "rows": rows, "cos": hex_floats(cos[0, rows, :pairs]), "sin": hex_floats(sin[0, rows, :pairs])}


def main():
    default = pathlib.Path(__file__).resolve().parent.parent / "tests/data/rope_cases.json"
    output = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else default
    cases = [run_case(*case) for case in CASES]
    made_by = f"parity/rope_cases.py, transformers {transformers.__version__}, torch {torch.__version__}"
    lines = ",\n".join(json.dumps(case) for case in cases)
    output.write_text(f'{{"made_by": "{made_by}",\n"cases": [\n{lines}\n]}}\n')


if __name__ == "__main__":
    main()
