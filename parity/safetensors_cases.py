#!/usr/bin/env python3
"""Writes files with the Python safetensors and Transformers, for tests/io/python_files_test.cpp, which reads them and writes
the same bytes again.  Usage: parity/safetensors_cases.py FOLDER; then LEMNOS_SAFETENSORS_CASES=FOLDER io_tests"""
import json
import pathlib
import sys

import torch
from safetensors.torch import save_file
from transformers import LlamaConfig, LlamaForCausalLM

FLOATS = {"F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16}
INTEGERS = {"I64": torch.int64, "I32": torch.int32, "I16": torch.int16, "I8": torch.int8, "U8": torch.uint8, "BOOL": torch.bool}


def all_dtypes():
    torch.manual_seed(0)
    tensors = {f"model.{name.lower()}": (torch.randn(3, 5) * 100).to(dtype) for name, dtype in {**FLOATS, **INTEGERS}.items()}
    tensors |= {"scalar": torch.tensor(1.5), "empty": torch.zeros(0, 4), "empty.last": torch.zeros(3, 0, dtype=torch.bool),
                "name with \"quotes\", \\ and \u00e9\n": torch.ones(1)}
    return tensors


def write_single(folder):
    tensors = all_dtypes()
    save_file(tensors, folder / "single.safetensors", metadata={"format": "pt"})
    values = {name: tensor.flatten().to(torch.float64).tolist() for name, tensor in tensors.items()}
    (folder / "single.json").write_text(json.dumps(values))


def write_sharded(folder, max_shard_size):
    config = LlamaConfig(vocab_size=96, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=2)
    model = LlamaForCausalLM(config).to(torch.bfloat16)
    model.save_pretrained(folder, max_shard_size=max_shard_size)
    (folder / "order.json").write_text(json.dumps(list(model.state_dict())))


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    write_single(folder)
    for size in ("5KB", "10KB", "1MB"):
        (folder / size).mkdir(exist_ok=True)
        write_sharded(folder / size, size)


if __name__ == "__main__":
    main()
