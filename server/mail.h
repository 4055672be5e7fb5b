// What a server sends to its workers and to other servers, and says in its log of those that cannot
// be served.
//
// Place in the life of a batch: answer, reply -> **the network** -> worker.
// Thread rule: I/O thread only. Borrows the transport.
#pragma once

#include <string>
#include <vector>

#include "common/base/bytes.h"
#include "common/base/rare_lines.h"
#include "common/base/status.h"
#include "common/proto/protocol.pb.h"
#include "common/transport/transport.h"

namespace weir::server {

class Mail {
 public:
  explicit Mail(transport::ServerTransport* transport) : transport_(transport) {}

  // What cannot be sent is refused, or lost with a word in the log: who is there asks again.
  // Whether it has left.
  bool Send(const transport::PeerId& peer, transport::Message message);
  bool Send(const transport::PeerId& peer, const v1::Header& header, std::vector<Bytes> body = {});
  void Refuse(const transport::PeerId& peer, std::string reason, bool retry);

  // It is one of ours: what it sends is bounded as its messages are.
  void Welcome(const transport::PeerId& peer) { transport_->Welcome(peer); }

  // In the log, if not too much of this peer is there already.
  void Complain(const transport::PeerId& peer, const std::string& line) {
    complaints_.Warn(peer, line);
  }
  // Now and then: tells what was not told at once, so that the log is not filled.
  void Tick() { complaints_.WarnOfCounted(); }

 private:
  transport::ServerTransport* const transport_;
  RareWarnings complaints_;  // by peer
};

}  // namespace weir::server
