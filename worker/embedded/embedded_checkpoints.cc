#include "worker/embedded/embedded_checkpoints.h"

#include <utility>

#include "common/base/check.h"
#include "common/base/clock.h"
#include "common/base/random.h"
#include "common/saved_model/checkpoint_folder.h"
#include "common/saved_model/writer.h"

namespace weir::worker {

Status EmbeddedCheckpoints::Resume(const cluster::PartMap& parts) {
  cluster::PartSource source(parts);
  source.CopyTo(&kept_);
  WEIR_RETURN_IF_ERROR(run_.Load(&source));
  run_.BeginAnew();
  return OkStatus();
}

Status EmbeddedCheckpoints::Start(Options options) {
  WEIR_ASSIGN_OR_RETURN(claim_, saved_model::ClaimCheckpoints(options.folder));
  WEIR_ASSIGN_OR_RETURN(const uint64_t last, saved_model::LastCheckpoint(options.folder));
  options_ = std::move(options);
  if (options_->lineage == 0) options_->lineage = RandomNonce();
  *options_->manifest.mutable_config() = config_;
  run_.director().TakeCheckpointsAfter(last);
  return OkStatus();
}

void EmbeddedCheckpoints::Tick(bool wants_one, int64_t now_ms) {
  if (!last_ms_) last_ms_ = now_ms;
  const int64_t every_ms = config_.run().checkpoint_every_ms();
  const bool is_time = every_ms > 0 && now_ms - *last_ms_ >= every_ms;
  if (wants_one || is_time) run_.director().WantCheckpoint();
}

void EmbeddedCheckpoints::Write(const Save& save, int64_t now_ms) {
  CHECK(options_.has_value());
  const uint64_t number = run_.director().checkpoint();
  const std::string path = saved_model::CheckpointPath(options_->folder, number);
  const Status written = TryToWrite(path, save);
  if (!written.ok()) {
    LOG(WARNING) << "checkpoint " << number
                 << " was given up, and the last one stays: " << written.message();
  } else {
    LOG(INFO) << "checkpoint " << number << " is in " << path << "; training stood still for "
              << Clock::Real().NowMs() - now_ms << " ms";
  }
  last_ms_ = Clock::Real().NowMs();
  run_.director().SavedCheckpoint(*last_ms_);
}

Status EmbeddedCheckpoints::TryToWrite(const std::string& path, const Save& save) {
  WEIR_ASSIGN_OR_RETURN(const auto model, saved_model::Writer::Create(path));
  WEIR_RETURN_IF_ERROR(model->CheckRoom(options_->least_bytes));
  WEIR_ASSIGN_OR_RETURN(const SavedSteps steps,
                        save([&](ByteSpan frames) { return model->Append(frames); }));
  run_.SaveChanges(&kept_);
  v1::SavedModelManifest manifest = options_->manifest;
  manifest.set_steps(steps.all);
  manifest.set_row_steps(steps.rows);
  v1::CheckpointFacts& facts = *manifest.mutable_checkpoint();
  facts = run_.director().DescribeCheckpoint();
  facts.set_lineage(options_->lineage);
  WEIR_ASSIGN_OR_RETURN(const uint64_t checksum,
                        saved_model::WriteProgress(model->path(), kept_.parts()));
  facts.set_progress_checksum(checksum);
  WEIR_RETURN_IF_ERROR(model->Finish(std::move(manifest)));
  const Status tidied = saved_model::TidyCheckpoints(
      options_->folder,
      {.keep = static_cast<uint64_t>(config_.run().keep()), .begun_with = options_->begun_with});
  if (!tidied.ok()) LOG(WARNING) << tidied.message();
  return OkStatus();
}

}  // namespace weir::worker
