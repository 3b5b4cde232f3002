#!/bin/bash
# Installs the Debian 12 packages that building and testing need and that are
# not there yet. Does nothing, and needs no network and no rights, when all are
# installed. docs/dependencies.md says what each one is for.
set -euo pipefail

packages=(
  ca-certificates
  ccache
  clang-22
  clang-format-22
  cmake
  git
  libclang-rt-22-dev
  libgtest-dev
  libmlir-22-dev
  libomp-22-dev
  libstdc++-12-dev
  lld-22
  llvm-22-dev
  llvm-22-tools
  make
  mlir-22-tools
  ninja-build
  python3
  python3-venv
  zlib1g-dev
)

if ! command -v dpkg-query >/dev/null; then
  echo "error: this system has no dpkg; install the counterparts of these" \
    "Debian 12 packages yourself and use the CMake preset 'default':" \
    "${packages[*]}" >&2
  exit 1
fi

missing=()
for package in "${packages[@]}"; do
  state=$(dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null || true)
  # A library package of several architectures reports one state for each.
  case $state in
  installed*) ;;
  *) missing+=("$package") ;;
  esac
done
[ ${#missing[@]} -eq 0 ] && exit 0

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null; then
    echo "error: these packages are missing: ${missing[*]};" \
      "install them as root, or run this as root" >&2
    exit 1
  fi
  as_root=(sudo)
fi

echo "installing ${#missing[@]} missing packages: ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
"${as_root[@]}" apt-get update -qq
unknown=()
for package in "${missing[@]}"; do
  apt-cache show "$package" >/dev/null 2>&1 || unknown+=("$package")
done
if [ ${#unknown[@]} -ne 0 ]; then
  echo "error: apt knows no package ${unknown[*]}; Debian 12 has them in" \
    "bookworm and bookworm-security (LLVM 22), so check that both are among" \
    "the sources" >&2
  exit 1
fi
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
  apt-get install -y -qq --no-install-recommends "${missing[@]}"
