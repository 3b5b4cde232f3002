"""Training steps of small models by who computes their attention: seconds, memory, losses.

    python benchmarks/gpu/training.py --output training        # an 8-layer Llama form on a GPU
    python benchmarks/gpu/training.py --device cpu --layers 1 --width 64 --heads 4 --key-heads 2 \\
        --head-dim 16 --tokens 128 --steps 6 --timed 2         # seconds, to try the script

Forms: `llama` (causal), `gemma2` (softcap, and a window in every other layer), `packed`
(causal within documents of random lengths, new ones each step: FlexAttention's time has
its create_block_mask in it). A step is forward, backward and AdamW. Weights, data and
their order are the same for all; `noise` runs are the reference's with weights moved by one
rounding of bfloat16 at most, so that their losses say how far runs drift apart by rounding.
Who has no form of a problem, or is not installed, is named with the reason.

Prints a table in Markdown, and writes training.md, training.json and, with matplotlib, training.png.
"""

import argparse
import datetime
import fcntl
import functools
import importlib
import json
import os
import re
import statistics
import sys
import time
from pathlib import Path

import torch
from torch.nn import functional as F

FORMS = ("llama", "gemma2", "packed")
VOCABULARY = 512
# Moves a weight to a neighbour in bfloat16, or leaves it.
NOISE = 2.0 ** -7


class NoForm(Exception):
    """Why a contestant cannot take a problem."""


#===--- Contestants -------------------------------------------------------===#
# Each takes query, key, value, (batch, tokens, heads, head dim), and what the layer
# asks for: softcap, window (keys to the left, or None) and documents, or None.

class Documents:
    """Lengths of documents that fill the rows of a batch; ids: (batch, tokens)."""

    def __init__(self, lengths, batch, tokens, device):
        starts = [0]
        for length in lengths:
            starts.append(starts[-1] + length)
        self.starts = torch.tensor(starts, dtype=torch.int32, device=device)
        self.longest = max(lengths)
        ids = torch.repeat_interleave(torch.arange(len(lengths), dtype=torch.int32, device=device),
                                      torch.tensor(lengths, device=device))
        self.ids = ids.reshape(batch, tokens)
        self._blocks = None

    def get_blocks(self):
        """FlexAttention's, made once a step."""
        if self._blocks is None:
            from torch.nn.attention.flex_attention import create_block_mask

            ids, (batch, tokens) = self.ids, self.ids.shape
            visible = lambda b, h, q, k: (q >= k) & (ids[b, q] == ids[b, k])
            self._blocks = create_block_mask(visible, batch, None, tokens, tokens, device=ids.device)
        return self._blocks


def ours(query, key, value, softcap, window, documents):
    import fa_mlir

    options = {"causal": "bottom_right", "softcap": softcap, "window": (window, 0) if window is not None else None}
    if documents is None:
        return fa_mlir.attention(query, key, value, **options)
    flat = [tensor.flatten(0, 1) for tensor in (query, key, value)]
    starts = {"query_starts": documents.starts, "key_starts": documents.starts}
    return fa_mlir.attention(*flat, **starts, **options).view(query.shape)


def sdpa(backend, query, key, value, softcap, window, documents):
    if softcap is not None:
        raise NoForm("no softcap")
    if window is not None:
        raise NoForm("no window without a mask of tokens x tokens")
    first = [tensor.transpose(1, 2) for tensor in (query, key, value)]
    if documents is not None:
        if backend is not None:
            raise NoForm("no documents without a mask of tokens x tokens")
        i = torch.arange(query.shape[1], device=query.device)
        mask = ((documents.ids[:, :, None] == documents.ids[:, None]) & (i[:, None] >= i))[:, None]
        return F.scaled_dot_product_attention(*first, mask, enable_gqa=True).transpose(1, 2)
    if backend is None:
        return F.scaled_dot_product_attention(*first, is_causal=True, enable_gqa=True).transpose(1, 2)
    with torch.nn.attention.sdpa_kernel(getattr(torch.nn.attention.SDPBackend, backend)):
        return F.scaled_dot_product_attention(*first, is_causal=True, enable_gqa=True).transpose(1, 2)


