"""What a record says about the machine and the code it was made with, and how its files are called."""

import datetime
import json
import subprocess
from pathlib import Path

import torch


def driver_version():
    query = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    try:
        return subprocess.run(query, capture_output=True, text=True, check=True).stdout.split()[0]
    except (OSError, subprocess.CalledProcessError, IndexError):
        return "unknown"


def commit(kernels):
    """The commit whose compiler made a folder of kernels, as compile.py notes it there."""
    note = Path(kernels) / "commit"
    return note.read_text().strip() if note.exists() else "unknown"


def describe(kernels):
    properties = torch.cuda.get_device_properties(0)
    return {"date": datetime.date.today().isoformat(), "commit": commit(kernels), "device": properties.name,
            "multiprocessors": properties.multi_processor_count, "torch": torch.__version__,
            "cuda": torch.version.cuda, "cudnn": torch.backends.cudnn.version(), "driver": driver_version()}


def stem(folder, results, part):
    """Path of a record, without its ending."""
    chip = "-".join(word for word in results["device"].lower().split() if word != "nvidia")
    return folder / f"{chip}-{part}"


def write(folder, results, part):
    """Writes a record as JSON, and returns its path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = stem(folder, results, part).with_suffix(".json")
    path.write_text(json.dumps(results, indent=1) + "\n")
    return path
