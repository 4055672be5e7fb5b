#!/usr/bin/env python3
"""Runs a command beside a proxy that holds each ZeroMQ message for a while, one behind the other: what a message costs by
itself on a network where that is much. Ends with the command, as it ends.

  tools/measure/delaying_proxy.py --listen=HOST:PORT --to=HOST:PORT --delay_ms=N -- COMMAND..."""

import argparse
import socket
import subprocess
import sys
import threading
import time

# ZMTP 3: a greeting, then frames; what is longer than a byte can say has eight for its length.
GREETING_BYTES = 64
MORE, LONG, COMMAND = 1, 2, 4
CHUNK_BYTES = 1 << 18
# What waits here beside a message that is held. Small: else the network would send on meanwhile.
WAITING_BYTES = 1 << 15


class Frames:
    """Where messages begin in a stream of bytes that comes in chunks."""

    def __init__(self):
        self._left = GREETING_BYTES  # of the frame's body
        self._header = b""
        self._begins = True  # the next frame begins a message

    def split(self, chunk):
        """Pieces of the chunk, and whether each begins a message."""
        begin, at, pieces = 0, 0, []
        while at < len(chunk):
            if self._left:
                step = min(self._left, len(chunk) - at)
                self._left -= step
                at += step
                continue
            self._header += chunk[at:at + 1]
            at += 1
            if len(self._header) == 1:
                is_command = self._header[0] & COMMAND
                if self._begins and not is_command:
                    pieces.append((chunk[begin:at - 1], False))
                    begin = at - 1
                    pieces.append(None)  # what follows begins a message
            if len(self._header) == (9 if self._header[0] & LONG else 2):
                flags, self._left = self._header[0], int.from_bytes(self._header[1:], "big")
                if not flags & COMMAND:
                    self._begins = not flags & MORE
                self._header = b""
        pieces.append((chunk[begin:], False))
        return joined(pieces)


def joined(pieces):
    """A mark is of the piece behind it."""
    result, begins = [], False
    for piece in pieces:
        if piece is None:
            begins = True
        elif piece[0]:
            result.append((piece[0], begins))
            begins = False
    return result


def pump(source, sink, delay_s):
    """One direction of a connection, until either side ends it."""
    frames = Frames()

    def pass_on(chunk):
        for piece, begins_message in frames.split(chunk):
            if begins_message:
                time.sleep(delay_s)
            sink.sendall(piece)

    carry(source, sink, pass_on)


def carry(source, sink, pass_on):
    """Gives pass_on what source has to say, until it or the sink ends."""
    try:
        while chunk := source.recv(CHUNK_BYTES):
            pass_on(chunk)
    except OSError:
        pass
    for end in (source, sink):
        try:
            end.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


def serve(listener, to, delay_s):
    while True:
        near = listener.accept()[0]
        try:
            far = socket.create_connection(to)
        except OSError:
            near.close()  # whoever came will come again
            continue
        for end in (near, far):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
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
    threading.Thread(target=serve, args=(listener, flags.to, flags.delay_ms * 1e-3), daemon=True).start()
    return subprocess.call(flags.command)


if __name__ == "__main__":
    sys.exit(main())
