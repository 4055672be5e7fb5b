// A trainer without a model: it pulls rows, and sends pushes that can be told from each other in
// what they add up to.
//
// Thread rule: one thread.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/session/body.h"
#include "tests/simulation/simulated_process.h"
#include "worker/link/server_link.h"

namespace weir::simulation {

// The piece in which each push has an element.
const PieceSpec& PieceOf(const ModelLayout& layout, uint32_t server);
// A row of table 0 that this server has for the trainer alone.
uint64_t RowOf(uint32_t trainer, uint32_t server, uint32_t server_count);

class SimulatedWorker final : public SimulatedProcess {
 public:
  SimulatedWorker(Scene* scene, uint32_t trainer)
      : SimulatedProcess(scene, StrCat("trainer ", trainer)),
        trainer_(trainer),
        durable_(scene->mix.servers) {}
  ~SimulatedWorker() override { link_.reset(); }

  // It has heard that the run has finished, and all that it knows is what the servers have.
  bool is_quiet() const { return is_alive() && (refreshes_ >= scene_.refresh || comes_too_late_); }
  // A seat that nobody asks for is given up: one who has just come has some time.
  bool is_at_work() const override { return link_ != nullptr && link_->is_connected(); }
  // Now it may tell the coordinator so.
  void Leave() { may_leave_ = true; }
  bool has_left() const { return has_left_; }
  const worker::ServerLink& link() const { return *link_; }
  // What the server has promised to keep, of a life.
  uint64_t Durable(uint32_t server, uint64_t life) const {
    const auto found = durable_[server].find(life);
    return found == durable_[server].end() ? 0 : found->second;
  }

 protected:
  void Start() override;
  void Kill(RandomStream* /*machine*/) override;
  void Step() override;

 private:
  struct Work {
    std::optional<v1::ChunkLease> lease;
    uint64_t next_row = 0;
    worker::RowRequest rows;
    std::deque<std::pair<uint64_t, uint64_t>> sent;  // push, and the row behind it
    uint64_t durable_row = 0;
    uint64_t pushes = 0, last_sequence = 0;
  };

  void Watch(const std::string& address, const v1::Header& header);
  // The others have done all before this one had joined.
  void End(const Status& failure);
  void Ask(v1::WorkRequest request);
  void Take(const v1::WorkReply& reply);
  uint64_t ChunkRows() const { return kBatchRows * scene_.mix.chunk_batches; }

  void GoOn();
  bool HasRows();
  void NextBatch();
  v1::Push PushOfLease() const;
  session::Body BodyOf(size_t element, uint32_t server) const;
  void Push(bool has_batch);
  void Finish(const v1::ChunkLease& lease, uint64_t row_count);
  // An answer holds what others have pushed meanwhile.
  void EndWell();
  void Report();

 public:
  bool is_finished() const { return is_finished_ || comes_too_late_; }
  bool has_replica() const { return !comes_too_late_; }

 private:
  const uint32_t trainer_;
  std::vector<std::map<uint64_t, uint64_t>> durable_;  // of each server: by life
  std::unique_ptr<worker::ServerLink> link_;
  Work work_;
  bool has_asked_ = false, has_rows_ = false, is_finished_ = false;
  bool comes_too_late_ = false, may_leave_ = false, is_reporting_ = false, has_left_ = false;
  std::optional<uint64_t> refresh_;
  int refreshes_ = 0;
  int64_t next_batch_ms_ = 0;
  uint64_t batches_ = 0;
};

}  // namespace weir::simulation
