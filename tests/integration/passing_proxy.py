"""A proxy on loopback: passes on what comes at its address, and back. Of tests."""

import os
import socket
import sys
import threading

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools", "measure"))
import proxy  # noqa: E402


class PassingProxy:
    def __init__(self, target_port):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = "tcp://127.0.0.1:%d" % self.listener.getsockname()[1]
        threading.Thread(target=proxy.serve, args=(self.listener, ("127.0.0.1", target_port), self.begin),
                         daemon=True).start()

    def begin(self, near, far):
        for ends in ((near, far), (far, near)):
            threading.Thread(target=self.carry, args=ends, daemon=True).start()

    def carry(self, source, sink):
        proxy.carry(source, sink, lambda data: self.pass_on(sink, data))
        source.close()

    def pass_on(self, sink, data):
        """Of each connection, and either way, on a thread of its own."""
        sink.sendall(data)
