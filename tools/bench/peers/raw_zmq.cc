// The peer of common/transport: libzmq as a program without ours would use it.

#include <zmq.h>

#include <array>
#include <memory>
#include <utility>

#include "common/base/strings.h"
#include "tools/bench/message_ends.h"

namespace weir::bench {
namespace {

Status ZmqError(const char* what) {
  return Internal(StrCat(what, ": ", zmq_strerror(zmq_errno())));
}

class RawEnd final : public MessageEnd {
 public:
  explicit RawEnd(int type)
      : is_router_(type == ZMQ_ROUTER),
        context_(zmq_ctx_new()),
        socket_(zmq_socket(context_, type)) {
    zmq_setsockopt(socket_, ZMQ_RCVTIMEO, &kGiveUpMs, sizeof(kGiveUpMs));
    zmq_setsockopt(socket_, ZMQ_SNDTIMEO, &kGiveUpMs, sizeof(kGiveUpMs));
    const int no_linger = 0;
    zmq_setsockopt(socket_, ZMQ_LINGER, &no_linger, sizeof(no_linger));
    zmq_msg_init(&peer_);
    zmq_msg_init(&frame_);
  }
  ~RawEnd() override {
    zmq_msg_close(&frame_);
    zmq_msg_close(&peer_);
    zmq_close(socket_);
    zmq_ctx_term(context_);
  }
  RawEnd(const RawEnd&) = delete;  // owns a socket
  RawEnd& operator=(const RawEnd&) = delete;

  Result<std::string> Bind() {
    if (zmq_bind(socket_, "tcp://127.0.0.1:*") != 0) return ZmqError("zmq_bind");
    std::array<char, 64> address{};
    size_t length = address.size();
    if (zmq_getsockopt(socket_, ZMQ_LAST_ENDPOINT, address.data(), &length) != 0) {
      return ZmqError("zmq_getsockopt");
    }
    return std::string(address.data());
  }

  Status Connect(const std::string& address) {
    return zmq_connect(socket_, address.c_str()) == 0 ? OkStatus() : ZmqError("zmq_connect");
  }

  Status Send(const Payload& payload) override {
    if (is_router_) {
      zmq_msg_t peer;
      zmq_msg_init(&peer);
      zmq_msg_copy(&peer, &peer_);
      if (zmq_msg_send(&peer, socket_, ZMQ_SNDMORE) < 0) return ZmqError("zmq_msg_send");
    }
    // The payload outlives the exchange, so nothing needs to be freed.
    const ByteSpan bytes = payload.part.span();
    zmq_msg_t frame;
    zmq_msg_init_data(
        &frame, const_cast<uint8_t*>(bytes.data()), bytes.size(), [](void*, void*) {}, nullptr);
    return zmq_msg_send(&frame, socket_, 0) < 0 ? ZmqError("zmq_msg_send") : OkStatus();
  }

  std::optional<ByteSpan> Receive() override {
    if (is_router_ && zmq_msg_recv(&peer_, socket_, 0) < 0) return std::nullopt;
    if (zmq_msg_recv(&frame_, socket_, 0) < 0) return std::nullopt;
    return ByteSpan(static_cast<const uint8_t*>(zmq_msg_data(&frame_)), zmq_msg_size(&frame_));
  }

 private:
  const bool is_router_;
  void* const context_;
  void* const socket_;
  zmq_msg_t peer_;
  zmq_msg_t frame_;
};

}  // namespace

Result<MessageEnds> MakeRawZmqEnds() {
  auto server = std::make_unique<RawEnd>(ZMQ_ROUTER);
  auto client = std::make_unique<RawEnd>(ZMQ_DEALER);
  WEIR_ASSIGN_OR_RETURN(const std::string address, server->Bind());
  WEIR_RETURN_IF_ERROR(client->Connect(address));
  return MessageEnds{.client = std::move(client), .server = std::move(server)};
}

}  // namespace weir::bench
