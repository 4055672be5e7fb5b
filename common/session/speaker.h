// Who may say what: where senders prove who they are (transport/security.h), a message is taken
// from the process that it says it is from, and from no other. What does not say so is its
// connection's, which a hello has named.
//
// Thread rule: any thread.
#pragma once

#include "common/base/status.h"
#include "common/proto/protocol.pb.h"
#include "common/transport/security.h"

namespace weir::session {

// proved: whom the sender has proved to be; empty without security, where anybody may say anything.
// FailedPrecondition that names both.
Status CheckSpeaker(const transport::PeerName& proved, const v1::Header& header);
// speaker: empty where it names nobody.
Status CheckSpeaker(const transport::PeerName& proved, const transport::PeerName& speaker);

}  // namespace weir::session
