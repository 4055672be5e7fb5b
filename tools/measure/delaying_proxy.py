#!/usr/bin/env python3
"""Runs a command beside a proxy that holds each ZeroMQ message for a while, one behind the other: what a message costs by
itself on a network where that is much. Ends with the command, as it ends.

  tools/measure/delaying_proxy.py --listen=HOST:PORT --to=HOST:PORT --delay_ms=N -- COMMAND..."""

import argparse
import functools
import socket
import subprocess
import sys
import threading
import time

sys.dont_write_bytecode = True
import proxy  # noqa: E402

# What waits here beside a message that is held. Small: else the network would send on meanwhile.
WAITING_BYTES = 1 << 15


def pump(source, sink, delay_s):
    """One direction of a connection, until either side ends it."""
    frames = proxy.Frames()

    def pass_on(chunk):
        for piece, begins_message in frames.split(chunk):
            if begins_message:
                time.sleep(delay_s)
            sink.sendall(piece)

    proxy.carry(source, sink, pass_on)


def begin(near, far, delay_s):
    for end in (near, far):
        end.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, WAITING_BYTES)
    for source, sink in ((near, far), (far, near)):
        threading.Thread(target=pump, args=(source, sink, delay_s), daemon=True).start()


def address(text):
    host, _, port = text.rpartition(":")
    return host, int(port)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--listen", type=address, required=True)
    parser.add_argument("--to", type=address, required=True)
    parser.add_argument("--delay_ms", type=float, required=True)
    parser.add_argument("command", nargs="+")
    flags = parser.parse_args()
    listener = socket.create_server(flags.listen)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, WAITING_BYTES)
    begins = functools.partial(begin, delay_s=flags.delay_ms * 1e-3)
    threading.Thread(target=proxy.serve, args=(listener, flags.to, begins), daemon=True).start()
    return subprocess.call(flags.command)


if __name__ == "__main__":
    sys.exit(main())
