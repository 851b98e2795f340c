"""SmolLM2-135M: 50 LoRA steps at 512 tokens beside Transformers + PEFT, from one start, on one card.

    python3 bench/smollm2.py HF_FOLDER --binary build/release/lemnos --out FOLDER [--peers cuda,cpu]

LoRA r=16 on all linear modules, lr 2e-4 linear, clip norm 1.0, batch 1, FP32. The rows are this
repository's own text. Both sides start from the adapter that lemnos initialises. Writes
FOLDER/smollm2.json (losses of every step, differences, speeds, the logits' difference in PEFT) and
FOLDER/smollm2.svg. HF_FOLDER: see parity/gguf_to_hf.py.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
STEPS, LENGTH = 50, 512
RUN = {
    "use_peft": True, "lora_r": 16, "lora_alpha": 32, "lora_dropout": 0.0,
    "lora_target_modules": "all-linear", "per_device_train_batch_size": 1, "max_length": LENGTH,
    "learning_rate": 2e-4, "lr_scheduler_type": "linear", "max_grad_norm": 1.0, "weight_decay": 0.0,
    "train_sampling_strategy": "sequential", "logging_steps": 1, "save_strategy": "no", "seed": 1,
}


def main():
    args = parse()
    out = args.out
    out.mkdir(parents=True, exist_ok=True)
    rows = write_rows(args.model, out / "rows.jsonl")
    initial = lemnos(args, rows, out / "initial", max_steps=1, learning_rate=0.0)
    ours = lemnos(args, rows, out / "ours", max_steps=args.steps)
    report = {"steps": args.steps, "tokens_per_step": LENGTH, "ours": ours, "peers": {}}
    for device in args.peers.split(","):
        report["peers"][device] = peer(args, rows, out / "initial", device)
    report["differences"] = differences(report)
    report["logits"] = logits_in_peft(args, out)
    (out / "smollm2.json").write_text(json.dumps(report, indent=1) + "\n")
    (out / "smollm2.svg").write_text(plot(report))
    print(json.dumps({key: report[key] for key in ("differences", "logits")}, indent=1))


def parse():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=Path)
    parser.add_argument("--binary", type=Path, default=ROOT / "build/release/lemnos")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--peers", default="cuda,cpu")
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--device", help="of lemnos")
    return parser.parse_args()


def write_rows(model, path):
    """Rows of LENGTH tokens out of the repository's sources."""
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(model)
    text = "\n".join(p.read_text() for p in sorted((ROOT / "src").rglob("*.h")))
    ids = tokenizer(text)["input_ids"]
    rows = [ids[i : i + LENGTH] for i in range(0, STEPS * LENGTH, LENGTH)]
    if len(rows[-1]) != LENGTH:
        sys.exit("too little text for the rows")
    path.write_text("".join(json.dumps({"input_ids": row}) + "\n" for row in rows))
    return path


