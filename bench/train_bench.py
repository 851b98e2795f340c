"""Training speed and memory beside Transformers + PEFT on the same card, in one run.

    python3 bench/train_bench.py --binary build/release/lemnos --out bench.json [--compile] [--work lora_b1_t512,...]
    python3 bench/train_bench.py --cpu ...    # SmolLM2-135M on lavapipe beside PyTorch on the processor

FP32 throughout (TF32 off), random weights and tokens, AdamW, clip norm 1.0. The peer runs first, in a
process of its own per workload (eager, and with --compile under torch.compile too), then the engine;
ratios are ours over the peer's. LoRA is also run with the frozen matrices in bf16, as bf16 checkpoints
hold them, which changes no number of such a model. What is done is in --out after each workload.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

SHAPES = Path(__file__).parent / "shapes"
GPU_SHAPE, CPU_SHAPE = SHAPES / "qwen2.5-0.5b.json", SHAPES / "smollm2-135m.json"
# mode, rows, length, GiB that ours must fit into by making activations again (None: all are kept)
WORK = [("lora", 1, 512, None), ("full", 1, 512, None), ("lora", 4, 1024, 8.5), ("full", 4, 1024, 12.4),
        ("lora", 8, 2048, 24)]
CPU_WORK = [("lora", 1, 256, None)]
WARM_UP, STEPS, CPU_STEPS = 3, 10, 3


def main():
    args = parse()
    if args.peer:
        print(json.dumps(time_peer(*args.peer, compiled=args.compile, cpu=args.cpu)))
        return
    report = {"versions": versions(), "shape": shape_of(args.cpu).stem, "load": os.getloadavg(), "work": []}
    for work in CPU_WORK if args.cpu else WORK:
        if args.work and name_of(*work) not in args.work:
            continue
        report["work"] += compare(args, *work)
        if args.out:
            Path(args.out).write_text(json.dumps(report, indent=2) + "\n")
    if not args.out:
        print(json.dumps(report, indent=2))
    table(report)


def parse():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", default="build/release/lemnos")
    parser.add_argument("--out")
    parser.add_argument("--compile", action="store_true", help="the peer under torch.compile too")
    parser.add_argument("--cpu", action="store_true", help="both on the processor, with all its cores")
    parser.add_argument("--work", type=lambda text: text.split(","), help="only these")
    parser.add_argument("--peer", nargs=3, help=argparse.SUPPRESS)
    return parser.parse_args()


def shape_of(cpu):
    return CPU_SHAPE if cpu else GPU_SHAPE


def name_of(mode, rows, length, _limit):
    return f"{mode}_b{rows}_t{length}"


def compare(args, mode, rows, length, memory_limit):
    """Ours, and for LoRA ours on a bf16 base, each with the peers and the ratios to them."""
    peer_call = [sys.executable, __file__, "--peer", mode, str(rows), str(length)] + ["--cpu"] * args.cpu
    peers = [json.loads(run(peer_call + more)) for more in ([], ["--compile"])[:1 + args.compile]]
    call = [args.binary, "bench", str(shape_of(args.cpu)), "--rows", str(rows), "--length", str(length), "--json"]
    call += ["--device", "cpu", "--steps", str(CPU_STEPS)] if args.cpu else []
    call += ["--full"] if mode == "full" else []
    call += ["--memory-limit", str(memory_limit)] if memory_limit else []
    found = []
    for base in ([], ["--bf16-base"])[:1 + (mode == "lora")]:
        report = json.loads(run(call + base))
        ours = report["work"][0] | {"base": "bf16" if base else "f32", "device": report["device"], "driver": report["driver"]}
        found.append(ours | {"peers": [peer | {
            "ratio": ours["tokens_per_s"] / peer["tokens_per_s"],
            "memory_ratio": ours["peak_bytes"] / peer["peak_bytes"] if peer["peak_bytes"] else None,
        } for peer in peers]})
    return found


def run(call):
    done = subprocess.run(call, stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout.strip().splitlines()[-1] if "--peer" in call else done.stdout


def time_peer(mode, rows, length, compiled, cpu):
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    torch.manual_seed(0)
    config = AutoConfig.for_model(**json.loads(shape_of(cpu).read_text()))
    device = "cpu" if cpu else "cuda"
    model = AutoModelForCausalLM.from_config(config, dtype=torch.float32).to(device)
    if mode == "lora":
        from peft import LoraConfig, get_peft_model

        model = get_peft_model(model, LoraConfig(r=16, lora_alpha=32, target_modules="all-linear"))
    model.train()
    trained = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=1e-4)
    call = torch.compile(model) if compiled else model
    ids = torch.randint(0, config.vocab_size, (int(rows), int(length)), device=device)

    def step():
        call(input_ids=ids, labels=ids, use_cache=False).loss.backward()
        torch.nn.utils.clip_grad_norm_(trained, 1.0)
        optimizer.step()
        optimizer.zero_grad()

    def finish():
        if not cpu:
            torch.cuda.synchronize()

    for _ in range(WARM_UP):
        step()
    finish()
    steps, start = CPU_STEPS if cpu else STEPS, time.perf_counter()
    for _ in range(steps):
        step()
    finish()
    seconds = (time.perf_counter() - start) / steps
    return {
        "name": "torch_compile" if compiled else "torch_eager",
        "tokens_per_s": ids.numel() / seconds,
        "peak_bytes": 0 if cpu else torch.cuda.max_memory_allocated(),
        "threads": torch.get_num_threads(),
    }


def versions():
    import importlib.metadata as metadata

    return {name: metadata.version(name) for name in ("torch", "transformers", "peft")}


def table(report):
    print(f"{'work':<15}{'base':<6}{'ours tok/s':>11}{'GiB':>7}  {'peer':<15}{'tok/s':>9}{'GiB':>8}{'ratio':>7}")
    for row in report["work"]:
        for peer in row["peers"]:
            print(f"{row['name']:<15}{row['base']:<6}{row['tokens_per_s']:>11.0f}{row['peak_bytes'] / 2**30:>7.2f}  "
                  f"{peer['name']:<15}{peer['tokens_per_s']:>9.0f}{peer['peak_bytes'] / 2**30:>8.2f}{peer['ratio']:>7.2f}")


if __name__ == "__main__":
    main()
