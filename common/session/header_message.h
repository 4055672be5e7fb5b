// The form of every message of the protocol: part 0 is a Header, the other parts are frames.
//
// Place in the life of a batch: between sessions and transport, at both ends.
// Thread rule: pure functions.
#pragma once

#include <optional>
#include <vector>

#include "common/base/bytes.h"
#include "common/proto/protocol.pb.h"
#include "common/transport/message.h"

namespace weir::session {

// The parts behind the header.
using Body = std::vector<transport::Part>;

transport::Message MakeMessage(const v1::Header& header, const Body& body = {});

// Nothing if there is no header or it does not parse: the bytes are a peer's.
std::optional<v1::Header> ParseHeader(const transport::Message& message);

Body BodyOf(const transport::Message& message);

// Without the empty ones.
Body ToBody(std::vector<Bytes> parts);

}  // namespace weir::session
