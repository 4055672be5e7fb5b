#include "server/saving.h"

#include <unistd.h>

#include <filesystem>
#include <utility>

#include "common/base/check.h"
#include "common/base/file_writer.h"
#include "common/base/strings.h"
#include "common/saved_model/places.h"
#include "server/part_sink.h"

namespace weir::server {

Saving::Saving(std::string directory, uint32_t server, uint32_t server_count, Executor& executor,
               std::function<void()> wake)
    : directory_(std::move(directory)),
      server_(server),
      server_count_(server_count),
      executor_(executor),
      wake_(std::move(wake)),
      taker_(executor, wake_) {}

Saving::~Saving() {
  if (work_) work_->Wait();
}

Status Saving::Prepare(uint64_t run) {
  const std::string folder = saved_model::FolderOfRun(directory_, run);
  {
    MutexLock lock(mutex_);
    part_path_ = saved_model::FileIn(folder, saved_model::PartName(server_, server_count_));
  }
  if (server_ == 0) {
    WEIR_ASSIGN_OR_RETURN(folder_, saved_model::ModelFolder::CreateForRun(directory_, run));
    return OkStatus();
  }
  std::error_code error;
  if (!std::filesystem::is_directory(folder, error)) {
    return FailedPrecondition(StrCat(folder,
                                     ", which server 0 has made, is not there: --save, and "
                                     "--checkpoints, has to lead to one folder "
                                     "that all servers reach, on storage that they share"));
  }
  return access(folder.c_str(), W_OK) == 0 ? OkStatus() : CannotWrite(folder);
}

void Saving::Begin(Shard* shard) {
  has_begun_ = true;
  PartSink::Part part{.path = {},
                      .row_stage = shard->layout().row_stage(),
                      .least_bytes = PartSink::LeastBytes(*shard),
                      .written_bytes = &written_bytes_,
                      .on_done = [this](v1::PartReport done) {
                        MutexLock lock(mutex_);
                        done_ = std::move(done);
                      }};
  {
    MutexLock lock(mutex_);
    part.path = part_path_;
  }
  taker_.Begin(shard, CutForm::kModel, [part] { return PartSink::Open(part); });
}

void Saving::Step() {
  if (!taker_.is_at_work()) return;
  taker_.Step();
  if (taker_.is_at_work() || taker_.outcome().ok()) return;
  MutexLock lock(mutex_);
  if (failure_.ok()) failure_ = taker_.outcome();
}

void Saving::YieldCut() {
  if (!taker_.holds_cut()) return;
  taker_.YieldCut();
  MutexLock lock(mutex_);
  failure_ = Interrupted("given up, for another wanted the parameters");
}

std::optional<v1::PartReport> Saving::part() const {
  if (!has_begun_) return std::nullopt;
  MutexLock lock(mutex_);
  if (done_) return done_;
  v1::PartReport part;
  part.set_written_bytes(written_bytes_);
  return part;
}

void Saving::Conclude(v1::SavedModelManifest manifest, Add add, std::function<void()> then) {
  is_concluding_ = true;
  Start([this, manifest = std::move(manifest), add = std::move(add),
         then = std::move(then)]() mutable {
    if (add) WEIR_RETURN_IF_ERROR(add(folder_->path(), &manifest));
    WEIR_RETURN_IF_ERROR(folder_->Finish(std::move(manifest)));
    then();
    MutexLock lock(mutex_);
    is_concluded_ = true;
    return OkStatus();
  });
}

bool Saving::is_concluded() const {
  MutexLock lock(mutex_);
  return is_concluded_;
}

Status Saving::failure() const {
  MutexLock lock(mutex_);
  return failure_;
}

bool Saving::End(int64_t patience_ms) {
  return taker_.AbandonWithin(patience_ms) && (!work_ || work_->EndsWithin(patience_ms));
}

void Saving::Discard() const {
  if (folder_) folder_->Discard();
}

void Saving::Start(std::function<Status()> work) {
  if (work_) work_->Wait();
  work_ = executor_.Begin([this, work = std::move(work)] {
    Status status = work();
    {
      MutexLock lock(mutex_);
      if (!status.ok()) failure_ = std::move(status);
    }
    wake_();  // a run may wait for this to end
  });
}

void ReportSaving(Saving* saving, ShardReporterOptions* options) {
  if (saving == nullptr) return;
  options->saves = true;
  options->on_save = [saving] { saving->Ask(); };
  options->part = [saving] { return saving->part(); };
}

}  // namespace weir::server
