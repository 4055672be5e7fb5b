#include "common/transport/failed_handshake.h"

namespace weir::transport {

std::string WhyHandshakeFailed(uint16_t event, int value) {
  if (event == ZMQ_EVENT_HANDSHAKE_FAILED_AUTH) {
    return "it refuses who has this process's key: the list of keys there does not have it";
  }
  if (event == ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL) {
    return "it ended the connection before that was made; perhaps one end has keys and the other "
           "has none, or other ones";
  }
  if (event != ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL) return {};
  switch (value) {
    case ZMQ_PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH:
      return "one end has keys and the other has none; give --keys to both, or to neither";
    case ZMQ_PROTOCOL_ERROR_ZMTP_CRYPTOGRAPHIC:
    case ZMQ_PROTOCOL_ERROR_ZMTP_KEY_EXCHANGE:
      return "it expects other keys of this process, or does not have its own; are the lists of "
             "keys the same at both ends?";
    default:
      return "what it says is malformed; it is none of ours, or damaged";
  }
}

}  // namespace weir::transport
