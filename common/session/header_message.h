// The form of every message of the protocol: part 0 is a Header, the other parts are frames.
//
// Place in the life of a batch: between sessions and transport, at both ends.
// Thread rule: pure functions.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "common/base/bytes.h"
#include "common/proto/protocol.pb.h"
#include "common/session/body.h"
#include "common/transport/message.h"

namespace weir::session {

transport::Message MakeMessage(const v1::Header& header, const Body& body = {});

// A header names and counts; what grows with the model is in the other parts. One above this is
// not ours, and would become several times its size as messages.
inline constexpr size_t kMaxHeaderBytes = size_t{64} << 20;

// Nothing if there is no header, it is above kMaxHeaderBytes or it does not parse: the bytes are a
// peer's.
std::optional<v1::Header> ParseHeader(const transport::Message& message);

Body BodyOf(const transport::Message& message);

// Without the empty ones.
Body ToBody(std::vector<Bytes> parts);

}  // namespace weir::session
