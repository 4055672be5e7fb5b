"""How a peer's process is set up before PyTorch is loaded: what its documentation calls tuning.

- Its own memory allocator: blocks that are freed in one step are taken again in the next, with their
  pages. jemalloc as PyTorch's tuning guide sets it; without it glibc's, told to keep what it has.
- Threads of OpenMP that wait stay awake.
- torch.compile starts no processes of its own, which could outlive this one.
- One pool of threads: Debian's default BLAS brings another beside OpenMP's, and the two fight.
"""

import glob
import os
import sys

STARTED = "WEIR_PEER_STARTED"
DEBIAN_OPENBLAS = "/usr/lib/x86_64-linux-gnu/openblas-openmp"
JEMALLOC = "/usr/lib/*/libjemalloc.so.2"


def allocator():
    found = glob.glob(JEMALLOC)
    if found:
        return {"LD_PRELOAD": found[0],
                "MALLOC_CONF": "oversize_threshold:1,background_thread:true,metadata_thp:auto,"
                               "dirty_decay_ms:-1,muzzy_decay_ms:-1"}
    return {"MALLOC_MMAP_THRESHOLD_": "4294967295", "MALLOC_TRIM_THRESHOLD_": "4294967295",
            "MALLOC_TOP_PAD_": "268435456"}


def settings():
    chosen = allocator() | {"OMP_WAIT_POLICY": "active", "OMP_NUM_THREADS": "1",
                            "TORCHINDUCTOR_COMPILE_THREADS": "1"}
    if sys.prefix == sys.base_prefix and os.path.isdir(DEBIAN_OPENBLAS):
        chosen["LD_LIBRARY_PATH"] = DEBIAN_OPENBLAS
    return chosen


def start_again():
    """Once, since a loader and an allocator read their settings when a process starts."""
    if STARTED not in os.environ:
        os.execve(sys.executable, [sys.executable] + sys.argv, os.environ | settings() | {STARTED: "1"})
