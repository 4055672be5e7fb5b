// A stage of a trainer, without its part of the model: what it does with batches and when, what it
// says to its neighbours and to the coordinator, is what a stage of weir-worker does, but for
// threads.
//
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/simulation/simulated_worker.h"
#include "worker/pipeline/pipeline_views.h"
#include "worker/pipeline/stage_handover.h"
#include "worker/pipeline/stage_links.h"
#include "worker/pipeline/stage_queue.h"

namespace weir::simulation {

class SimulatedStage final : public SimulatedWorker {
 public:
  SimulatedStage(Scene* scene, cluster::Seat seat, uint32_t number = 0)
      : SimulatedWorker(scene, seat, cluster::Name(seat), number) {}
  ~SimulatedStage() override {
    EndLife();
    link_.reset();
  }

  // The stage behind is one more.
  uint64_t peer_count() const override { return scene_.mix.servers + (is_last() ? 0 : 1); }
  std::string Peer(uint64_t number) const override {
    if (number < scene_.mix.servers) return scene_.addresses[number];
    const auto next = scene_.link_addresses.find({seat_.trainer, seat_.stage + 1});
    return next == scene_.link_addresses.end() ? "" : next->second;
  }
  // It ends before it does that many things more with batches.
  void CrashAt(uint64_t deed) { crashes_at_ = deeds_ + deed; }
  bool has_crashed() const override { return crashes_at_ && deeds_ >= *crashes_at_; }
  uint64_t deeds() const { return deeds_; }

 protected:
  void Start() override;
  worker::LinkOptions Options() override;
  void Forget() override { EndLife(); }
  void GoOn() override;
  void TakeChunk(const v1::ChunkLease& lease) override;
  void AskLater(uint32_t wait_ms) override;

 private:
  // One of the stage's; in between it lets others go on.
  struct Thread {
    std::optional<worker::StageWork> work;
    int64_t ready_ms = 0;  // with what it computes
    bool has_handed_back = false;
  };

  bool is_first() const { return seat_.stage == 0; }
  bool is_last() const { return seat_.stage + 1 == scene_.stage_count(); }
  std::string NewAddress() const;
  bool Plants(Plant plant) const { return scene_.mix.plant == plant; }

  std::unique_ptr<transport::ClientTransport> MakeLink();  // to the stage behind
  void EndLife();
  void BeginWork();
  worker::StageParts Parts();

  // --- What the input thread does ---
  void AskIfDue();
  bool FinishOldest();  // false: not yet
  v1::WorkRequest MakeRequest(session::Body* scores);
  bool NeedsRenewal(const v1::ChunkLease& lease);
  void AddChunk(const v1::ChunkLease& lease);

  // Whether the replica is what the servers had when that was first asked.
  bool Renew();
  bool IsFreshFor(const v1::BatchName& name);  // as ReplicaRefresh has it

  // --- What other threads do ---
  void Look(Thread* thread);
  void Begin(Thread* thread);
  void BeginBatch(Thread* thread);
  void Prepare(worker::StageWork* work);
  void AskForRows(worker::StageBatch* batch);
  bool HasRows(worker::StageBatch* batch);
  void Do(Thread* thread);
  void Forward(Thread* thread);
  void HandBack(Thread* thread);
  void PushGradient(Thread* thread);
  void SendScores(Thread* thread);
  void ReturnScores(Thread* thread);
  void ForgetRows(worker::StageBatch* batch);
  void Compute(Thread* thread);  // takes some time
  void EndWork(Thread* thread);

  worker::PipelineViews views_;
  // Of this life:
  std::unique_ptr<worker::StageLinks> links_;
  std::optional<worker::StageParts> parts_;
  std::optional<worker::StageQueue> queue_;
  std::optional<worker::StageHandover> handover_;
  std::vector<Thread> threads_;
  std::deque<std::shared_ptr<worker::ChunkWork>> at_work_, finished_;
  bool is_asking_ = true, waits_for_oldest_ = false;
  int64_t next_ask_ms_ = 0;
  std::set<BatchPlace> begun_;
  std::optional<v1::ChunkLease> taken_;  // which waits for that:
  std::optional<uint64_t> renewal_;      // a push
  std::optional<v1::BatchName> renewed_for_;
  std::optional<uint32_t> tested_after_;  // evaluations

  std::optional<uint64_t> crashes_at_;
  uint64_t deeds_ = 0;
  uint64_t batches_ = 0;
};

}  // namespace weir::simulation
