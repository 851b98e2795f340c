"""python -m parity.peer_train MODEL ROWS.jsonl ...: the peer that a Lemnos training is set beside.

Transformers, and PEFT for LoRA, in FP32 on the rows {"input_ids": [...], "labels": [...]} in file
order (again from the top when they run out), one optimizer step per --batch rows of one length.
AdamW (0.9, 0.999), eps 1e-8, decay 0; the schedules are Transformers' own. Prints one JSON: loss
and gradient norm of each step, tokens/s after --warmup-runs steps, peak memory. Runs with any
Transformers 5 and torch 2, it names the versions it used; nothing of the oracle is needed.
"""

import argparse
import json
import resource
import sys
import time
from pathlib import Path


def parse():
    parser = argparse.ArgumentParser(prog="parity.peer_train", description=__doc__)
    parser.add_argument("model", type=Path)
    parser.add_argument("rows", type=Path)
    parser.add_argument("--adapter", type=Path, help="LoRA, starting from this PEFT folder")
    parser.add_argument("--lora-r", type=int, help="LoRA with a new adapter (B = 0)")
    parser.add_argument("--lora-alpha", type=int, default=16)
    parser.add_argument("--lora-targets", default="all-linear", help="all-linear or q_proj,v_proj")
    parser.add_argument("--save-initial-adapter", type=Path, help="write the adapter as it starts")
    parser.add_argument("--save", type=Path, help="write the trained model or adapter")
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--lr", type=float, default=2e-4)
    parser.add_argument("--schedule", choices=("linear", "constant"), default="linear")
    parser.add_argument("--warmup-steps", type=int, default=0)
    parser.add_argument("--max-grad-norm", type=float, default=1.0)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--attention", choices=("eager", "sdpa"), default="eager")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--threads", type=int, help="CPU threads")
    parser.add_argument("--seed", type=int, default=0, help="of a new adapter")
    parser.add_argument("--warmup-runs", type=int, default=2, help="steps left out of tokens/s")
    return parser.parse_args()


def main():
    options = parse()
    import torch

    configure(torch, options)
    model = load(torch, options)
    if options.save_initial_adapter:
        model.save_pretrained(options.save_initial_adapter)
    batches = read_batches(torch, options)
    history, seconds = train(torch, options, model, batches)
    if options.save:
        model.save_pretrained(options.save)
    json.dump(summary(torch, options, model, history, seconds), sys.stdout, indent=1)
    print()


def configure(torch, options):
    torch.set_float32_matmul_precision("highest")
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    torch.manual_seed(options.seed)
    if options.threads:
        torch.set_num_threads(options.threads)


def load(torch, options):
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(
        options.model, dtype=torch.float32, attn_implementation=options.attention
    )
    model.config.use_cache = False
    model = add_lora(model, options).to(options.device).train()
    narrow = {p.dtype for p in model.parameters()} - {torch.float32}
    if narrow:
        raise SystemExit(f"parameters are not all float32: {narrow}")
    return model


def add_lora(model, options):
    if not options.adapter and not options.lora_r:
        return model
    from peft import LoraConfig, PeftModel, get_peft_model

    if options.adapter:
        return PeftModel.from_pretrained(model, options.adapter, is_trainable=True)
    targets = options.lora_targets
    return get_peft_model(model, LoraConfig(
        r=options.lora_r, lora_alpha=options.lora_alpha, lora_dropout=0.0, task_type="CAUSAL_LM",
        target_modules=targets if targets == "all-linear" else targets.split(","),
    ))


def read_batches(torch, options):
    """The batches of all steps, in file order."""
    rows = [json.loads(line) for line in options.rows.open() if line.strip()]
    if not rows:
        raise SystemExit(f"{options.rows} has no rows")
    batches = []
    for step in range(options.steps):
        first = step * options.batch
        part = [rows[i % len(rows)] for i in range(first, first + options.batch)]
        if len({len(row["input_ids"]) for row in part}) > 1:
            raise SystemExit(f"step {step + 1}: rows of a batch must have equal lengths")
        batches.append({
            key: torch.tensor([row.get(key, row["input_ids"]) for row in part])
            for key in ("input_ids", "labels")
        })
    return batches


def train(torch, options, model, batches):
    """Per-step figures, and the seconds of the steps after the warm-up runs."""
    from transformers import get_scheduler

    trainable = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(trainable, lr=options.lr, betas=(0.9, 0.999), eps=1e-8,
                                  weight_decay=0.0)
    # Plain "constant" would ignore the warm-up.
    name = "constant_with_warmup" if options.schedule == "constant" else options.schedule
    schedule = get_scheduler(name, optimizer, num_warmup_steps=options.warmup_steps,
                             num_training_steps=options.steps)
    run = torch.compile(model) if options.compile else model
    history, seconds = [], []
    for batch in batches:
        start = time.perf_counter()
        inputs = {key: value.to(options.device) for key, value in batch.items()}
        loss = run(**inputs, use_cache=False).loss
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(trainable, options.max_grad_norm)
        rate = schedule.get_last_lr()[0]
        optimizer.step()
        schedule.step()
        optimizer.zero_grad(set_to_none=True)
        history.append({"loss": loss.item(), "grad_norm": float(norm), "lr": rate})
        seconds.append(time.perf_counter() - start)
        print(f"step {len(history)} loss {history[-1]['loss']:.6f}", file=sys.stderr)
    return history, seconds


def summary(torch, options, model, history, seconds):
    import transformers

    counted = seconds[options.warmup_runs :]
    tokens = options.batch * row_length(options)
    facts = {
        "torch": torch.__version__, "transformers": transformers.__version__,
        "device": device_name(torch, options.device), "attention": options.attention,
        "compile": options.compile, "batch": options.batch, "tokens_per_step": tokens,
        "trainable": sum(p.numel() for p in model.parameters() if p.requires_grad),
        "steps": history, "peak_bytes": peak_bytes(torch, options.device),
        "tokens_per_s": tokens * len(counted) / sum(counted) if counted else None,
    }
    if options.adapter or options.lora_r:
        import peft

        facts["peft"] = peft.__version__
    return facts


def row_length(options):
    with options.rows.open() as lines:
        return len(json.loads(next(lines))["input_ids"])


def device_name(torch, device):
    return torch.cuda.get_device_name(device) if device.startswith("cuda") else device


def peak_bytes(torch, device):
    """CUDA: allocated and reserved by torch; CPU: the process's largest resident size."""
    if device.startswith("cuda"):
        return {"allocated": torch.cuda.max_memory_allocated(device),
                "reserved": torch.cuda.max_memory_reserved(device)}
    return {"resident": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}


if __name__ == "__main__":
    main()
