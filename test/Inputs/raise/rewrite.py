"""What the scripts make_*.py share: their command line, and writing or comparing texts of this folder.

    sys.exit(rewrite.main(VERSIONS, TEXTS))

VERSIONS are the packages that a script needs, TEXTS a function that gives the text for each name of a file. The status is 1
where --check finds a text that differs, or a package has another version.
"""

import argparse
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path


def check_versions(versions):
    """One line for each package that is missing or of another version."""
    for package, wanted in versions.items():
        try:
            found = version(package).split("+")[0]
        except PackageNotFoundError:
            found = "not installed"
        if found != wanted:
            yield f"error: {package} is {found}, expected {package}=={wanted}"


def main(versions, texts):
    parser = argparse.ArgumentParser()
    parser.add_argument("--check", action="store_true", help="compare, and write nothing")
    parser.add_argument("folder", nargs="?", type=Path, default=Path(__file__).parent)
    options = parser.parse_args()
    problems = list(check_versions(versions))
    if problems:
        print("\n".join(problems))
        return 1
    differing = 0
    for name, make in texts.items():
        path, text = options.folder / name, make()
        if not options.check:
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            differing += 1
            print(f"{name} differs")
    print(f"{len(texts)} texts, {differing} differ" if options.check else f"{len(texts)} texts written")
    return 1 if differing else 0
