// What a server does so that the servers of a run save the model: its own part, as of one push and
// in the background, into the folder aside that all of them reach; and server 0 the folder itself,
// and with all parts the model.
//
// What a server has told to be written belongs to server 0, which may have made a model of it: it
// stays whatever becomes of this process.
//
// Place in the life of a batch: beside all of it, and after the last one.
// Thread rule: owner thread only (the server's I/O thread), but for what is marked. One piece of
// work at a time.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "common/base/executor.h"
#include "common/base/mutex.h"
#include "common/base/status.h"
#include "common/proto/protocol.pb.h"
#include "common/proto/saved_model.pb.h"
#include "common/saved_model/writer.h"
#include "server/shard/cut_taker.h"
#include "server/shard_reporter.h"

namespace weir::server {

class Saving {
 public:
  // directory: where the model is to be. wake: has Step called soon; any thread.
  Saving(std::string directory, uint32_t server, uint32_t server_count, Executor& executor,
         std::function<void()> wake);
  // Waits for what is at work, and takes away what no model was made of.
  ~Saving();

  // Before the first step; any thread. run: this server's. Server 0 makes the folder aside; the
  // others look whether it is there.
  Status Prepare(uint64_t run);

  // The part is to be written. Any thread.
  void Ask() { is_asked_ = true; }
  bool is_asked() const { return is_asked_; }
  // Begins it, between two steps. The shard outlives this.
  void Begin(Shard* shard);
  // Often: goes on with it.
  void Step();
  bool has_begun() const { return has_begun_; }
  // How far it is; nothing before it has begun. Any thread.
  std::optional<v1::PartReport> part() const;

  // Server 0, with every part: makes a model of them. add: what else the folder aside, and with it
  // the manifest, is to have; then: once the model is there. In the background.
  using Add = std::function<Status(const std::string& folder, v1::SavedModelManifest* manifest)>;
  void Conclude(v1::SavedModelManifest manifest, Add add, std::function<void()> then);
  bool is_concluding() const { return is_concluding_; }
  bool is_concluded() const;

  // Why the part, or the model, cannot be written. Any thread.
  Status failure() const;

  // Stops what is at work, and waits for it, so long at most; whether nothing is any more.
  bool End(int64_t patience_ms);
  bool holds_cut() const { return taker_.holds_cut(); }
  void YieldCut();  // another wants one of the shard: the part cannot be written
  // Server 0: takes the folder away, for the process ends at once.
  void Discard() const;

 private:
  void Start(std::function<Status()> work);

  const std::string directory_;
  const uint32_t server_, server_count_;
  Executor& executor_;
  const std::function<void()> wake_;
  std::string part_path_ WEIR_GUARDED_BY(mutex_);
  std::unique_ptr<saved_model::ModelFolder> folder_;  // of server 0
  std::atomic<bool> is_asked_{false}, has_begun_{false};
  bool is_concluding_ = false;
  std::atomic<uint64_t> written_bytes_{0};
  mutable Mutex mutex_;
  bool is_concluded_ WEIR_GUARDED_BY(mutex_) = false;
  std::optional<v1::PartReport> done_ WEIR_GUARDED_BY(mutex_);
  Status failure_ WEIR_GUARDED_BY(mutex_);
  CutTaker taker_;
  std::unique_ptr<Executor::Work> work_;  // the last that was begun
};

// So that reports tell how far it is, and their replies have the part written. saving: null where
// servers do not save; outlives the reporter.
void ReportSaving(Saving* saving, ShardReporterOptions* options);

}  // namespace weir::server
