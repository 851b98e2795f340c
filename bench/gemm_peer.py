"""FP32 matrix products beside PyTorch's (cuBLAS, TF32 off) on the same card, in one run: speed and error.

    python3 bench/gemm_peer.py --bench build/bench --device NVIDIA --out gemm.json

--bench: the folder of gemm_bench and gemm_error. Speed: the best of repeated runs of each, GPU timestamps of
ours, CUDA events of the peer's; ratios are ours over the peer's. Error: against float64, relative to the
result's root mean square, on other draws of the same distributions (bench/gemm_error.cpp).
"""

import argparse
import json
import subprocess
import time
from pathlib import Path

SIZES = {
    "nn": ["8192,8192,8192", "4096,896,896", "4096,4864,896", "4096,896,4864"],
    "nt": ["8192,8192,8192", "4096,896,896", "4096,4864,896", "4096,896,4864", "4096,128,896"],
    "tn": ["8192,8192,8192", "896,896,4096", "4864,896,4096", "896,4864,4096"],
}
ERROR_SIZE = (512, 512, 4096)
KINDS = ("normal", "outliers", "uniform")
RUNS = 20


def main():
    args = parse()
    sizes = {layout: args.size or of_layout for layout, of_layout in SIZES.items()}
    speed = [compare(args, layout, size) for layout, of_layout in sizes.items() for size in of_layout]
    report = {"torch": peer().__version__, "device": args.device, "speed": speed, "error": errors(args)}
    text = json.dumps(report, indent=2)
    Path(args.out).write_text(text + "\n") if args.out else print(text)
    for row in speed:
        ours = "  ".join(f"{kernel} {row[kernel]:8.1f} ({row[kernel] / row['peer']:.2f})" for kernel in args.gemm)
        print(f"{row['layout']} {row['size']:<18} peer {row['peer']:8.1f} GFLOP/s  {ours}")
    for row in report["error"]:
        print(f"{row['kernel']:<6}{row['layout']} {row['data']:<9} rms {row['rms']:.2e}  worst {row['worst']:.2e}")


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bench", type=Path, default=Path("build/bench"))
    parser.add_argument("--device", default="NVIDIA", help="ours; cpu: both on the processor")
    parser.add_argument("--gemm", type=lambda text: text.split(","), default=["fma", "split"])
    parser.add_argument("--size", action="append", help="M,N,K instead of the list; may be repeated")
    parser.add_argument("--out")
    return parser.parse_args()


def peer():
    import torch

    torch.backends.cuda.matmul.allow_tf32 = False
    return torch


def on(args):
    return "cpu" if args.device == "cpu" else "cuda"


def compare(args, layout, size):
    row = {"layout": layout, "size": size, "peer": peer_gflops(args, layout, size)}
    for kernel in args.gemm:
        call = [args.bench / "gemm_bench", "--device", args.device, "--gemm", kernel, "--layout", layout, "--size", size,
                "--seconds", "0.3", "--json"]
        row[kernel] = json.loads(output_of(call)[0])["gflops"]
    return row


def output_of(call):
    return subprocess.run(call, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()


def stored(layout, m, n, k):
    """Shapes as they lie in memory, and how each goes into a product."""
    a = (k, m) if layout == "tn" else (m, k)
    b = (n, k) if layout == "nt" else (k, n)
    return a, b


def product(layout, a, b):
    return (a.T if layout == "tn" else a) @ (b.T if layout == "nt" else b)


def peer_gflops(args, layout, size):
    torch = peer()
    m, n, k = map(int, size.split(","))
    a, b = (torch.randn(shape, device=on(args)) for shape in stored(layout, m, n, k))
    best = min(time_once(torch, args, lambda: product(layout, a, b)) for _ in range(RUNS))
    return 2e-9 * m * n * k / best


def time_once(torch, args, work):
    """Seconds."""
    if on(args) == "cpu":
        start = time.perf_counter()
        work()
        return time.perf_counter() - start
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    work()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) / 1000


def errors(args):
    m, n, k = ERROR_SIZE
    call = [args.bench / "gemm_error", "--device", args.device, "--size", f"{m},{n},{k}", "--gemm", ",".join(args.gemm)]
    rows = [json.loads(line) for line in output_of(call)]
    return rows + [peer_error(args, layout, kind) for kind in KINDS for layout in SIZES]


def peer_error(args, layout, kind):
    torch = peer()
    torch.manual_seed(1)
    draw = torch.rand if kind == "uniform" else torch.randn
    a, b = (draw(shape, device=on(args)) for shape in stored(layout, *ERROR_SIZE))
    if kind == "outliers":
        (a[5::64] if layout == "tn" else a[:, 5::64]).mul_(1000)
        b /= 50
    exact = product(layout, a.double(), b.double())
    off, rms = product(layout, a, b).double() - exact, exact.square().mean().sqrt()
    return {"kernel": "peer", "layout": layout, "data": kind,
            "rms": (off.square().mean().sqrt() / rms).item(), "worst": (off.abs().max() / rms).item()}


if __name__ == "__main__":
    main()
