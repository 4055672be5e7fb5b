#include "server/kept_pulls.h"

#include <utility>

#include "common/base/strings.h"

namespace weir::server {
namespace {

// One thread asks for one batch ahead.
constexpr size_t kMostPulls = 16;

}  // namespace

Status KeptPulls::Keep(uint32_t trainer, Pull pull) {
  std::vector<Pull>& pulls = pulls_[trainer];
  if (pulls.size() >= kMostPulls) {
    return InvalidData(StrCat("more than ", kMostPulls, " row pulls behind one push of a round"));
  }
  pulls.push_back(std::move(pull));
  return OkStatus();
}

std::vector<KeptPulls::Pull> KeptPulls::Take(uint32_t trainer) {
  auto found = pulls_.extract(trainer);
  return found ? std::move(found.mapped()) : std::vector<Pull>();
}

}  // namespace weir::server
