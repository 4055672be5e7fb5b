// Requests without a number that wait for replies: row pulls, proposals, probes, sections of a
// saved model, and one exchange with the coordinator. Repeating one changes nothing, so a new
// connection simply gets them again.
//
// Place in the life of a batch: **pull rows** ; **lease**.
// Thread rule: none of its own; ServerLink guards it with its mutex.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "common/proto/protocol.pb.h"
#include "common/session/client_session.h"
#include "common/session/header_message.h"

namespace weir::worker {

using session::Body;

// A request ready to be sent.
struct Request {
  v1::Header header;
  Body body;
};

class Outstanding {
 public:
  // requests[i]: ROW_IDS frames for server i; where there are none, no reply is expected.
  uint64_t AddPull(std::vector<Body> requests, bool read_only, int64_t now_ms);
  // The same of a proposal, which every server answers. Its words are for server 0.
  uint64_t AddProposal(std::vector<Body> requests, v1::Proposal proposal, int64_t now_ms);
  // Of a probe the bytes are nobody's; a server with none is not asked.
  uint64_t AddProbe(std::vector<Body> requests, int64_t now_ms);
  bool PullIsDone(uint64_t id) const;
  // Call when it is done, once. The replies in server order; of a proposal, with what server 0
  // said.
  std::vector<Body> TakePull(uint64_t id, v1::Agreement* agreement = nullptr);
  // Of a probe instead: when its last reply came, MonotonicSeconds.
  double TakeProbe(uint64_t id);
  // Nobody will take it; replies that still come are nobody's.
  void DropPull(uint64_t id) { pulls_.erase(id); }
  // Since when it was waited for; nothing if it was not.
  std::optional<int64_t> OnRowReply(size_t server, uint64_t id, Body reply);
  std::optional<int64_t> OnAgreement(size_t server, const v1::Agreement& agreement, Body reply);
  std::optional<int64_t> OnProbeReply(size_t server, uint64_t id, double now_seconds);

  // One at a time: a request for work or a report, of which the id is filled in.
  void SetExchange(v1::Header request, Body scores, int64_t now_ms);
  bool ExchangeIsDone() const { return exchange_ && exchange_->reply; }
  // Since when it waits for its reply; nothing: none does.
  std::optional<int64_t> exchange_since_ms() const {
    return exchange_ && !exchange_->reply ? std::optional(exchange_->since_ms) : std::nullopt;
  }
  // The reply, if one came; the exchange is over either way.
  std::optional<v1::Header> TakeExchange();
  // Since when a heartbeat waited for a word of the coordinator; nothing if none did.
  std::optional<int64_t> OnExchangeReply(uint64_t id, const v1::Header& reply);
  std::optional<int64_t> OnHeartbeatReply();

  // A heartbeat left for the coordinator; any word of it is an answer. There is another one soon.
  void AddHeartbeat(int64_t now_ms);
  void ForgetHeartbeats() { heartbeat_since_ms_.reset(); }

  // A section of a saved model, one at a time.
  struct Section {
    v1::ModelReply reply;
    Body frames;
  };
  void SetSection(size_t server, v1::ModelPlace place, int64_t now_ms);
  bool SectionIsDone() const { return section_ && section_->done; }
  Section TakeSection();
  // Since when it was waited for; nothing if it was not.
  std::optional<int64_t> OnModelReply(size_t server, const v1::ModelReply& reply, Body frames);

  // What this server still owes a reply to: one pull, the exchange, a section, or everything.
  std::optional<Request> PullFor(size_t server, uint64_t id) const;
  std::optional<Request> ExchangeFor(size_t server) const;
  std::optional<Request> SectionFor(size_t server) const;
  std::vector<Request> AllFor(size_t server) const;
  // Since when the oldest of these, and of the heartbeats, wait.
  session::OtherWaits Oldest(size_t server) const;

 private:
  struct Pull {
    v1::Header header;
    int64_t since_ms = 0;
    size_t left = 0;
    std::vector<Body> requests;
    std::vector<std::optional<Body>> replies;
    v1::Agreement agreement;
    double done_seconds = 0;  // of a probe
  };
  uint64_t Add(v1::Header header, std::vector<Body> requests, bool all_reply, int64_t now_ms);
  struct Exchange {
    uint64_t id = 0;
    Request request;
    int64_t since_ms = 0;
    std::optional<v1::Header> reply;
  };

  struct SectionPull {
    size_t server = 0;
    v1::ModelPull request;
    int64_t since_ms = 0;
    bool done = false;
    Section section;
  };

  std::map<uint64_t, Pull> pulls_;
  uint64_t next_pull_id_ = 1;
  std::optional<SectionPull> section_;
  std::optional<Exchange> exchange_;
  uint64_t next_exchange_id_ = 1;
  std::optional<int64_t> heartbeat_since_ms_;  // the first that was not answered
};

}  // namespace weir::worker
