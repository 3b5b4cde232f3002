"""The options that the programs of this folder share."""

import argparse
from pathlib import Path

TYPES = ("bf16", "f16", "f32")


def integers(text):
    return [int(part) for part in text.split(",")]


def make_parser(description, peers, rounds, elements=("bf16",)):
    """Which kernels, where the record goes, and who takes part; `peers` names who can."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernels", type=Path, required=True, help="folder of manifests")
    parser.add_argument("--before", type=Path, help="folder of the same kernels from another build, to compare with")
    parser.add_argument("--out", type=Path, required=True, help="folder for the JSON, the table and the plot")
    parser.add_argument("--chip", dest="form", choices=["sm_90a", "sm_80"], default="sm_90a",
                        help="which of the kernels in kernels.json")
    parser.add_argument("--kinds", nargs="+", choices=["derived", "written"], default=["derived", "written"])
    parser.add_argument("--elements", nargs="+", choices=TYPES, default=list(elements))
    parser.add_argument("--peers", nargs="*", help=f"only these: {peers}")
    parser.add_argument("--rounds", type=int, default=rounds)
    parser.add_argument("--seed", type=int, default=0)
    return parser


def add_shapes(parser, lengths, grouped):
    """Sizes of self-attention."""
    parser.add_argument("--head-dims", type=integers, default=[64, 128, 256])
    parser.add_argument("--lengths", type=integers, default=lengths)
    parser.add_argument("--tokens", type=int, default=16384, help="of all sequences together")
    parser.add_argument("--hidden", type=int, default=2048, help="numbers of a token, cut into heads")
    parser.add_argument("--grouped", action="store_true", help=grouped)
