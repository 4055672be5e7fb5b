# Sourced by scripts that compile for cards, from the repository root.
# shellcheck shell=bash

# The compiler that this machine has, or else the one that tools/install_dependencies cuda brought.
find_nvcc() {
  command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null ||
    ls "$PWD"/build/cuda-toolkit/lib/python3*/site-packages/nvidia/cu*/bin/nvcc 2>/dev/null
}
