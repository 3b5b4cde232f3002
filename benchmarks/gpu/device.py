"""What a record says about the machine it was made on."""

import datetime
import json
import subprocess

import torch


def driver_version():
    query = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    try:
        return subprocess.run(query, capture_output=True, text=True, check=True).stdout.split()[0]
    except (OSError, subprocess.CalledProcessError, IndexError):
        return "unknown"


def describe():
    properties = torch.cuda.get_device_properties(0)
    return {"date": datetime.date.today().isoformat(), "device": properties.name,
            "multiprocessors": properties.multi_processor_count, "torch": torch.__version__,
            "cuda": torch.version.cuda, "cudnn": torch.backends.cudnn.version(), "driver": driver_version()}


def stem(folder, results, part):
    """Path of a record, without its ending."""
    return folder / f"{results['date']}-{'-'.join(results['device'].lower().split())}-{part}"


def write(folder, results, part):
    """Writes a record as JSON, and returns its path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = stem(folder, results, part).with_suffix(".json")
    path.write_text(json.dumps(results, indent=1) + "\n")
    return path
