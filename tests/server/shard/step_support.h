// Steps as the dispatcher posts them.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "server/shard/pending.h"
#include "server/shard/shard.h"
#include "tests/server/server_test_support.h"

namespace weir::server {

// A step of as many workers' pushes, each answered with what changed since that version.
inline Result<std::shared_ptr<PendingStep>> MakeStep(const Shard& shard,
                                                     std::vector<std::vector<Bytes>> bodies,
                                                     uint64_t since = 0, StageId stage = {}) {
  auto step = std::make_shared<PendingStep>();
  step->stage = stage;
  step->is_step = true;
  for (std::vector<Bytes>& body : bodies) {
    WEIR_ASSIGN_OR_RETURN(Contribution routed,
                          shard.Route(stage, {MakeParts({}, std::move(body))}));
    step->contributions.push_back(std::move(routed));
    step->answers.emplace_back().task = {.slot = {}, .since = since, .apply = true};
  }
  return step;
}

}  // namespace weir::server
