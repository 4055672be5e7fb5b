#include "common/session/run_identity.h"

#include <algorithm>

#include "common/base/bytes.h"
#include "common/base/strings.h"
#include "common/config/config_hash.h"
#include "common/session/client_session.h"
#include "common/wire/checksum.h"

namespace weir::session {
namespace {

config::RunHashes Hashes(const v1::RunIdentity& identity) {
  return {identity.model(), identity.data(), identity.update(), identity.pipeline(),
          identity.agreement()};
}

// Of all fields but itself, by their numbers; never 0.
uint64_t ChecksumOf(const v1::RunIdentity& identity) {
  const uint64_t fields[] = {
      identity.protocol_version(), identity.model(),     identity.data(),
      identity.update(),           identity.agreement(), identity.server_count(),
      identity.warm_start(),       identity.pipeline()};
  wire::Checksum checksum;
  checksum.Append({reinterpret_cast<const uint8_t*>(fields), sizeof(fields)});
  return std::max<uint64_t>(1, checksum.value());
}

}  // namespace

v1::RunIdentity MakeRunIdentity(const v1::Config& config, uint32_t server_count,
                                uint64_t warm_start) {
  const config::RunHashes hashes = config::HashRun(config);
  v1::RunIdentity identity;
  identity.set_protocol_version(kProtocolVersion);
  identity.set_model(hashes.model);
  identity.set_data(hashes.data);
  identity.set_update(hashes.update);
  identity.set_pipeline(hashes.pipeline);
  identity.set_agreement(hashes.agreement);
  identity.set_server_count(server_count);
  identity.set_warm_start(warm_start);
  identity.set_checksum(ChecksumOf(identity));
  return identity;
}

bool IsDamaged(const v1::RunIdentity& identity) {
  return identity.checksum() != 0 && identity.checksum() != ChecksumOf(identity);
}

std::string DescribeVersions(uint32_t ours, uint32_t theirs) {
  return StrCat("protocol version ", theirs, " meets ", ours,
                ": both sides must run the same release");
}

std::string DescribeMismatch(const v1::RunIdentity& ours, const v1::RunIdentity& theirs) {
  if (IsDamaged(theirs)) return "what it says of its config was damaged on the way here";
  if (ours.protocol_version() != theirs.protocol_version()) {
    return DescribeVersions(ours.protocol_version(), theirs.protocol_version());
  }
  if (ours.server_count() != theirs.server_count()) {
    return StrCat("--servers lists ", theirs.server_count(), " servers here and ",
                  ours.server_count(), " at the process that refuses: all need the same list");
  }
  if (ours.warm_start() != theirs.warm_start()) {
    return "--warm_start or --resume names another saved model or checkpoint here than at the "
           "process that refuses, or only one of the two has it: all need the same";
  }
  return config::DescribeMismatch(Hashes(ours), Hashes(theirs));
}

}  // namespace weir::session
