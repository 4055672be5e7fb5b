// A shard other than 0 telling the coordinator every second that it is there, or while it loads how
// far it is, and learning from the replies which run it serves, and when that is over; or, when the
// shard ends before, telling how, so that the run ends at once. Shards are clients of shard 0 for
// membership.
//
// Place in the life of a batch: none.
// Thread rule: runs a thread of its own between Start and destruction, or is run by its caller,
// Step after Step; SayFailure and Stop from any thread where there is that thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "common/base/clock.h"
#include "common/base/environment.h"
#include "common/base/mutex.h"
#include "common/base/status.h"
#include "common/proto/protocol.pb.h"
#include "common/transport/transport.h"
#include "server/bound_book.h"
#include "server/coordinator_news.h"

namespace weir::server {

struct ShardReporterOptions {
  Environment environment = {};
  std::string coordinator_address;
  v1::RunIdentity identity;
  uint32_t shard_index = 1;
  uint64_t nonce = 0;                // of this server; 0: another in each life
  int64_t first_timeout_ms = 30000;  // until the coordinator answers for the first time
  int64_t timeout_ms = 15000;        // of its silence later
  int64_t taken_timeout_ms = 5000;   // of another process serving the shard
  int64_t interval_ms = 1000;
  int64_t reconnect_ms = 4000;  // of silence, until the connection is opened anew
  // Any thread: how far the shard is while it cannot serve. Empty: it always can.
  std::function<std::optional<v1::Loading>()> loading = {};
  // Whether the shard saves its part of the model. on_save: it is to be written; called once, from
  // the reporter's thread. part: any thread, how far that is.
  bool saves = false;
  std::function<void()> on_save = {};
  std::function<std::optional<v1::PartReport>()> part = {};
  // Any thread: how far the last checkpoint's is. Empty: there are none.
  std::function<std::optional<v1::PartReport>()> checkpoint = {};
  // Any thread: whether somebody wants one, once. Empty: nobody does.
  std::function<bool()> wants_checkpoint = {};
  const BoundBook* bounded = nullptr;  // what of pushes it has scaled down; null: nothing
  CoordinatorNews* news = nullptr;     // where the shard looks for them; null: nowhere
  // While it loads or saves, since others wait for its end, and while there is no answer: server 0
  // may be there again at any moment.
  int64_t busy_interval_ms = 200;
};

class ShardReporter {
 public:
  // Both are called once, from the reporter's thread or from Step. on_run: which run this is
  // (JoinReply.run). on_end: it is over (OK) or cannot go on.
  ShardReporter(ShardReporterOptions options, std::unique_ptr<transport::ClientTransport> transport,
                std::function<void(uint64_t)> on_run, std::function<void(Status)> on_end);
  ~ShardReporter();

  void Start();
  // Instead of Start: one report, if it is due, and one message, if it comes in time. The first
  // step opens the connection. False once on_end was called or the reporter was stopped: no more is
  // to come.
  bool Step(int64_t timeout_ms);

  // The last words: how this server ends, unless the run is over. Waits until they have left, for a
  // second or so at most.
  void SayFailure(const Status& status);
  // Ends it without a word; it calls nobody any more.
  void Stop();

 private:
  void End(const std::string& failure);  // empty: without a word
  // How the reporter ends, if it does: when the run does, or when the coordinator refuses or falls
  // silent.
  std::optional<Status> ReportOrRunOut(int64_t timeout_ms);
  std::optional<Status> Report(int64_t timeout_ms);
  Status Open();
  Status ReportIfDue(int64_t now_ms);
  Status Reconnect(int64_t now_ms);
  void SendReport();
  void Take(const v1::ShardReply& reply);  // what it says of others
  // Puts into the reports how far it is. When the next one is due.
  int64_t TellProgress();
  // How the reporter ends, if this ends it.
  std::optional<Status> OnMessage(const transport::Message& message);
  std::optional<Status> OnReply(const v1::ShardReply& reply);
  std::optional<Status> CheckSilence() const;
  Status Refused(const std::string& reason) const;

  const ShardReporterOptions options_;
  std::unique_ptr<transport::ClientTransport> transport_;  // null once the last words have left
  const std::function<void(uint64_t)> on_run_;
  const std::function<void(Status)> on_end_;
  std::atomic<bool> stopping_{false};
  std::thread thread_;
  Mutex mutex_;  // of who ends it

  // The thread's own, until it is gone.
  v1::Header header_;
  transport::ConnectionId connection_ = 0;
  bool is_open_ = false, has_told_end_ = false;
  bool heard_once_ = false, was_told_to_save_ = false;
  AwakeClock clock_;
  uint64_t run_ = 0;  // of the first coordinator heard
  int64_t next_report_ms_ = 0;
  int64_t reported_ms_ = 0;
  int64_t answered_next_ms_ = 0;  // the same, if the last one is answered
  int64_t heard_ms_ = 0;
  int64_t connection_ms_ = 0;  // when the connection was opened, or last carried something here
};

}  // namespace weir::server
