#include "worker/link/outstanding.h"

#include <algorithm>
#include <utility>

#include "common/base/check.h"

namespace weir::worker {

uint64_t Outstanding::AddPull(std::vector<Body> requests, bool read_only, int64_t now_ms) {
  v1::Header header;
  header.mutable_row_pull()->set_read_only(read_only);
  header.mutable_row_pull()->set_request_id(next_pull_id_);
  return Add(std::move(header), std::move(requests), false, now_ms);
}

uint64_t Outstanding::AddProposal(std::vector<Body> requests, v1::Proposal proposal,
                                  int64_t now_ms) {
  v1::Header header;
  *header.mutable_proposal() = std::move(proposal);
  header.mutable_proposal()->set_request_id(next_pull_id_);
  return Add(std::move(header), std::move(requests), true, now_ms);
}

uint64_t Outstanding::AddProbe(std::vector<Body> requests, int64_t now_ms) {
  v1::Header header;
  header.mutable_probe()->set_request_id(next_pull_id_);
  return Add(std::move(header), std::move(requests), false, now_ms);
}

uint64_t Outstanding::Add(v1::Header header, std::vector<Body> requests, bool all_reply,
                          int64_t now_ms) {
  const uint64_t id = next_pull_id_++;
  Pull& pull = pulls_[id];
  pull.header = std::move(header);
  pull.since_ms = now_ms;
  pull.requests = std::move(requests);
  pull.replies.resize(pull.requests.size());
  for (size_t server = 0; server < pull.requests.size(); ++server) {
    const bool is_asked = all_reply || !pull.requests[server].empty();
    if (!is_asked) pull.replies[server] = Body();
    pull.left += is_asked;
  }
  return id;
}

bool Outstanding::PullIsDone(uint64_t id) const { return pulls_.at(id).left == 0; }

std::vector<Body> Outstanding::TakePull(uint64_t id, v1::Agreement* agreement) {
  const auto found = pulls_.find(id);
  CHECK(found != pulls_.end() && found->second.left == 0);
  std::vector<Body> replies;
  for (auto& reply : found->second.replies) replies.push_back(*std::move(reply));
  if (agreement != nullptr) *agreement = std::move(found->second.agreement);
  pulls_.erase(found);
  return replies;
}

double Outstanding::TakeProbe(uint64_t id) {
  const double done_seconds = pulls_.at(id).done_seconds;
  TakePull(id);
  return done_seconds;
}

std::optional<int64_t> Outstanding::OnProbeReply(size_t server, uint64_t id, double now_seconds) {
  const auto since_ms = OnRowReply(server, id, {});
  if (since_ms) pulls_.at(id).done_seconds = now_seconds;
  return since_ms;
}

std::optional<int64_t> Outstanding::OnAgreement(size_t server, const v1::Agreement& agreement,
                                                Body reply) {
  const auto since_ms = OnRowReply(server, agreement.request_id(), std::move(reply));
  if (since_ms && server == 0) pulls_.at(agreement.request_id()).agreement = agreement;
  return since_ms;
}

std::optional<int64_t> Outstanding::OnRowReply(size_t server, uint64_t id, Body reply) {
  const auto found = pulls_.find(id);
  if (found == pulls_.end() || found->second.replies[server]) return std::nullopt;
  found->second.replies[server] = std::move(reply);
  --found->second.left;
  return found->second.since_ms;
}

void Outstanding::SetExchange(v1::Header request, Body scores, int64_t now_ms) {
  CHECK(!exchange_.has_value()) << "one exchange at a time";
  CHECK(request.has_work_request() || request.has_report());
  const uint64_t id = next_exchange_id_++;
  request.has_report() ? request.mutable_report()->set_request_id(id)
                       : request.mutable_work_request()->set_request_id(id);
  exchange_ = {.id = id,
               .request = {.header = std::move(request), .body = std::move(scores)},
               .since_ms = now_ms,
               .reply = std::nullopt};
}

std::optional<v1::Header> Outstanding::TakeExchange() {
  CHECK(exchange_.has_value());
  std::optional<v1::Header> reply = std::move(exchange_->reply);
  exchange_.reset();
  return reply;
}

void Outstanding::AddHeartbeat(int64_t now_ms) {
  if (!heartbeat_since_ms_) heartbeat_since_ms_ = now_ms;
}

std::optional<int64_t> Outstanding::OnExchangeReply(uint64_t id, const v1::Header& reply) {
  std::optional<int64_t> since_ms = OnHeartbeatReply();
  if (exchange_ && exchange_->id == id) {
    exchange_->reply = reply;
    if (!since_ms) since_ms = exchange_->since_ms;  // it was in a heartbeat's place
  }
  return since_ms;
}

std::optional<int64_t> Outstanding::OnHeartbeatReply() {
  return std::exchange(heartbeat_since_ms_, std::nullopt);
}

void Outstanding::SetSection(size_t server, v1::ModelPlace place, int64_t now_ms) {
  CHECK(!section_.has_value()) << "one section at a time";
  SectionPull section;
  section.server = server;
  section.request.set_request_id(next_pull_id_++);
  *section.request.mutable_place() = std::move(place);
  section.since_ms = now_ms;
  section_ = std::move(section);
}

Outstanding::Section Outstanding::TakeSection() {
  CHECK(SectionIsDone());
  Section section = std::move(section_->section);
  section_.reset();
  return section;
}

std::optional<int64_t> Outstanding::OnModelReply(size_t server, const v1::ModelReply& reply,
                                                 Body frames) {
  if (!section_ || section_->done || section_->server != server ||
      section_->request.request_id() != reply.request_id()) {
    return std::nullopt;
  }
  section_->section = {reply, std::move(frames)};
  section_->done = true;
  return section_->since_ms;
}

std::optional<Request> Outstanding::SectionFor(size_t server) const {
  if (!section_ || section_->done || section_->server != server) return std::nullopt;
  Request request;
  *request.header.mutable_model_pull() = section_->request;
  return request;
}

std::optional<Request> Outstanding::PullFor(size_t server, uint64_t id) const {
  const auto found = pulls_.find(id);
  if (found == pulls_.end() || found->second.replies[server]) return std::nullopt;
  Request request{.header = found->second.header, .body = found->second.requests[server]};
  if (request.header.has_proposal() && server != 0)
    request.header.mutable_proposal()->clear_words();
  return request;
}

std::optional<Request> Outstanding::ExchangeFor(size_t server) const {
  if (server != 0 || !exchange_ || exchange_->reply) return std::nullopt;
  return exchange_->request;
}

std::vector<Request> Outstanding::AllFor(size_t server) const {
  std::vector<Request> all;
  for (const auto& [id, pull] : pulls_) {
    if (auto request = PullFor(server, id)) all.push_back(*std::move(request));
  }
  if (auto request = ExchangeFor(server)) all.push_back(*std::move(request));
  if (auto request = SectionFor(server)) all.push_back(*std::move(request));
  return all;
}

session::OtherWaits Outstanding::Oldest(size_t server) const {
  session::OtherWaits oldest;
  const auto add = [](int64_t since_ms, std::optional<int64_t>* oldest_ms) {
    *oldest_ms = std::min(oldest_ms->value_or(since_ms), since_ms);
  };
  for (const auto& [id, pull] : pulls_) {
    if (!pull.replies[server]) add(pull.since_ms, &oldest.data_since_ms);
  }
  if (section_ && !section_->done && section_->server == server) {
    add(section_->since_ms, &oldest.data_since_ms);
  }
  if (server == 0 && exchange_ && !exchange_->reply) {
    add(exchange_->since_ms, &oldest.word_since_ms);
  }
  if (server == 0 && heartbeat_since_ms_) add(*heartbeat_since_ms_, &oldest.word_since_ms);
  return oldest;
}

}  // namespace weir::worker
