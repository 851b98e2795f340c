"""Training speed and memory beside Transformers + PEFT on the same card, in one run.

    python3 bench/train_bench.py --binary build/release/lemnos --out bench.json [--compile]

FP32 throughout (TF32 off), random weights and tokens, AdamW, clip norm 1.0. The peer runs first, in a
process of its own per workload, then the engine; ratios are ours over the peer's.
"""

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

SHAPE = Path(__file__).parent / "shapes" / "qwen2.5-0.5b.json"
# mode, rows, length, GiB that ours must fit into by making activations again (None: all are kept)
WORK = [("lora", 1, 512, None), ("full", 1, 512, None), ("lora", 4, 1024, 8.5), ("full", 4, 1024, 12.4),
        ("lora", 8, 2048, 24)]
WARM_UP, STEPS = 3, 10


def main():
    args = parse()
    if args.peer:
        print(json.dumps(time_peer(*args.peer, compiled=args.compile)))
        return
    results = [compare(args, *work) for work in WORK]
    report = {"versions": versions(), "shape": SHAPE.stem, "work": results}
    text = json.dumps(report, indent=2)
    Path(args.out).write_text(text + "\n") if args.out else print(text)
    table(report)


def parse():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", default="build/release/lemnos")
    parser.add_argument("--out")
    parser.add_argument("--compile", action="store_true", help="the peer under torch.compile")
    parser.add_argument("--peer", nargs=3, help=argparse.SUPPRESS)
    return parser.parse_args()


def compare(args, mode, rows, length, memory_limit):
    peer_call = [sys.executable, __file__, "--peer", mode, str(rows), str(length)]
    peer = json.loads(run(peer_call + (["--compile"] if args.compile else [])))
    call = [args.binary, "bench", str(SHAPE), "--rows", str(rows), "--length", str(length), "--json"]
    call += ["--full"] if mode == "full" else []
    call += ["--memory-limit", str(memory_limit)] if memory_limit else []
    report = json.loads(run(call))
    ours = report["work"][0]
    return ours | {
        "device": report["device"], "driver": report["driver"], "peer": peer,
        "ratio": ours["tokens_per_s"] / peer["tokens_per_s"],
        "memory_ratio": ours["peak_bytes"] / peer["peak_bytes"],
    }


def run(call):
    done = subprocess.run(call, stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout.strip().splitlines()[-1] if "--peer" in call else done.stdout


def time_peer(mode, rows, length, compiled):
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    torch.manual_seed(0)
    config = AutoConfig.for_model(**json.loads(SHAPE.read_text()))
    model = AutoModelForCausalLM.from_config(config, dtype=torch.float32).cuda()
    if mode == "lora":
        from peft import LoraConfig, get_peft_model

        model = get_peft_model(model, LoraConfig(r=16, lora_alpha=32, target_modules="all-linear"))
    model.train()
    trained = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=1e-4)
    call = torch.compile(model) if compiled else model
    ids = torch.randint(0, config.vocab_size, (int(rows), int(length)), device="cuda")

    def step():
        call(input_ids=ids, labels=ids, use_cache=False).loss.backward()
        torch.nn.utils.clip_grad_norm_(trained, 1.0)
        optimizer.step()
        optimizer.zero_grad()

    for _ in range(WARM_UP):
        step()
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(STEPS):
        step()
    torch.cuda.synchronize()
    seconds = (time.perf_counter() - start) / STEPS
    return {
        "name": "torch_compile" if compiled else "torch_eager",
        "tokens_per_s": ids.numel() / seconds,
        "peak_bytes": torch.cuda.max_memory_allocated(),
    }


def versions():
    import importlib.metadata as metadata

    return {name: metadata.version(name) for name in ("torch", "transformers", "peft")}


def table(report):
    print(f"{'work':<16}{'ours tok/s':>12}{'peer tok/s':>12}{'ratio':>8}{'ours GiB':>10}{'peer GiB':>10}")
    for row in report["work"]:
        peer = row["peer"]
        print(f"{row['name']:<16}{row['tokens_per_s']:>12.0f}{peer['tokens_per_s']:>12.0f}{row['ratio']:>8.2f}"
              f"{row['peak_bytes'] / 2**30:>10.2f}{peer['peak_bytes'] / 2**30:>10.2f}")


if __name__ == "__main__":
    main()
