"""The network to one server of a run that is disturbed: a proxy that cuts connections, is silent, delays and narrows
as it is told, and tells who listens what headers came by. Of tools/chaos."""

import contextlib
import random
import socket
import struct
import threading
import time

import proxy

# Taken at a time, so that a narrow path is one all the time.
STEP_BYTES = 1 << 15
LOOK_S = 0.005
# An end that is closed so sends a reset, and no farewell.
RESET = struct.pack("ii", 1, 0)


class Connection:
    """Both ends of one, and what of it is heard."""

    def __init__(self, path, near, far, hear):
        self.path, self.ends, self.is_cut = path, (near, far), False
        self.left = 2  # of the threads below
        for source, sink, is_up in ((near, far, True), (far, near, False)):
            frames = proxy.Frames(lambda header, is_up=is_up: hear(header, is_up))
            threading.Thread(target=self._pump, args=(source, sink, frames), daemon=True).start()

    def cut(self, with_reset):
        """Who waits for an end hears of it at once; what is under way is lost."""
        self.is_cut = True
        for end in self.ends:
            with contextlib.suppress(OSError):
                if with_reset:
                    end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
                end.shutdown(socket.SHUT_RD if with_reset else socket.SHUT_RDWR)

    def _pump(self, source, sink, frames):
        with contextlib.suppress(OSError):
            while chunk := source.recv(STEP_BYTES):
                frames.split(chunk)
                self.path.hold(len(chunk), self)
                if self.is_cut:
                    break
                sink.sendall(chunk)
        self._leave()

    def _leave(self):
        """The first ends both directions, the second closes both ends."""
        if not self.is_cut:
            for end in self.ends:
                with contextlib.suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)
        with self.path.lock:
            self.left -= 1
            if self.left:
                return
            self.path.connections.remove(self)
        for end in self.ends:
            end.close()


class Path:
    """From who calls `address` to the server that listens at `to`. listener: makes what hears the headers of a new
    connection, each with whether it goes to the server."""

    def __init__(self, server, to, listener):
        self.server, self._listener = server, listener
        self.lock, self.connections = threading.Lock(), []
        self.silent_until = self.delayed_until = self.narrow_until = 0
        self.delay_s = self.bytes_per_s = 0
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.address = "tcp://127.0.0.1:%d" % self._socket.getsockname()[1]
        threading.Thread(target=proxy.serve, args=(self._socket, to, self._begin), daemon=True).start()

    def _begin(self, near, far):
        with self.lock:
            self.connections.append(Connection(self, near, far, self._listener(self.server)))

    def hold(self, byte_count, connection):
        """A piece of so many bytes, for as long as it takes on the path as it is now."""
        now = time.monotonic()
        if now < self.delayed_until:
            time.sleep(self.delay_s)
        if now < self.narrow_until:
            time.sleep(byte_count / self.bytes_per_s)
        while time.monotonic() < self.silent_until and not connection.is_cut:
            time.sleep(LOOK_S)

    def cut(self, dice):
        """All connections, or one of them; whether there were any. One that was cut may be here for a while yet."""
        with self.lock:
            there = [connection for connection in self.connections if not connection.is_cut]
        chosen = there if dice.random() < 0.5 else dice.sample(there, min(1, len(there)))
        for connection in chosen:
            connection.cut(dice.random() < 0.5)
        return bool(chosen)

    def do(self, harm):
        """What harm.py has drawn for it; whether that was anything."""
        until = time.monotonic() + harm.for_s
        if harm.kind == "cut":
            return self.cut(random.Random(harm.amount))
        if harm.kind == "silence":
            self.silent_until = until
        elif harm.kind == "delay":
            self.delayed_until, self.delay_s = until, harm.amount
        elif harm.kind == "narrow":
            self.narrow_until, self.bytes_per_s = until, harm.amount
        return True

    def close(self):
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        with self.lock:
            there = list(self.connections)
        for connection in there:
            connection.cut(False)
