// What all simulated workers do, trainers and stages of one: they join, ask for work, hear that the
// run has finished, and take leave. What work there is, the kinds of them know.
//
// Thread rule: one thread.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/cluster/membership.h"
#include "tests/simulation/simulated_process.h"
#include "worker/link/server_link.h"

namespace weir::simulation {

class SimulatedWorker : public SimulatedProcess {
 public:
  // It has heard that the run has finished, and all that it knows is what the servers have.
  bool is_quiet() const { return is_alive() && (refreshes_ >= scene_.refresh || comes_too_late_); }
  bool is_finished() const { return is_finished_ || comes_too_late_; }
  // A seat that nobody asks for is given up: one who has just come has some time.
  bool is_at_work() const override { return link_ != nullptr && link_->is_connected(); }
  int64_t longest_absence_ms() const override { return scene_.mix.longest_absence_ms; }
  // Now it may tell the coordinator so.
  void Leave() { may_leave_ = true; }
  bool has_left() const { return has_left_; }

  bool has_replica() const { return !comes_too_late_; }
  // The part of the model that it is of.
  const StageSpec& part() const { return scene_.part(seat_.stage); }
  cluster::Seat seat() const { return seat_; }
  // When the server first greeted who came in its place, or the end of time.
  int64_t ReplacedMs(uint32_t server) const;
  const worker::ServerLink& link() const { return *link_; }
  // What the server has promised to keep, of a life.
  uint64_t Durable(uint32_t server, uint64_t life) const {
    const auto found = durable_[server].find(life);
    return found == durable_[server].end() ? 0 : found->second;
  }
  // Whether that life has been ended, with all that it had not handed on.
  bool HasLost(uint64_t of_life) const { return of_life < life() || !is_alive() || is_replaced(); }

 protected:
  // number: of those that were in that seat before.
  SimulatedWorker(Scene* scene, cluster::Seat seat, const std::string& name, uint32_t number = 0)
      : SimulatedProcess(scene, name), seat_(seat), number_(number), durable_(scene->mix.servers) {}

  void Start() override;
  void Kill(RandomStream* machine) override;
  void Step() override;

  virtual worker::LinkOptions Options();
  // What it has of this life, which is over.
  virtual void Forget() = 0;
  // As far as it gets.
  virtual void GoOn() = 0;
  virtual void TakeChunk(const v1::ChunkLease& lease) = 0;
  virtual void AskLater(uint32_t wait_ms) = 0;
  void Take(const v1::WorkReply& reply);
  void Ask(v1::WorkRequest request, session::Body scores = {});
  v1::Completion& AddCompletion(const v1::ChunkLease& lease, uint64_t row_count,
                                v1::WorkRequest* request) const;
  uint64_t ChunkRows() const { return kBatchRows * scene_.mix.chunk_batches; }
  // Where the chunk has no rows any more, it is behind the last one.
  bool IsPastEnd(const v1::ChunkLease& lease) const { return lease.chunk() >= ChunkCount(lease); }
  uint64_t ChunkCount(const v1::ChunkLease& lease) const {
    return lease.split() == v1::TEST ? scene_.mix.test_chunks : scene_.mix.chunks;
  }
  worker::RowRequest RowsOfTrainer() const;
  // batch: where it is of which trip; null: an empty push. Returns its number.
  uint64_t Push(const v1::Push& push, const worker::ReadMark& mark, const SentPush* batch);
  // A number of its own among workers.
  uint32_t index() const { return seat_.trainer * scene_.stage_count() + seat_.stage; }

  const cluster::Seat seat_;
  const uint32_t number_;
  std::unique_ptr<worker::ServerLink> link_;
  bool has_asked_ = false, is_finished_ = false;
  uint32_t known_evaluations_ = 0;  // of this life

 private:
  void Watch(const std::string& address, const v1::Header& header);
  session::Body BodyOf(size_t element, uint32_t server) const;
  void TakeEvaluations(const v1::RunProgress& progress);
  // The others have done all before this one had joined.
  void End(const Status& failure);
  // An answer holds what others have pushed meanwhile.
  void EndWell();
  void Report();

  std::vector<std::map<uint64_t, uint64_t>> durable_;  // of each server: by life
  bool comes_too_late_ = false, may_leave_ = false, is_reporting_ = false, has_left_ = false;
  std::optional<uint64_t> refresh_;
  int refreshes_ = 0;
};

}  // namespace weir::simulation
