// Says who may connect to the sockets of a ZeroMQ context that ask for it: who has a key of the
// list (ZeroMQ RFC 27, ZAP). A message then tells the key of its sender, as its "User-Id". Private
// to this folder.
//
// A server of CURVE lets everybody in whom no handler refuses, so there is one before it listens.
//
// Thread rule: owner thread only; it answers on a thread of its own.
#pragma once

#include <memory>
#include <thread>

#include "common/base/rare_lines.h"
#include "common/base/status.h"
#include "common/transport/security.h"

namespace zmq {
class context_t;
class socket_t;
}  // namespace zmq

namespace weir::transport {

class ZapHandler {
 public:
  // The context has no other, and outlives this.
  static Result<std::unique_ptr<ZapHandler>> Make(zmq::context_t& context,
                                                  std::shared_ptr<const KeyList> peers);
  // Nobody else gets in.
  ~ZapHandler();
  ZapHandler(const ZapHandler&) = delete;  // its thread points to it
  ZapHandler& operator=(const ZapHandler&) = delete;

 private:
  ZapHandler(std::unique_ptr<zmq::socket_t> requests, std::unique_ptr<zmq::socket_t> end,
             std::unique_ptr<zmq::socket_t> ended, std::shared_ptr<const KeyList> peers);
  void Run();
  void AnswerOne();

  // Of the thread, while it runs.
  const std::unique_ptr<zmq::socket_t> requests_, end_;
  RareWarnings complaints_;  // by host

  const std::unique_ptr<zmq::socket_t> ended_;  // what is sent there ends the thread
  const std::shared_ptr<const KeyList> peers_;
  std::thread thread_;
};

}  // namespace weir::transport
