"""Disks of servers that are slow or full for a while, and that keep what is removed. Of tools/chaos."""

import contextlib
import ctypes
import os
import shutil
import subprocess
import sys

import launching

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "disturbed_disk.c")
# Asks for nothing until something is written.
ROOMY = "1g"
PAGE_BYTES, MOST_ATTEMPTS = 4096, 1000
IN_NAMESPACE = "WEIR_CHAOS_IN_NAMESPACE"
MS_REMOUNT, MNT_DETACH = 32, 2


def enter_namespace():
    """Starts this tool again where mounts are its own, and go with it. Comes back where that may not be, or has been
    done."""
    if IN_NAMESPACE in os.environ or not shutil.which("unshare"):
        return
    for way in ["unshare", "--mount"], ["unshare", "--mount", "--map-root-user"]:
        probe = subprocess.run([*way, "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True, check=False)
        if probe.returncode == 0:
            os.environ[IN_NAMESPACE] = "yes"
            os.execvp(way[0], [*way, sys.executable, *sys.argv])


def can_mount():
    return IN_NAMESPACE in os.environ


def build_shim(folder):
    """What servers are started with; nothing where there is no C compiler."""
    shim = os.path.abspath(os.path.join(folder, "disturbed_disk.so"))
    compiler = shutil.which("cc")
    if not compiler:
        return None
    launching.call([compiler, "-O1", "-shared", "-fPIC", "-Wall", "-Werror", "-o", shim, SOURCE, "-ldl"])
    return shim


class Disk:
    """The folder of a server: its --data_dir is `data` in it."""

    def __init__(self, folder, shim, is_small):
        self.folder, self.shim, self.is_small = os.path.abspath(folder), shim, is_small
        os.makedirs(self.folder)
        if is_small:
            mount("none", self.folder, "tmpfs", 0, "size=" + ROOMY)
        self.data = os.path.join(self.folder, "data")
        for name in ("kept", "again"):
            os.mkdir(os.path.join(self.folder, name))

    def environment(self):
        if not self.shim:
            return None
        return {**os.environ, "LD_PRELOAD": self.shim, "DISTURBED_DISK": self.folder}

    def slow(self, delay_s):
        """0: as it was."""
        path = os.path.join(self.folder, "slow")
        if delay_s:
            with open(path, "w", encoding="utf-8") as f:
                f.write("%d" % (1000 * delay_s))
        else:
            with contextlib.suppress(FileNotFoundError):
                os.remove(path)

    def fill(self):
        """While somebody writes: what is there may be more by then than it was a moment ago."""
        for attempt in range(MOST_ATTEMPTS):
            room = os.statvfs(self.folder)
            used = (room.f_blocks - room.f_bfree) * room.f_frsize
            with contextlib.suppress(OSError):
                return mount("none", self.folder, None, MS_REMOUNT, "size=%d" % (used + attempt * PAGE_BYTES))
        raise OSError("cannot fill " + self.folder)

    def free(self):
        mount("none", self.folder, None, MS_REMOUNT, "size=" + ROOMY)

    def logs(self):
        """Folders with all that was written of its log; the second is empty, unless it began anew."""
        kept, again = (os.path.join(self.folder, name) for name in ("kept", "again"))
        for name in os.listdir(self.data) if os.path.isdir(self.data) else ():
            if name.startswith("log-"):
                there = os.path.exists(os.path.join(kept, name))
                os.rename(os.path.join(self.data, name), os.path.join(again if there else kept, name))
        return [folder for folder in (kept, again) if os.listdir(folder)]

    def close(self, keeps):
        """keeps: what is there."""
        if not self.is_small:
            return
        if keeps:
            shutil.copytree(self.folder, self.folder + "-kept")
        ctypes.CDLL(None).umount2(self.folder.encode(), MNT_DETACH)


def mount(source, target, kind, how, options):
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(source.encode(), target.encode(), kind and kind.encode(), ctypes.c_ulong(how), options.encode()):
        raise OSError(ctypes.get_errno(), "cannot mount " + target)
