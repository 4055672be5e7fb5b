// Where words for the coordinator come in, and its replies leave: once what they tell is durable,
// so that the next life of server 0 knows what it has said.
//
// Place in the life of a batch: before it (join, **lease**) and after it (completion, progress).
// Thread rule: I/O thread of shard 0 only. Borrows all.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "common/cluster/saved_parts.h"
#include "common/proto/protocol.pb.h"
#include "common/transport/transport.h"
#include "server/coordinator/coordinator.h"
#include "server/dispatched_worker.h"
#include "server/log/server_log.h"
#include "server/mail.h"

namespace weir::server {

class ControlDesk {
 public:
  ControlDesk(Coordinator* coordinator, Mail* mail, ServerLog* log)
      : coordinator_(*coordinator), mail_(*mail), log_(*log) {}

  void Take(const transport::PeerId& peer, const v1::Header& header,
            const transport::Message& message, int64_t now_ms);
  // Whose connection has ended, behind all that came over it; null: nobody's.
  void Parted(const DispatchedWorker* worker, int64_t now_ms);
  // To those who wait for something to do, and those who have said their last words.
  void SendHeld(int64_t now_ms);
  // What the coordinator has become otherwise, as by a tick, goes into the log.
  void Save(int64_t now_ms);
  // Takes it out of what was saved: when that was, if anything was.
  static std::optional<int64_t> TakeTime(cluster::PartMap* parts);
  // The run has finished well and the log has that: what cannot be kept any more does not matter.
  bool has_kept_end() const;

 private:
  // Once it is durable; never where the log has failed, but that the run has.
  void Tell(std::function<void()> send);
  std::optional<v1::Header> ReplyTo(const transport::PeerId& peer, const v1::Header& header,
                                    const transport::Message& message, int64_t now_ms);

  Coordinator& coordinator_;
  Mail& mail_;
  ServerLog& log_;
  std::optional<uint64_t> end_record_;  // the last one when the run had finished well
};

}  // namespace weir::server