@functools.cache
def compile_flex():
    from torch.nn.attention.flex_attention import flex_attention

    return torch.compile(flex_attention, dynamic=False)


@functools.cache
def make_flex_score(softcap):
    return None if softcap is None else lambda s, b, h, q, k: softcap * torch.tanh(s / softcap)


@functools.cache
def make_flex_blocks(tokens, window, device):
    from torch.nn.attention.flex_attention import create_block_mask

    visible = lambda b, h, q, k: (q >= k) if window is None else (q >= k) & (q - k <= window)
    return create_block_mask(visible, None, None, tokens, tokens, device=device)


def flex(query, key, value, softcap, window, documents):
    if query.device.type == "cpu":
        raise NoForm("torch has no gradient of it on the CPU")
    blocks = documents.get_blocks() if documents else make_flex_blocks(query.shape[1], window, query.device)
    first = [tensor.transpose(1, 2) for tensor in (query, key, value)]
    return compile_flex()(*first, score_mod=make_flex_score(softcap), block_mask=blocks,
                          enable_gqa=True).transpose(1, 2)


def flash(module, query, key, value, softcap, window, documents):
    """FlashAttention-2 to -4, by the module that has its functions."""
    functions = importlib.import_module(module)
    options = {"causal": True, "window_size": (-1 if window is None else window, 0 if window is not None else -1)}
    if softcap is not None:
        options["softcap"] = softcap
    if module == "flash_attn.cute":
        options["window_size"] = (window, 0 if window is not None else None)
    if documents is None:
        found = functions.flash_attn_func(query, key, value, **options)
    else:
        flat = [tensor.flatten(0, 1) for tensor in (query, key, value)]
        lengths = {"cu_seqlens_q": documents.starts, "cu_seqlens_k": documents.starts,
                   "max_seqlen_q": documents.longest, "max_seqlen_k": documents.longest}
        found = functions.flash_attn_varlen_func(*flat, **lengths, **options)
    found = found[0] if isinstance(found, tuple) else found
    return found.view(query.shape)


