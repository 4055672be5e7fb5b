#include "common/config/validate_consistency.h"

namespace weir::config {
namespace {

constexpr int kMostTrainers = 4096;

}  // namespace

void ValidateConsistency(const v1::Config& config, Violations* violations) {
  if (!config.consistency().has_sync()) return;
  const v1::SyncConsistency& sync = config.consistency().sync();
  violations->RequireRange("consistency.sync.trainers", sync.trainers(), 1, kMostTrainers);
  if (!v1::LostTrainer_IsValid(sync.lost_trainer())) {
    violations->Add("consistency.sync.lost_trainer", "unknown value ", sync.lost_trainer(),
                    "; choose GO_ON or STOP");
  }
  if (config.compression().row_cache().rows() > 0) {
    violations->Add("compression.row_cache.rows",
                    "with consistency.sync rows are those after the round before; leave it out");
  }
  if (config.pipeline().split_size() > 0) {
    violations->Add("consistency.sync",
                    "a model in stages has no rounds; leave pipeline.split out, or choose async");
  }
}

std::vector<std::string> ValidateThreads(const v1::Config& config, int thread_count) {
  if (!config.consistency().has_sync() || thread_count == 1) return {};
  return {
      "--threads: with consistency.sync a trainer has one thread; leave it out, and start more "
      "trainers"};
}

}  // namespace weir::config
