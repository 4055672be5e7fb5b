// A server: one shard of the parameters behind one socket. This is the main path: receive, hand to
// the dispatcher or the coordinator, send what the strands have finished.
//
// Place in the life of a batch: push and row pull in, answer and reply out.
// Thread rule: Run on one thread, the I/O thread; Stop from any thread and from a signal handler.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "common/transport/transport.h"
#include "server/bound_book.h"
#include "server/control_desk.h"
#include "server/coordinator/coordinator.h"
#include "server/coordinator_news.h"
#include "server/dispatcher.h"
#include "server/loader.h"
#include "server/log/server_life.h"
#include "server/mail.h"
#include "server/saving.h"
#include "server/server_checkpoints.h"
#include "server/server_options.h"
#include "server/shard/shard.h"

namespace weir::server {

class Server {
 public:
  Server(const v1::Config& config, uint32_t server_count, uint32_t shard_index,
         std::unique_ptr<transport::ServerTransport> transport, ServerOptions options = {});
  ~Server();
  // Makes the parameters, and tells who asks how far it is; then serves until the run is over (OK),
  // has failed, Stop was called (Interrupted), or there is no memory. Parameters that cannot be
  // had: why, once those who wait have been told. Step: by its caller, until it returns something.
  Status Run();
  std::optional<Status> Step(int64_t timeout_ms);  // throws std::bad_alloc

  void Stop();                  // any thread, or a signal handler
  void StopBehindCheckpoint();  // the same; without checkpoints it stops at once
  void Serve(uint64_t run);     // any thread; of a ShardReporter: which run this is
  void End(Status status);      // and that it is over
  // Before Run. say: hears, on any thread, that memory has run out. Bind: as transport has it.
  void SetLastWords(std::function<void(const Status& why)> say) { last_words_ = std::move(say); }
  Result<std::string> Bind(const std::string& address) { return transport_->Bind(address); }

  Status ClearLog();       // after Run, where that has ended well: it is of no use any more
  Status PrepareSaving();  // of shard 0, before Bind: where the model cannot be saved is said first
  bool EndSaving();        // after Run: whether nothing writes any more; else it is to end at once
  Saving* saving() { return saving_.get(); }  // null where servers do not save
  ServerCheckpoints& checkpoints() { return *checkpoints_; }

  const v1::RunIdentity& identity() const { return identity_; }
  const ServerLife& life() const { return life_; }
  CoordinatorNews& news() { return news_; }  // of shard > 0
  const BoundBook& bounded() const { return bounded_; }
  bool is_loaded() const { return is_loaded_; }  // any thread; and how far that is
  std::optional<v1::Loading> loading() const;
  Shard& shard() { return *shard_; }  // for tests, once it is loaded, with nothing in flight

 private:
  DispatchListeners Listeners();
  void StartLoading();
  std::unique_ptr<Shard> NewShard(bool awaits_load, LoadProgress* progress);
  Loader::Made MakeShard(LoadProgress* progress);  // in the background
  ServerLife::Self Self() const { return {identity_, shard_index_, run_}; }
  Status Recover();
  void LogRun();
  void LookAtLog(int64_t now_ms);
  void LookAtLoader(int64_t now_ms);
  void TakeShard(Loader::Made made, int64_t now_ms);
  void MakeSaving(uint32_t server_count);
  void LookAtSaving();
  void LookAtModel();
  void ReceiveQueued();
  bool ReceiveOne(int64_t timeout_ms);  // and sends what strands have finished; whether one came
  void WorkOrHandOver(bool has_come);   // of what strands have to do
  void Receive(transport::IncomingMessage incoming, int64_t now_ms);
  void ReceiveControl(const transport::PeerId& peer, const v1::Header& header,
                      const transport::Message& message, int64_t now_ms);
  std::optional<Status> Outcome(int64_t now_ms);

  const v1::Config config_;
  const ModelLayout layout_;
  const uint32_t shard_index_;
  ServerOptions options_;
  const v1::RunIdentity identity_;
  ServerLife life_;
  std::unique_ptr<transport::ServerTransport> transport_;
  Mail mail_;
  AwakeClock clock_;                     // what came in a stall may not have been read yet
  std::optional<int64_t> next_tick_ms_;  // from the first step on
  Outbox outbox_;
  std::function<void(const Status& why)> last_words_;
  std::unique_ptr<Shard> shard_;              // null until it is loaded
  std::unique_ptr<Coordinator> coordinator_;  // shard 0 only
  std::unique_ptr<Dispatcher> dispatcher_;
  std::unique_ptr<ControlDesk> control_;  // of the coordinator
  std::atomic<uint64_t> run_{0};          // 0: not known yet
  uint64_t logged_run_ = 0;
  std::atomic<bool> stopping_{false}, is_loaded_{false};
  int64_t received_ms_ = 0;            // when the message at hand came
  int received_together_ = 0;          // messages since strands last had nothing ready
  std::optional<int64_t> stop_by_ms_;  // once stopping was noticed
  Status own_failure_;                 // it cannot load, or not write its log
  CoordinatorNews news_;
  BoundBook bounded_;
  mutable Mutex mutex_;
  std::optional<Status> ended_ WEIR_GUARDED_BY(mutex_);
  bool tells_loading_ WEIR_GUARDED_BY(mutex_) = false;
  std::unique_ptr<Loader> loader_;  // until it ends; uses what is above; changed under the lock
  std::unique_ptr<Saving> saving_;  // uses the shard, and so do these
  std::unique_ptr<ServerCheckpoints> checkpoints_;
};

}  // namespace weir::server
