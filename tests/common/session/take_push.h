// A push as a server without rounds treats it, for the tests of sessions.
#pragma once

#include <string>

#include "common/session/server_session.h"

namespace weir::session {

// current_version: as of ServerSession::Take.
inline ServerSession::Verdict TakePush(ServerSession* session, const std::string& peer,
                                       const v1::Push& push, uint64_t current_version) {
  using Kind = ServerSession::Judgement::Kind;
  const ServerSession::Judgement judgement = session->Judge(peer, push);
  ServerSession::Verdict verdict;
  if (judgement.kind == Kind::kRefused) {
    verdict.refusal = judgement.refusal;
    verdict.refusal_retry = true;
  } else if (judgement.kind != Kind::kStale) {
    verdict.task = session->Take(push, current_version);
  }
  return verdict;
}

}  // namespace weir::session