def eager(query, key, value, softcap, window, documents):
    """By the definition, with scores of tokens x tokens in float32."""
    query, key, value = (tensor.transpose(1, 2) for tensor in (query, key, value))
    key, value = (tensor.repeat_interleave(query.shape[1] // key.shape[1], 1) for tensor in (key, value))
    scores = (query @ key.mT).float() / query.shape[-1] ** 0.5
    if softcap is not None:
        scores = softcap * torch.tanh(scores / softcap)
    i = torch.arange(query.shape[2], device=query.device)
    hidden = i[:, None] < i
    if window is not None:
        hidden = hidden | (i[:, None] - i > window)
    if documents is not None:
        hidden = hidden | (documents.ids[:, :, None] != documents.ids[:, None])[:, None]
    weights = scores.masked_fill(hidden, -torch.inf).softmax(-1).to(value.dtype)
    return (weights @ value).transpose(1, 2)


CONTESTANTS = {"fa_mlir": ours, "SDPA": functools.partial(sdpa, None),
               "SDPA cuDNN": functools.partial(sdpa, "CUDNN_ATTENTION"),
               "SDPA FLASH": functools.partial(sdpa, "FLASH_ATTENTION"), "FlexAttention": flex,
               "FlashAttention-2": functools.partial(flash, "flash_attn"),
               "FlashAttention-3": functools.partial(flash, "flash_attn_interface"),
               "FlashAttention-4": functools.partial(flash, "flash_attn.cute"), "eager": eager}
# What others are compared with, the first that takes a form.
REFERENCES = ("SDPA cuDNN", "SDPA", "FlexAttention", "FlashAttention-3", "eager")


#===--- The model ---------------------------------------------------------===#

class Layer(torch.nn.Module):
    def __init__(self, options, number):
        super().__init__()
        width, head_dim = options.width, options.head_dim
        self.heads, self.key_heads, self.head_dim = options.heads, options.key_heads, head_dim
        self.softcap = 50.0 if options.form == "gemma2" else None
        self.window = options.tokens // 2 if options.form == "gemma2" and number % 2 == 0 else None
        linear = lambda rows, columns: torch.nn.Linear(rows, columns, bias=False)
        self.projection = linear(width, (self.heads + 2 * self.key_heads) * head_dim)
        self.output = linear(self.heads * head_dim, width)
        self.gate, self.down = linear(width, 6 * width), linear(3 * width, width)
        self.norms = torch.nn.ModuleList([torch.nn.RMSNorm(width) for _ in range(2)])

    def forward(self, x, rotation, attend, documents):
        batch, tokens, _ = x.shape
        sizes = [count * self.head_dim for count in (self.heads, self.key_heads, self.key_heads)]
        parts = self.projection(self.norms[0](x)).split(sizes, -1)
        query, key, value = (part.view(batch, tokens, -1, self.head_dim) for part in parts)
        query, key = (rotate(tensor, rotation) for tensor in (query, key))
        attended = attend(query, key, value, self.softcap, self.window, documents)
        x = x + self.output(attended.reshape(batch, tokens, -1))
        one, two = self.gate(self.norms[1](x)).chunk(2, -1)
        return x + self.down(F.silu(one) * two)


def rotate(tensor, rotation):
    one, two = tensor.chunk(2, -1)
    cos, sin = rotation
    return torch.cat([one * cos - two * sin, one * sin + two * cos], -1)


class Model(torch.nn.Module):
    def __init__(self, options):
        super().__init__()
        self.embedding = torch.nn.Embedding(VOCABULARY, options.width)
        torch.nn.init.normal_(self.embedding.weight, std=options.width ** -0.5)
        self.layers = torch.nn.ModuleList([Layer(options, number) for number in range(options.layers)])
        self.norm = torch.nn.RMSNorm(options.width)
        angles = torch.arange(options.tokens)[:, None] * 1e4 ** -torch.linspace(0, 1, options.head_dim // 2)
        self.register_buffer("cos", angles.cos()[:, None])
        self.register_buffer("sin", angles.sin()[:, None])

    def forward(self, tokens, attend, documents):
        x = self.embedding(tokens)
        for layer in self.layers:
            x = layer(x, (self.cos, self.sin), attend, documents)
        return F.linear(self.norm(x), self.embedding.weight)


#===--- Runs --------------------------------------------------------------===#

@functools.cache
def make_tokens(steps, batch, length, seed):
    """(steps, batch, length): of random chains, in which each token has four likely followers."""
    generator = torch.Generator().manual_seed(seed)
    followers = torch.randint(VOCABULARY, (VOCABULARY, 4), generator=generator)
    choices = torch.randint(4, (length, steps * batch), generator=generator)
    tokens = [torch.randint(VOCABULARY, (steps * batch,), generator=generator)]
    for choice in choices[1:]:
        tokens.append(followers[tokens[-1], choice])
    return torch.stack(tokens, 1).view(steps, batch, length)


def make_batches(options, steps):
    """Tokens and, of documents that fill them, lengths."""
    generator = torch.Generator().manual_seed(options.seed)
    for tokens in make_tokens(options.steps, options.batch, options.tokens + 1, options.seed)[:steps]:
        lengths = []
        for _ in range(options.batch):
            left = options.tokens
            while left:
                lengths.append(min(left, int(torch.randint(1, max(2, options.tokens // 4), (1,), generator=generator))))
                left -= lengths[-1]
        yield tokens.to(options.device), lengths


def synchronize(device):
    if device.type == "cuda":
        torch.cuda.synchronize()


def train(options, name, noise=0, steps=None):
    """(losses, seconds of each step, peak bytes). noise: the number of a draw, 0 for none."""
    device = options.device
    torch.manual_seed(options.seed)
    with device:
        model = Model(options).to(torch.bfloat16)
    if noise:
        generator = torch.Generator(device).manual_seed(options.seed + noise)
        for parameter in model.parameters():
            drawn = torch.rand(parameter.shape, generator=generator, dtype=parameter.dtype, device=device)
            parameter.data.mul_(1 + NOISE * (drawn - 0.5))
    optimizer = torch.optim.AdamW(model.parameters(), lr=options.rate)
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats()
    losses, seconds = [], []
    steps = steps or options.steps
    for step, (tokens, lengths) in enumerate(make_batches(options, steps)):
        synchronize(device)
        if options.lock and step == steps - options.timed:
            # Other processes may compile, and wait before they time.
            fcntl.flock(options.lock, fcntl.LOCK_EX)
        start = time.perf_counter()
        documents = Documents(lengths, options.batch, options.tokens, device) if options.form == "packed" else None
        logits = model(tokens[:, :-1], CONTESTANTS[name], documents)
        loss = F.cross_entropy(logits.flatten(0, 1).float(), tokens[:, 1:].flatten())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        synchronize(device)
        seconds.append(time.perf_counter() - start)
        losses.append(loss.item())
    if options.lock:
        fcntl.flock(options.lock, fcntl.LOCK_UN)
    memory = torch.cuda.max_memory_allocated() if device.type == "cuda" else 0
    return losses, seconds, memory


def find_drift(losses, reference):
    """The mean difference of two runs' losses."""
    return statistics.fmean(abs(one - other) for one, other in zip(losses, reference))


def run_form(options):
    """A record by contestant, with a reason where there is none."""
    records, reference = {}, None
    # The first of REFERENCES that takes the form is what the others are compared with.
    for name in sorted(options.contestants, key=lambda name: REFERENCES.index(name) if name in REFERENCES else len(REFERENCES)):
        is_whole = options.all_losses or reference is None or name == "fa_mlir"
        try:
            losses, seconds, memory = train(options, name, steps=options.steps if is_whole else options.timed + 4)
        except (NoForm, ImportError, NotImplementedError, RuntimeError) as error:
            records[name] = {"reason": f"{type(error).__name__}: {str(error).splitlines()[0][:160]}"}
            continue
        if reference is None and name in REFERENCES:
            reference = name
        records[name] = {"losses": [round(loss, 5) for loss in losses], "seconds": statistics.median(seconds[-options.timed:]), "bytes": memory}
    records = {name: records[name] for name in options.contestants}
    if reference is not None:
        for number in range(1, options.noises + 1):
            noise, _, _ = train(options, reference, noise=number)
            records[f"noise {number}"] = {"losses": [round(loss, 5) for loss in noise],
                                          "drift": find_drift(noise, records[reference]["losses"])}
        for name, record in records.items():
            if "seconds" in record:
                record["drift"] = find_drift(record["losses"], records[reference]["losses"])
    return {"reference": reference, "steps": options.steps, "records": records}


def format_table(form, found):
    """A table in Markdown, and who has no number, and why."""
    lines = [f"| {form}: bf16, lower is better | ms a step | memory, GiB | first loss | last loss | drift |",
             "|---|---|---|---|---|---|"]
    for name, record in found["records"].items():
        if "reason" in record:
            continue
        losses = record["losses"]
        cells = ["", ""]
        drift = f"{record['drift']:.5f}" if "drift" in record else ""
        if "seconds" in record:
            cells = [f"{record['seconds'] * 1e3:.1f}", f"{record['bytes'] / 2 ** 30:.2f}"]
        last = f"{losses[-1]:.4f}" if len(losses) == found["steps"] else ""
        lines.append(f"| {name} | {' | '.join(cells)} | {losses[0]:.4f} | {last} | {drift} |")
    lines += ["", f"drift: the mean difference of losses from {found['reference']}'s, over the steps both ran."]
    lines += [f"{name} has no number: {record['reason']}" for name, record in found["records"].items()
              if "reason" in record]
    return lines


def plot(results, path):
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, len(results), figsize=(6 * len(results), 4), squeeze=False)
    for axis, (form, found) in zip(axes[0], results.items()):
        for name, record in found["records"].items():
            if "losses" in record:
                time = f", {record['seconds'] * 1e3:.0f} ms a step" if "seconds" in record else ""
                axis.plot(record["losses"], label=name + time, linewidth=1)
        axis.set(title=form, xlabel="step", ylabel="loss")
        axis.legend()
    figure.tight_layout()
    figure.savefig(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    defaults = {"layers": 8, "width": 2048, "heads": 16, "key_heads": 4, "head_dim": 128, "tokens": 8192, "batch": 1,
             "steps": 200, "timed": 50}
    for name, default in defaults.items():
        parser.add_argument("--" + name.replace("_", "-"), type=int, default=default)
    parser.add_argument("--lock", type=argparse.FileType("w"), help="one process of those with this file times at a time")
    parser.add_argument("--all-losses", action="store_true",
                        help="all steps of each contestant: else of fa_mlir and the reference, of others those timed")
    parser.add_argument("--noises", type=int, default=2, help="runs of the reference with noise")
    parser.add_argument("--rate", type=float, default=3e-4)
    parser.add_argument("--device", type=torch.device,
                        default=torch.device("cuda" if torch.cuda.is_available() else "cpu"))
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(4), "little"))
    parser.add_argument("--forms", nargs="+", choices=FORMS, default=FORMS)
    parser.add_argument("--contestants", nargs="+", choices=CONTESTANTS, default=list(CONTESTANTS))
    parser.add_argument("--output", type=Path, help="folder of the record")
    parser.add_argument("--name", default="training", help="of its files")
    options = parser.parse_args()
    place = torch.cuda.get_device_name() if options.device.type == "cuda" else "CPU"
    sizes = (f"{options.layers} layers, width {options.width}, {options.heads} heads on {options.key_heads}, head dim "
             f"{options.head_dim}, {options.batch} x {options.tokens} tokens, {options.steps} steps, the last "
             f"{options.timed} timed")
    print(f"seed {options.seed}, torch {torch.__version__}, {place}; {sizes}")
    results, date = {}, datetime.date.today().isoformat()
    for form in options.forms:
        options.form = form
        results[form] = run_form(options)
        print("", *format_table(form, results[form]), sep="\n", flush=True)
    if options.output:
        options.output.mkdir(parents=True, exist_ok=True)
        record = {name: str(value) if isinstance(value, (torch.device, Path)) else value
                  for name, value in vars(options).items() if name != "lock"}
        text = json.dumps({"date": date, "options": record, "place": place, "torch": torch.__version__, "forms": results})
        # A line for each contestant.
        (options.output / f"{options.name}.json").write_text(re.sub(r'("[^"]+": \{"(?:losses|reason))', r"\n\1", text) + "\n")
        page = [f"# Training steps, {place}, {date}", "", f"torch {torch.__version__}; {sizes}.", "",
                f"![losses]({options.name}.png)"]
        for form, found in results.items():
            page += ["", f"## {form}", "", *format_table(form, found)]
        (options.output / f"{options.name}.md").write_text("\n".join(page) + "\n")
        try:
            plot(results, options.output / f"{options.name}.png")
        except ImportError as error:
            print(f"no plot: {error}")
    # Losses drift no further from the reference than rounding takes it, and then some. NaN is far.
    far = []
    for form, found in results.items():
        noise = max((record["drift"] for name, record in found["records"].items() if name.startswith("noise")), default=0)
        far += [f"{form}: {name}" for name, record in found["records"].items()
                if "seconds" in record and "drift" in record and not record["drift"] <= 3 * noise + 1e-3]
    for each in far:
        print("losses are not the reference's:", each)
    return bool(far)


if __name__ == "__main__":
    sys.exit(main())
