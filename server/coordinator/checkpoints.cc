#include "server/coordinator/checkpoints.h"

#include <utility>

#include "common/base/check.h"

namespace weir::server {
namespace {

// Each change in two places; empty where a part is gone.
class TwoPlaces final : public cluster::SavedParts {
 public:
  TwoPlaces(cluster::KeptParts* kept, cluster::PartMap* changed)
      : kept_(*kept), changed_(*changed) {}

  void Put(std::string name, Bytes state) override {
    changed_.insert_or_assign(name, state);
    kept_.Put(std::move(name), std::move(state));
  }
  void Remove(std::string name) override {
    changed_.insert_or_assign(name, Bytes());
    kept_.Remove(std::move(name));
  }

 private:
  cluster::KeptParts& kept_;
  cluster::PartMap& changed_;
};

void PutAll(const cluster::PartMap& from, cluster::SavedParts* to) {
  for (const auto& [name, state] : from) state.empty() ? to->Remove(name) : to->Put(name, state);
}

}  // namespace

Checkpoints::Checkpoints(const v1::Config& config, uint32_t server_count, cluster::RunBook* run)
    : every_ms_(config.run().checkpoint_every_ms()),
      run_(*run),
      director_(run->director()),
      book_(server_count) {}

void Checkpoints::Start(const Beginning& beginning) {
  has_started_ = mirrors_ = true;
  lineage_ = beginning.lineage;
  director_.TakeCheckpointsAfter(beginning.last_number);
  director_.RenewCheckpoint();
}

void Checkpoints::Skip() {
  if (director_.checkpoint() != 0) director_.SavedCheckpoint(now_ms_);
}

Status Checkpoints::Resume(const cluster::PartMap& run) {
  cluster::PartSource source(run);
  WEIR_RETURN_IF_ERROR(LoadRun(&source));
  run_.BeginAnew();
  is_saved_ = false;
  return OkStatus();
}

Status Checkpoints::LoadRun(cluster::PartSource* source) {
  mirrors_ = is_saved_ = true;
  source->CopyTo(&kept_);
  Status loaded = run_.Load(source);
  source->CopyTo(nullptr);
  return loaded;
}

void Checkpoints::Take(cluster::Seat seat, const v1::WorkRequest& request) {
  if (request.has_checkpoint()) book_.Take(seat, request.checkpoint());
  if (request.wants_checkpoint()) Want();
}

void Checkpoints::Fill(cluster::Seat seat, v1::WorkReply* reply) const {
  if (director_.checkpoint() == 0 || director_.checkpoint() != book_.number()) return;
  if (book_.has_folder() && !book_.is_cut() && !HasPutAside(seat)) {
    reply->set_checkpoint(book_.number());
  }
}

void Checkpoints::OnFolder() {
  book_.OnFolder();
  director_.Changed();
}

std::optional<Checkpoints::Whole> Checkpoints::TakeWhole() {
  if (!book_.TakeWhole()) return std::nullopt;
  return Whole{book_.Manifest(), std::move(of_run_)};
}

void Checkpoints::OnDone() { End(book_.number()); }

// At the very end another may be waited for. The next one may have waited for this, and training
// for the next one.
void Checkpoints::End(uint64_t number) {
  book_.Finish();
  director_.SetCheckpointAtWork(false);
  if (number == director_.checkpoint()) director_.SavedCheckpoint(now_ms_);
  BeginIfItMay(now_ms_);
}

void Checkpoints::Step(bool all_have_put_aside, int64_t now_ms) {
  now_ms_ = now_ms;
  if (!has_started_) return;
  if (!last_ms_) last_ms_ = now_ms;
  if (every_ms_ > 0 && now_ms - *last_ms_ >= every_ms_) Want();
  BeginIfItMay(now_ms);
  const bool is_ready = book_.has_folder() && !book_.is_cut() && book_.has_any();
  if (is_ready && all_have_put_aside) {
    CatchUp();
    of_run_ = kept_.parts();
    book_.Cut();
    LOG(INFO) << "checkpoint " << book_.number() << " is put aside; training stood still for "
              << now_ms - *last_ms_ << " ms, but for the last chunks' time";
    // At the very end nobody has anything else to do than to wait for it.
    if (!director_.at_end()) director_.SavedCheckpoint(now_ms);
  }
  const uint64_t number = book_.number();
  const auto failure = book_.TakeFailure(now_ms);
  if (!failure) return;
  LOG(WARNING) << "checkpoint " << number << " was given up, and the last one stays: " << *failure;
  End(number);
}

void Checkpoints::BeginIfItMay(int64_t now_ms) {
  const uint64_t number = director_.checkpoint();
  if (number == 0 || is_at_work()) return;
  v1::CheckpointFacts facts = director_.DescribeCheckpoint();
  facts.set_lineage(lineage_);
  book_.Begin(std::move(facts), now_ms);
  director_.SetCheckpointAtWork(true);
  last_ms_ = now_ms;
}

void Checkpoints::CatchUp() {
  TwoPlaces places(&kept_, &unsaved_);
  run_.SaveChanges(&places);
  if (!is_saved_) unsaved_.clear();  // nobody may ever want them, and who does gets all
}

void Checkpoints::SaveRun(cluster::SavedParts* parts) {
  if (!mirrors_) return run_.SaveChanges(parts);
  CatchUp();
  PutAll(std::exchange(is_saved_, true) ? unsaved_ : kept_.parts(), parts);
  unsaved_.clear();
}

}  // namespace weir::server
