// The servers but the first, as the coordinator sees them: which process serves each shard, when it
// was heard of, and what it is told of the run.
//
// Place in the life of a batch: none; it keeps the servers of a run together.
// Thread rule: owner thread only (the coordinator's).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/cluster/saved_map.h"
#include "common/proto/config.pb.h"
#include "common/proto/protocol.pb.h"

namespace weir::server {

// How long servers bear each other's silence. One that keeps a log is started again and comes back,
// so they have as much time for it as workers do.
int64_t ServerPatienceMs(const v1::ClusterConfig& config);

class ShardBook {
 public:
  // run: of the coordinator. addresses: of all servers, for messages; may be empty.
  ShardBook(v1::RunIdentity identity, uint32_t server_count, std::vector<std::string> addresses,
            uint64_t run);

  // All servers save the model, or none: the others need a --save too.
  void ServersSave() { servers_save_ = true; }

  struct Outcome {
    std::optional<v1::ShardReply> reply;  // nothing: there is none to send
    bool tells_state = false;             // the caller fills in how the run is
    std::string failure;                  // that ends the run; empty: none
  };
  // is_over: nobody needs the servers any more; has_failed: because the run has failed.
  Outcome OnReport(const v1::ShardReport& report, bool is_over, bool has_failed, int64_t now_ms);

  // "server 1 at tcp://h1:7100 was not heard of for 20000 ms", of one; empty: none was silent for
  // so long.
  std::string DescribeSilent(int64_t timeout_ms, int64_t now_ms) const;
  // How often they were started anew, and went on.
  uint64_t restarts() const;
  // Every shard was there and has said farewell.
  bool all_have_left() const;
  // Some shard that was there has not, and may yet: it has been silent for no longer than that.
  bool AwaitsFarewell(int64_t patience_ms, int64_t now_ms) const;
  // "server 1 at tcp://h1:7100", of any server.
  std::string Name(uint32_t server) const;

  // Who is loaded counts as heard of at now_ms. Whether servers save is told by whoever starts them
  // again.
  void SaveChanges(cluster::SavedParts* parts) { shards_.SaveChanges(parts); }
  Status Load(cluster::PartSource* source, int64_t now_ms);
  // The run goes on: those that have left come back.
  void AwaitAll();

 private:
  struct ShardSeat {
    uint64_t nonce = 0;    // of all lives of the server that has the parameters
    uint64_t usurper = 0;  // of one that came in its place and has not; not saved
    int64_t heard_ms = 0;
    bool has_left = false;
    bool knew_run = false;     // when it reported last
    uint64_t lives_ended = 0;  // before the present one, in this run
    bool IsOf(uint64_t n) const { return n == nonce || (n != 0 && n == usurper); }
    static void Fields(auto& self, auto& state) {
      state(self.nonce, self.has_left, self.knew_run, self.lives_ended);
    }
  };

  Status Check(const v1::ShardReport& report) const;
  void TakeFarewell(const v1::ShardReport& report);
  // Of another process than the one that serves the shard it says nothing.
  Outcome TakeFailure(const v1::ShardReport& report);
  // Who knew the run, and does not any more, is another process with the same log.
  void CountLives(const v1::ShardReport& report);
  Outcome TakeReport(const v1::ShardReport& report, bool is_over, bool has_failed, int64_t now_ms);
  void Seat(const v1::ShardReport& report, int64_t now_ms);
  // Where the one before has been silent. What is saved stays, or the run would go on with it from
  // initial values when it is begun again.
  Outcome TakeUsurper(const v1::ShardReport& report, int64_t now_ms);
  Outcome Replied(v1::ShardReply::State state, std::string reason) const;

  const v1::RunIdentity identity_;
  const uint32_t server_count_;
  const std::vector<std::string> addresses_;
  const uint64_t run_;
  bool servers_save_ = false;
  cluster::SavedMap<uint32_t, ShardSeat> shards_{"shard"};
};

}  // namespace weir::server
