// What the coordinator remembers of a run, as parts: after its death another one goes on with them.

#include <utility>

#include "server/coordinator/coordinator.h"

namespace weir::server {

void Coordinator::SaveChanges(cluster::SavedParts* parts) {
  saved_coordinator_.SaveChanges(*this, parts);
  if (std::exchange(has_admitted_, false)) saved_admission_.SaveChanges(admission_, parts);
  membership_.SaveChanges(parts);
  checkpoints_.SaveRun(parts);
  pipelines_.SaveChanges(parts);
  settling_.SaveChanges(parts);
  last_words_.SaveChanges(parts);
  save_.SaveChanges(parts);
  shards_.SaveChanges(parts);
  desks_.SaveChanges(parts);
}

Status Coordinator::Load(const cluster::PartMap& parts, int64_t now_ms) {
  cluster::PartSource source(parts);
  WEIR_RETURN_IF_ERROR(saved_coordinator_.Load(&source, this));
  WEIR_RETURN_IF_ERROR(saved_admission_.Load(&source, &admission_));
  has_admitted_ = false;
  WEIR_RETURN_IF_ERROR(membership_.Load(&source, now_ms));
  WEIR_RETURN_IF_ERROR(checkpoints_.LoadRun(&source));
  WEIR_RETURN_IF_ERROR(pipelines_.Load(&source));
  WEIR_RETURN_IF_ERROR(settling_.Load(&source));
  WEIR_RETURN_IF_ERROR(last_words_.Load(&source));
  WEIR_RETURN_IF_ERROR(save_.Load(&source));
  WEIR_RETURN_IF_ERROR(shards_.Load(&source, now_ms));
  WEIR_RETURN_IF_ERROR(desks_.Load(&source));
  return source.CheckAllWereTaken();
}

void Coordinator::TryAgain() {
  started_ms_.reset();
  awaits_return_ = true;
  if (director_.failure().empty()) return;
  LOG(INFO) << "the run had failed (" << director_.failure() << ") and goes on";
  director_.TryAgain();
  shards_.AwaitAll();
  ended_ms_.reset();
}

}  // namespace weir::server
