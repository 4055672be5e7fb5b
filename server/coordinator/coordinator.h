// The part of shard 0 that runs the run: admits workers, lends them input, merges what they report,
// evaluates, ends. Glue between messages and the state machines of common/cluster.
//
// Place in the life of a batch: before it (join, **lease**) and after it (completion, progress).
// Thread rule: I/O thread of shard 0 only.
#pragma once

#include <cstdint>
#include <future>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/cluster/membership.h"
#include "common/cluster/pipeline_book.h"
#include "common/cluster/run_director.h"
#include "common/proto/config.pb.h"
#include "common/proto/protocol.pb.h"
#include "common/transport/message.h"

namespace weir::server {

class Coordinator {
 public:
  // server_addresses: for messages; may be empty.
  Coordinator(const v1::Config& config, v1::RunIdentity identity, uint32_t server_count,
              std::vector<std::string> server_addresses = {});

  // A random number, which tells this run from others at the same address.
  uint64_t run() const { return nonce_; }

  // Each returns the reply, if there is one to send.
  v1::Header OnJoin(const v1::Join& join, int64_t now_ms);
  std::optional<v1::Header> OnWorkRequest(const v1::WorkRequest& request,
                                          const transport::Message& message, int64_t now_ms);
  std::optional<v1::Header> OnShardReport(const v1::ShardReport& report, int64_t now_ms);

  // Something else of this worker has come to shard 0, so it lives: its heartbeats may be stuck
  // behind its pushes.
  void OnWord(cluster::Seat seat, uint64_t incarnation, int64_t now_ms);
  // A push of this worker was queued: how far its lease has come.
  void OnOffset(cluster::Seat seat, const v1::Push& push);

  void Tick(int64_t now_ms);
  void Fail(std::string reason);

  // The run has ended, and everybody who is still there has said farewell or had time enough to.
  // Whoever saves the model, or asked servers to stay, has as long as it is heard of; a saver that
  // is not there, cluster.join_timeout_ms to come.
  bool over(int64_t now_ms) const;
  bool failed() const {
    return director_.state() == cluster::RunDirector::State::kFailed || !lost_model_.empty();
  }
  const std::string& failure() const {
    return lost_model_.empty() ? director_.failure() : lost_model_;
  }

 private:
  struct Desk {  // what is remembered of one worker
    uint64_t incarnation = 0;
    uint64_t last_request_id = 0;
    bool has_left = false;
    std::string gone = "has left";  // why, once it is no member any more
    bool has_reported_end = false;  // it has reported since the run was finished
    bool saves = false;
    bool stays = false;  // servers are needed until it has left, because it saves or asked for it
    // Of a later stage: the evaluation before which it was asked whether it is at work (it was
    // replied to while that was waited for), and the one before which it then said that it is not.
    uint32_t asked_for = 0, settled_for = 0;
    v1::Header last_reply;
    v1::WorkerReport report;
    std::optional<v1::WorkerReport> earlier;  // of incarnations before
  };
  struct ShardSeat {
    uint64_t nonce = 0;
    int64_t heard_ms = 0;
    bool has_left = false;
  };
  // Of a number that is looked at in each tick: for how long it has been what it is.
  class Unchanged {
   public:
    int64_t For(uint64_t number, int64_t now_ms) {
      if (number != number_) since_ms_ = now_ms;
      number_ = number;
      return now_ms - since_ms_;
    }

   private:
    uint64_t number_ = 0;
    int64_t since_ms_ = 0;
  };

