"""Programs that a tool runs, none of which outlives it. SIGINT, SIGTERM and SIGHUP are one interruption: programs
are told to end and waited for, and the tool ends with 130; a second one kills them. When the tool itself is killed the
kernel tells them to end, where there is setpriv (util-linux). What the tools that measure share."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# A closed terminal, or a service that is stopped, sends two kinds at once.
SAME_INTERRUPTION_S = 1
# The kernel tells a program so when the thread that started it is gone. A program before ours, since nothing of
# Python's is safe between fork and exec where there are threads.
TIE = ("setpriv", "--pdeathsig=TERM")

_running = set()
_starting = set()  # marks of calls whose processes may be there and are not in _running yet
_interrupted_at = None


def _interrupt(*_):
    global _interrupted_at
    if _interrupted_at is None:
        _interrupted_at = time.monotonic()
        for process in list(_running):
            process.terminate()
        if not _starting:  # else those who start them find out, and nothing is lost half-way
            raise KeyboardInterrupt
    elif time.monotonic() - _interrupted_at > SAME_INTERRUPTION_S:
        for process in list(_running):
            process.kill()
        os._exit(130)


def _is_interrupted():
    return _interrupted_at is not None


def _start(command, options):
    mark = object()
    _starting.add(mark)
    try:
        if _is_interrupted():
            raise KeyboardInterrupt
        process = subprocess.Popen(command, **options)
        _running.add(process)
        if _is_interrupted():  # between the first look and now, so that it was not told
            process.terminate()
        return process
    finally:
        _starting.discard(mark)


@contextlib.contextmanager
def started(command, **options):
    """A process of this command; when this is left it has ended."""
    process = _start([*(TIE if shutil.which(TIE[0]) else ()), *command], options)
    try:
        yield process
    finally:
        if not _is_interrupted():
            process.terminate()
        process.wait()
        _running.discard(process)


def call(command):
    """Runs it to its end; ends with what it said when that was not well."""
    with started(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                 errors="replace") as process:
        said = process.communicate()[0]
    check(process, command, said)


def check(process, command, said):
    """Of a process that has ended."""
    if _is_interrupted():
        raise KeyboardInterrupt
    if process.returncode != 0:
        sys.exit("error: %s\n%s" % (" ".join(command), said))


def run_tool(main, advice=""):
    """Ends this process with what main() gives, or with 130 and a line when it is interrupted."""
    for number in SIGNALS:
        if signal.getsignal(number) != signal.SIG_IGN:  # as nohup wants it
            signal.signal(number, _interrupt)
    try:
        code = main()
    except KeyboardInterrupt:
        for process in list(_running):  # one that the signal came between to start and to wait for
            process.wait()
        print("interrupted" + advice, file=sys.stderr)
        code = 130
    sys.exit(code)
