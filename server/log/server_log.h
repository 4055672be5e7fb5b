// What a server takes, as records of its log in the order in which it takes it; and what waits
// until it is there: nobody hears of a push that the next life of the server would not know.
//
// Place in the life of a batch: push -> number -> **log** -> answer.
// Thread rule: I/O thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/cluster/membership.h"
#include "common/cluster/saved_parts.h"
#include "common/log/writer.h"
#include "common/proto/log.pb.h"
#include "common/proto/protocol.pb.h"
#include "server/shard/pending.h"

namespace weir::server {

class ServerLog {
 public:
  // Until it begins there is none: nothing is written, and nothing waits.
  ServerLog() = default;
  // Of a writer: whether it syncs, and whether it was started; else it steps with this.
  struct Writing {
    bool syncs = false, has_thread = false;
  };
  // parts: those that are there.
  void Begin(std::unique_ptr<log::LogWriter> writer, Writing writing, cluster::PartMap parts);
  bool has_begun() const { return writer_ != nullptr; }
  // Whether more is durable than when this was asked last, of what was written before it was.
  bool TakePromise();
  // What was queued is written, if it can be.
  void End() { writer_.reset(); }
  // It has failed, and nothing that it lacks is needed any more: nobody waits for it.
  void GiveUp();

  void AddRun(uint64_t run);
  void AddHello(cluster::Seat seat, const v1::Hello& hello);
  void AddAgreement(uint64_t round, const std::vector<uint32_t>& members,
                    const v1::Agreement& agreement, std::vector<transport::Part> frames);
  // step: of the contributions, in their order, without body_bytes.
  void AddStep(v1::LogStep step, const std::vector<Contribution>& contributions);
  // Of one change; empty where they are gone.
  void AddParts(cluster::PartMap parts);

  void AddFailure(cluster::Seat seat, uint64_t incarnation, const std::string& reason);

  void AddWorker(v1::LogWorker worker);

  // What comes next goes into another file, which begins with all parts. start: of that file.
  void Cut(v1::LogStart start);
  uint64_t file_bytes() const { return writer_ == nullptr ? 0 : writer_->file_bytes(); }

  // Calls it once that record is written; now where it is. Or once it is durable: for what nobody
  // keeps until then, as workers keep pushes.
  void Await(uint64_t number, std::function<void()> then);
  void AwaitDurable(uint64_t number, std::function<void()> then);
  // After what was at hand: writes where no thread does, and calls those who have waited.
  void Step();

  // Of the last record, and of the last that was promised to stay.
  uint64_t last_number() const { return last_number_; }
  uint64_t durable_number() const { return writer_ == nullptr ? last_number_ : writer_->durable(); }
  Status failure() const { return writer_ == nullptr ? OkStatus() : writer_->failure(); }

 private:
  void WriteParts(const cluster::PartMap& parts);
  void Add(v1::LogRecord record, std::vector<transport::Part> body = {});

  std::unique_ptr<log::LogWriter> writer_;
  Writing writing_;
  cluster::PartMap parts_;
  uint64_t last_number_ = 0, told_number_ = 0;
  // By the record that it waits for.
  using Waiting = std::multimap<uint64_t, std::function<void()>>;
  static void Release(uint64_t number, Waiting* waiting);
  Waiting waiting_, waiting_for_durable_;
};

}  // namespace weir::server
