// The transport inside one process: bounded queues between threads. For tests of everything above
// transport without sockets, and for runs whose servers and workers share a process.
//
// An address is any text, by custom "inproc://name". As with ZeroMQ, a connection may be opened
// before anyone is bound to its address and then keeps its messages; a server's end loses what was
// sent to it, and the next one bound to the address meets the same connection as a new peer; the
// last messages of a transport still arrive after its destruction. A message above the receiver's
// limits breaks the connection: what is in flight is lost, and the peer is a new one.
//
// Thread rule: LoopbackNetwork any thread; the transports as transport.h says. The network belongs
// to the caller and must outlive its transports.
#pragma once

#include <memory>

#include "common/transport/transport.h"

namespace weir::transport {

class LoopbackHub;

class LoopbackNetwork {
 public:
  LoopbackNetwork();
  ~LoopbackNetwork();
  LoopbackNetwork(const LoopbackNetwork&) = delete;  // its transports point to it
  LoopbackNetwork& operator=(const LoopbackNetwork&) = delete;

  // Bind: InvalidConfig for an empty address, FailedPrecondition for one in use.
  std::unique_ptr<ServerTransport> MakeServer(const Limits& limits = {});

  // Open: InvalidConfig for an empty address.
  // name: what its messages say of who sent them, as if it had been proved.
  std::unique_ptr<ClientTransport> MakeClient(const Limits& limits = {}, PeerName name = {});

 private:
  const std::unique_ptr<LoopbackHub> hub_;
};

}  // namespace weir::transport
