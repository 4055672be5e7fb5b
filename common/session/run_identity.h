// What two processes must agree on before they exchange a parameter: protocol, model, data schema,
// update rules, how the input is cut, number of servers, the saved model to go on from. Travels in
// join, hello and shard reports.
//
// Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <string>

#include "common/proto/config.pb.h"
#include "common/proto/protocol.pb.h"

namespace weir::session {

// warm_start: id of the saved model that the run goes on from; 0: none.
v1::RunIdentity MakeRunIdentity(const v1::Config& config, uint32_t server_count,
                                uint64_t warm_start = 0);

// What it says of itself is not what it had to say.
bool IsDamaged(const v1::RunIdentity& identity);

// Two versions of the protocol that are not the same.
std::string DescribeVersions(uint32_t ours, uint32_t theirs);

// "" when they agree; else what differs, in words for theirs, the one who is refused: it reads them
// and is "here".
std::string DescribeMismatch(const v1::RunIdentity& ours, const v1::RunIdentity& theirs);

}  // namespace weir::session
