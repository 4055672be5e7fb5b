#include "worker/pipeline/stage_trainer.h"

#include <chrono>
#include <new>
#include <system_error>
#include <utility>

#include "common/base/check.h"
#include "common/base/clock.h"
#include "common/base/out_of_memory.h"
#include "common/base/strings.h"
#include "worker/model/kernels_for.h"

namespace weir::worker {
namespace {

constexpr int64_t kQueueWaitMs = 100;

}  // namespace

StageTrainer::StageTrainer(const v1::Config& config, const ModelLayout& layout,
                           const kernels::Compute& compute, int thread_count, StageParts parts,
                           std::function<void(const Status&)> on_failure)
    : config_(config),
      layout_(layout),
      compute_(compute),
      parts_(std::move(parts)),
      on_failure_(std::move(on_failure)),
      chunk_rows_(layout.stages()[parts_.stage], parts_.reader),
      refresh_(parts_.client),
      counters_(config.pipeline()),
      dead_units_(layout, layout.stages()[parts_.stage].first_tensor,
                  layout.stages()[parts_.stage].end_tensor),
      unseen_values_(layout),
      queue_(
          config, is_first(),
          static_cast<size_t>(config.pipeline().in_flight()) * static_cast<size_t>(thread_count),
          [this](StageBatch* batch) { parts_.client->Forget(batch->pull.get()); }, *parts_.clock),
      handover_(parts_, &queue_) {
  if (compute.device->is_host()) model::WarnOfSlowPrecision(config.model());
  parts_.links->Start(
      [this](v1::Header header, transport::Message message) {
        queue_.TakeMessage(std::move(header), std::move(message));
      },
      [this](const Status& status) { Fail(status); }, parts_.tell_lost);
  parts_.views->Watch([this](const v1::PipelineView& view) { handover_.TakeView(view); });
  try {
    for (int i = 0; i < thread_count; ++i) threads_.emplace_back([this] { RunThread(); });
  } catch (const std::system_error& error) {
    on_failure_(ResourceExhausted(StrCat("cannot start ", thread_count, " threads: ", error.what(),
                                         "; use a smaller --threads")));
    Abandon();
  }
}

StageTrainer::~StageTrainer() {
  parts_.views->Watch(nullptr);
  parts_.links->Stop();
  Abandon();
  for (std::thread& thread : threads_) thread.join();
}

void StageTrainer::RunThread() {
  try {
    StageThread thread({config_, layout_, compute_, parts_, queue_, handover_, chunk_rows_,
                        refresh_, counters_, dead_units_, unseen_values_, times_});
    while (true) {
      auto work = Next();
      if (!work.ok()) return Fail(work.status());
      if (!*work) return;
      if (Status status = thread.Do(**std::move(work)); !status.ok()) return Fail(status);
      queue_.Finished();
    }
  } catch (const std::bad_alloc& error) {
    Fail(ShortOfMemory(error,
                       "no memory for a thread's gradients and activations; use fewer "
                       "--threads, a smaller pipeline.in_flight or data.batch_size"));
  }
}

Result<std::optional<StageWork>> StageTrainer::Next() {
  while (true) {
    const auto waits_for =
        queue_.lacks_credit() ? StageTimes::kWaitingForCredit : StageTimes::kWaitingForInput;
    const auto begin = std::chrono::steady_clock::now();
    std::optional<StageWork> work = queue_.Next(kQueueWaitMs);
    times_.Add(waits_for,
               std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    if (work || queue_.stopped()) return work;
    if (is_first()) WEIR_RETURN_IF_ERROR(handover_.CheckSilence());
    // Nobody here asks the servers for anything, so a link that has failed is looked at.
    WEIR_RETURN_IF_ERROR(parts_.client->AwaitAccepted(0));
  }
}

void StageTrainer::Fail(const Status& status) {
  on_failure_(status);  // the reason comes first, then its consequences
  Abandon();
}

void StageTrainer::FillReport(v1::WorkerReport* report) const {
  counters_.FillReport(report);
  dead_units_.FillReport(report);
  unseen_values_.FillReport(report);
  times_.FillReport(parts_.stage, report);
  AddLinks(parts_.links->sent(), report);
  const std::vector<model::SplitCounts> splits = counters_.splits();
  if (parts_.stage >= splits.size()) return;
  const model::SplitCounts& behind = splits[parts_.stage];
  report->mutable_dense()->set_forward(behind.elements * sizeof(float));
  report->mutable_dense()->set_backward(behind.elements * sizeof(float));
}

// Forward they went over the link behind this stage, backward over the one before it.
void StageTrainer::AddLinks(const v1::KindBytes& sent, v1::WorkerReport* report) const {
  v1::KindBytes& all = *report->mutable_sent();
  all.set_forward(all.forward() + sent.forward());
  all.set_backward(all.backward() + sent.backward());
  all.set_control(all.control() + sent.control());
  all.set_evaluation(all.evaluation() + sent.evaluation());
  const int stage = static_cast<int>(parts_.stage);
  if (report->splits_size() < layout_.pipeline().split_size()) return;  // nothing has been trained
  if (stage < report->splits_size()) {
    report->mutable_splits(stage)->set_forward_link_bytes(sent.forward());
  }
  if (stage > 0) report->mutable_splits(stage - 1)->set_backward_link_bytes(sent.backward());
}

}  // namespace weir::worker
