// The form of every message of the protocol: part 0 is a Header and its checksum, the other parts
// are frames.
//
// The checksum is a field that no Header has, behind those that it has. So a release without
// checksums reads our headers too, and hears that its version is another.
//
// Place in the life of a batch: between sessions and transport, at both ends.
// Thread rule: pure functions.
#pragma once

#include <cstddef>
#include <vector>

#include "common/base/bytes.h"
#include "common/base/status.h"
#include "common/proto/protocol.pb.h"
#include "common/session/body.h"
#include "common/transport/message.h"

namespace weir::session {

transport::Message MakeMessage(const v1::Header& header, const Body& body = {});

// A header names and counts; what grows with the model is in the other parts. One above this is
// not ours, and would become several times its size as messages.
inline constexpr size_t kMaxHeaderBytes = size_t{64} << 20;

// Of a peer's bytes. InvalidData: there is no header, or it was damaged on the way, and may come
// whole another time. FailedPrecondition: it is one of another version of the protocol.
Result<v1::Header> ParseHeader(const transport::Message& message);

Body BodyOf(const transport::Message& message);

// Without the empty ones.
Body ToBody(std::vector<Bytes> parts);

}  // namespace weir::session
