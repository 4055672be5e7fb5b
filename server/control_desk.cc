#include "server/control_desk.h"

#include <utility>

#include "common/base/bytes.h"

namespace weir::server {
namespace {

// What one change puts.
class ChangedParts final : public cluster::SavedParts {
 public:
  void Put(std::string name, Bytes state) override {
    parts_.insert_or_assign(std::move(name), std::move(state));
  }
  void Remove(std::string name) override { Put(std::move(name), {}); }
  cluster::PartMap& parts() { return parts_; }

 private:
  cluster::PartMap parts_;
};

// Beside the coordinator's own.
constexpr const char* kTimePart = "server/time";

}  // namespace

void ControlDesk::Save(int64_t now_ms) {
  if (!log_.has_begun()) return;
  ChangedParts changed;
  coordinator_.SaveChanges(&changed);
  if (!changed.parts().empty()) {
    Bytes time;
    ByteWriter(time).Put(now_ms);
    changed.Put(kTimePart, std::move(time));
    log_.AddParts(std::move(changed.parts()));
  }
  if (!end_record_ && coordinator_.has_finished_well()) end_record_ = log_.last_number();
}

bool ControlDesk::has_kept_end() const {
  return end_record_ && *end_record_ <= log_.durable_number() && !coordinator_.failed();
}

std::optional<int64_t> ControlDesk::TakeTime(cluster::PartMap* parts) {
  const auto found = parts->find(kTimePart);
  if (found == parts->end()) return std::nullopt;
  const Bytes time = std::move(found->second);
  parts->erase(found);
  return ByteReader(time).Get<int64_t>();
}

void ControlDesk::Take(const transport::PeerId& peer, const v1::Header& header,
                       const transport::Message& message, int64_t now_ms) {
  auto reply = ReplyTo(peer, header, message, now_ms);
  Save(now_ms);
  if (!reply) return;
  if (reply->shard_reply().state() == v1::ShardReply::RUNNING) mail_.Welcome(peer);
  Tell([this, peer, reply = *std::move(reply)] { mail_.Send(peer, reply); });
}

void ControlDesk::Tell(std::function<void()> send) {
  if (log_.failure().ok()) return log_.AwaitDurable(log_.last_number(), std::move(send));
  if (coordinator_.failed()) send();
}

std::optional<v1::Header> ControlDesk::ReplyTo(const transport::PeerId& peer,
                                               const v1::Header& header,
                                               const transport::Message& message, int64_t now_ms) {
  switch (header.body_case()) {
    case v1::Header::kJoin:
      return coordinator_.OnJoin(header.join(), now_ms);
    case v1::Header::kShardReport:
      return coordinator_.OnShardReport(header.shard_report(), now_ms);
    case v1::Header::kHeartbeat:
      return coordinator_.OnHeartbeat(header.heartbeat(), now_ms);
    case v1::Header::kWorkRequest:
      return coordinator_.OnWorkRequest(header.work_request(), message, peer, now_ms);
    case v1::Header::kReport:
      return coordinator_.OnReport(header.report(), peer, now_ms);
    case v1::Header::kLeave:
      return coordinator_.OnLeave(header.leave(), now_ms);
    default:
      mail_.Refuse(peer, "a message that servers do not take", false);
      return std::nullopt;
  }
}

void ControlDesk::Parted(const DispatchedWorker* worker, int64_t now_ms) {
  if (worker == nullptr) return;
  coordinator_.OnParted(worker->seat, worker->session.incarnation(), now_ms);
}

void ControlDesk::SendHeld(int64_t now_ms) {
  std::vector<Coordinator::HeldReply> replies = coordinator_.TakeHeldReplies(now_ms);
  if (!replies.empty()) Save(now_ms);
  for (Coordinator::HeldReply& held : replies) {
    Tell([this, held = std::move(held)] {
      if (!mail_.Send(held.peer, held.header)) coordinator_.OnLostReply(held.seat);
    });
  }
}

}  // namespace weir::server