def lemnos(args, rows, folder, **changes):
    run = RUN | {"model_name_or_path": str(args.model), "dataset_name": str(rows), "output_dir": str(folder)} | changes
    config = folder.with_suffix(".yaml")
    config.write_text(json.dumps(run))  # JSON is YAML
    call = [args.binary, "train", "-c", config] + (["--device", args.device] if args.device else [])
    subprocess.run(call, check=True)
    metrics = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    applied = json.loads((folder / "applied.json").read_text())
    speeds = sorted(row["tokens_per_second"] for row in metrics[2:]) or [0.0]
    return {
        "device": applied["device"], "driver": applied["driver"], "peak_bytes": applied["peak_bytes"],
        "loss": [row["loss"] for row in metrics], "grad_norm": [row["grad_norm"] for row in metrics],
        "tokens_per_s": speeds[len(speeds) // 2],
    }


def peer(args, rows, adapter, device):
    call = [sys.executable, "-m", "parity.peer_train", args.model, rows, "--adapter", adapter,
            "--steps", str(args.steps), "--lr", "2e-4", "--device", device]
    done = subprocess.run(call, check=True, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    facts = json.loads(done.stdout)
    facts["loss"] = [step["loss"] for step in facts["steps"]]
    return facts


def differences(report):
    def largest(a, b):
        return max(abs(x - y) for x, y in zip(a, b))

    peers = report["peers"]
    found = {f"ours against {name}": largest(report["ours"]["loss"], p["loss"]) for name, p in peers.items()}
    names = list(peers)
    if len(names) == 2:
        found[f"{names[0]} against {names[1]}"] = largest(peers[names[0]]["loss"], peers[names[1]]["loss"])
    return found


def logits_in_peft(args, out):
    """The trained adapter in PEFT, as a reference bundle of logits that lemnos verifies."""
    import torch
    from peft import PeftModel
    from safetensors.torch import save_file
    from transformers import AutoModelForCausalLM

    bundle = out / "bundle"
    bundle.mkdir(exist_ok=True)
    ids = torch.tensor([json.loads((out / "rows.jsonl").open().readline())["input_ids"][:64]])
    tensors = {"input_ids": ids, "labels": ids.clone()}
    for name, dtype in (("logits", torch.float32), ("truth/logits", torch.float64)):
        base = AutoModelForCausalLM.from_pretrained(args.model, dtype=torch.float32, attn_implementation="eager")
        model = PeftModel.from_pretrained(base, out / "ours").to(dtype).eval()
        with torch.no_grad():
            tensors[name] = model(input_ids=ids, use_cache=False).logits.to(dtype).contiguous()
    save_file(tensors, bundle / "tensors.safetensors")
    for name, target in (("model", args.model.resolve()), ("adapter", (out / "ours").resolve())):
        if not (bundle / name).exists():
            (bundle / name).symlink_to(target)
    (bundle / "reference.json").write_text(json.dumps({
        "format": 1, "name": "smollm2 adapter in PEFT", "stage": "lora", "fixture": "real", "profile": "eps3",
        "steps": 0, "optimizer": {"lr": 0.0, "betas": [0.9, 0.999], "eps": 1e-8, "weight_decay": 0.0},
    }))
    done = subprocess.run([args.binary, "verify", bundle, "--json"], stdout=subprocess.PIPE, text=True)
    report = json.loads(done.stdout)
    if "error" in report:
        sys.exit(f"lemnos verify: {report['error']['message']}")
    kind = report["kinds"][0]
    return {key: kind[key] for key in ("max_abs_vs_hf", "max_abs_vs_truth", "hf_max_abs_vs_truth", "gate2")}


def plot(report):
    """Loss curves as an SVG."""
    width, height, margin = 720, 360, 48
    curves = {"Lemnos": report["ours"]["loss"]} | {f"PyTorch {n}": p["loss"] for n, p in report["peers"].items()}
    low = min(min(c) for c in curves.values())
    high = max(max(c) for c in curves.values())
    lines = []
    for (name, curve), (color, dash) in zip(curves.items(), (("#c33", ""), ("#36c", "8 5"), ("#393", "2 4"))):
        points = " ".join(
            f"{margin + i * (width - 2 * margin) / max(1, len(curve) - 1):.1f},"
            f"{height - margin - (y - low) / max(high - low, 1e-9) * (height - 2 * margin):.1f}"
            for i, y in enumerate(curve))
        lines.append(f'<polyline fill="none" stroke="{color}" stroke-width="2" stroke-dasharray="{dash}" points="{points}"/>')
        lines.append(f'<text x="{width - margin - 130}" y="{margin + 18 * len(lines) // 2}" fill="{color}">{name}</text>')
    axis = (f'<text x="4" y="{margin}">{high:.2f}</text><text x="4" y="{height - margin}">{low:.2f}</text>'
            f'<text x="{width // 2 - 20}" y="{height - 12}">step</text>')
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif" '
            f'font-size="13"><rect width="100%" height="100%" fill="white"/>{axis}{"".join(lines)}</svg>\n')


if __name__ == "__main__":
    main()
