"""A proxy between ends that speak ZeroMQ: what of a stream is which message, and how bytes get from one end to the
other. Of delaying_proxy.py, and of tools/chaos."""

import socket

# ZMTP 3: a greeting, then frames; what is longer than a byte can say has eight for its length.
GREETING_BYTES = 64
MORE, LONG, COMMAND = 1, 2, 4
CHUNK_BYTES = 1 << 18


class Frames:
    """Where messages begin in a stream of bytes that comes in chunks. hear_header: hears the first frame of each."""

    def __init__(self, hear_header=None):
        self._left = GREETING_BYTES  # of the frame's body
        self._header = b""
        self._begins = True  # the next frame begins a message
        self._hear_header = hear_header
        self._heard = None  # of the frame that is heard

    def split(self, chunk):
        """Pieces of the chunk, and whether each begins a message."""
        begin, at, pieces = 0, 0, []
        while at < len(chunk):
            if self._left:
                at += self._pass_body(chunk, at)
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
                self._begin_body()
        pieces.append((chunk[begin:], False))
        return joined(pieces)

    def _begin_body(self):
        flags, self._left = self._header[0], int.from_bytes(self._header[1:], "big")
        if not flags & COMMAND:
            self._heard = b"" if self._begins and self._hear_header else None
            self._begins = not flags & MORE
        self._header = b""
        self._tell_heard()

    def _pass_body(self, chunk, at):
        step = min(self._left, len(chunk) - at)
        self._left -= step
        if self._heard is not None:
            self._heard += chunk[at:at + step]
            self._tell_heard()
        return step

    def _tell_heard(self):
        if self._heard is not None and not self._left:
            self._hear_header(self._heard)
            self._heard = None


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


def serve(listener, to, begin):
    """begin: takes over both ends of each connection, until the listener ends."""
    while True:
        try:
            near = listener.accept()[0]
        except OSError:
            return
        try:
            far = socket.create_connection(to)
        except OSError:
            near.close()  # whoever came will come again
            continue
        for end in (near, far):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        begin(near, far)
