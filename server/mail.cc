#include "server/mail.h"

#include <utility>

#include "common/base/strings.h"
#include "common/session/header_message.h"

namespace weir::server {

void Mail::Refuse(const transport::PeerId& peer, std::string reason, bool retry) {
  Complain(peer, "refused: " + reason);
  v1::Header header;
  header.mutable_refusal()->set_reason(std::move(reason));
  header.mutable_refusal()->set_retry(retry);
  Send(peer, header);
}

bool Mail::Send(const transport::PeerId& peer, const v1::Header& header, std::vector<Bytes> body) {
  return Send(peer, session::MakeMessage(header, session::ToBody(std::move(body))));
}

bool Mail::Send(const transport::PeerId& peer, transport::Message message) {
  const Status status = transport_->Send(peer, std::move(message));
  if (status.ok()) return true;
  if (status.code() == StatusCode::kFailedPrecondition) {
    Refuse(peer, StrCat("its answer cannot be sent: ", status.message()), false);
  } else {
    // A peer that is gone comes back with a hello, and is told then what it missed.
    Complain(peer, "message lost: " + status.ToString());
  }
  return false;
}

}  // namespace weir::server
