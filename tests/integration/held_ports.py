"""Loopback ports for the servers that a test starts. Each is held by a socket that is bound and does not
listen until the test program ends: a server can listen on it, and the system gives it to nobody who asks
for just any port, such as the clients of tests that run beside."""

import socket

_HOLDERS = []


def free_ports(count, family=socket.AF_INET):
    holders = [socket.socket(family) for _ in range(count)]
    for holder in holders:
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        holder.bind(("::1" if family == socket.AF_INET6 else "127.0.0.1", 0))
    _HOLDERS.extend(holders)
    return [holder.getsockname()[1] for holder in holders]


def free_addresses(count):
    return ["tcp://127.0.0.1:%d" % port for port in free_ports(count)]