  // Computes what test scores come to: those of many rows on a thread of its own, for which Tick
  // looks.
  void StepEvaluation(int64_t now_ms);
  void EvaluateBeside(cluster::ChunkScores scores, int64_t now_ms);
  // A worker gives up. The run ends with it, unless it may go on with another trainer and loses
  // nothing that only this worker would have kept.
  void TakeFailure(cluster::Seat seat, const v1::WorkRequest& request);
  void TakeLateFailure(cluster::Seat seat, std::string reason);
  // Whether it can train is CheckTrainers' business.
  bool HasOtherTrainer(uint32_t trainer) const;
  // A double of something that was sent before its sender left.
  bool IsAfterFarewell(cluster::Seat seat, const v1::WorkRequest& request) const;
  Status TakeCompletions(const v1::WorkRequest& request, cluster::Seat seat,
                         const transport::Message& message, int64_t now_ms);
  void TakeReport(cluster::Seat seat, const v1::WorkerReport& report);
  void FillReply(const v1::WorkRequest& request, int64_t now_ms, v1::WorkReply* reply) const;
  void Dismiss(cluster::Seat seat, int64_t now_ms);
  // "" if this process may be this stage, else why not.
  std::string RefuseStage(const v1::Join& join) const;
  std::string RefuseFiles(const v1::Join& join);
  std::string RefuseFileCounts(size_t train_count, size_t file_count);
  // An evaluation waits until later stages have pushed what belongs to the chunks that are done.
  void Settle(cluster::Seat seat, bool is_busy, int64_t now_ms);
  bool IsAwaitedToSettle(cluster::Seat seat) const;
  void CheckSettling(int64_t now_ms);
  void CheckLeases(int64_t now_ms);
  // Whether the final report waits for a stage's last words.
  bool AwaitsStages(int64_t now_ms);
  void FillPipeline(const v1::WorkRequest& request, cluster::Seat seat, v1::WorkReply* reply);
  // A shard ends before the run has.
  void TakeShardFailure(const v1::ShardReport& report);
  std::string ServerName(uint32_t shard) const;
  // "trainer 0 was silent for more than 15000 ms, trainer 1 has left".
  std::string DescribeGone() const;
  // "" if the shard is welcome, else why not.
  std::string RefuseShard(const v1::ShardReport& report) const;
  // Fails if the reports do not fit each other.
  Result<v1::WorkerReport> Merge() const;
  v1::RunReport FinalReport(int64_t now_ms) const;
  bool running() const { return director_.state() == cluster::RunDirector::State::kRunning; }
  void Expire(int64_t now_ms);
  // Of a process that is gone: what it was like last.
  void ForgetGauges(cluster::Seat seat);
  void CheckTrainers(int64_t now_ms);
  void RevokeLeases(int64_t now_ms);
  // Whether somebody still needs the parameters, or may.
  bool needs_servers() const;
  // A worker is to save the model, and has not.
  bool awaits_saver() const { return shall_be_saved_ && !is_saved_; }
  void CheckSaver(int64_t now_ms);

  const v1::Config config_;
  const v1::RunIdentity identity_;
  const uint32_t server_count_;
  const std::vector<std::string> server_addresses_;
  const uint64_t nonce_;
  cluster::Membership membership_;
  cluster::RunDirector director_;
  cluster::PipelineBook pipelines_;
  uint32_t stage_count_ = 0;  // processes of a trainer; 0: nobody has joined yet
  std::map<cluster::Seat, Desk> desks_;
  v1::WorkerReport merged_;  // of all desks
  std::map<uint32_t, ShardSeat> shards_;
  std::optional<int64_t> started_ms_;  // the first tick: from then on others can join
  bool anyone_joined_ = false;
  std::vector<uint64_t> file_bytes_;      // of those who are here
  size_t train_file_count_ = 0;           // of these, to train on
  std::optional<int64_t> last_knock_ms_;  // when somebody last asked for a seat that was taken
  Unchanged settling_;                    // director_.settling()
  Unchanged stuck_;                       // director_.awaited_work()
  std::optional<int64_t> finished_ms_;    // when a worker was first to be told so
  std::optional<int64_t> ended_ms_;
  bool shall_be_saved_ = false, is_saved_ = false;
  std::optional<int64_t> saver_missing_ms_;  // since when only a saver is waited for that is absent
  std::string lost_model_;                   // why nobody will save it, though the run ended well
  std::future<v1::EvaluationReport> evaluation_;  // at work, when valid
};

}  // namespace weir::server
