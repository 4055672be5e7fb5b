#include "tests/support/faulty_transport.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "common/base/check.h"
#include "common/base/random.h"
#include "common/base/strings.h"
#include "common/transport/deadline.h"

namespace weir::transport {
namespace {

// Per connection and direction.
constexpr size_t kMaxHeld = 1000;

enum class Draw { kFault, kDelay, kTold, kBit, kLate };

}  // namespace

FaultyClientTransport::FaultyClientTransport(std::unique_ptr<ClientTransport> inner,
                                             const FaultPlan& plan)
    : inner_(std::move(inner)), plan_(plan) {
  CHECK_GE(plan.break_probability, 0);
  CHECK_GE(plan.drop_probability, 0);
  CHECK_GE(plan.duplicate_probability, 0);
  CHECK_GE(plan.flip_probability, 0);
  CHECK_LE(plan.break_probability + plan.drop_probability + plan.duplicate_probability +
               plan.flip_probability,
           1.0);
  CHECK_GE(plan.max_delay_ms, 0);
}

// What is held back still leaves, as the contract has it.
FaultyClientTransport::~FaultyClientTransport() { SendDue(std::numeric_limits<int64_t>::max()); }

Result<ConnectionId> FaultyClientTransport::Open(const std::string& address, const PeerName& name) {
  WEIR_ASSIGN_OR_RETURN(const ConnectionId inner, inner_->Open(address, name));
  Connection& connection = connections_[next_id_];
  connection.address = address;
  connection.name = name;
  connection.inner = inner;
  return next_id_++;
}

void FaultyClientTransport::Close(ConnectionId connection) {
  const auto found = connections_.find(connection);
  if (found == connections_.end()) return;
  inner_->Close(found->second.inner);
  connections_.erase(found);
  std::erase(broken_, connection);
}

Status FaultyClientTransport::Send(ConnectionId id, Message message) {
  const auto entry = connections_.find(id);
  if (entry == connections_.end()) return NotFound(StrCat("connection ", id, " is not open"));
  SendDue(NowMs());
  Connection& connection = entry->second;
  if (cut_.contains(connection.address)) return OkStatus();
  Lane& lane = connection.out;
  const uint64_t index = lane.message_count;
  const Fault fault = DrawFault(*entry, Direction::kOut, index);
  if (fault == Fault::kBreak) {
    BreakByFault(*entry, Direction::kOut, index);
  } else if (fault == Fault::kDrop) {
    ++counts_.drops;
  } else {
    const bool twice = fault == Fault::kDuplicate;
    if (IsFlipped(Direction::kOut, fault)) {
      message = WithFlippedBit(*entry, Direction::kOut, index, std::move(message));
    }
    const int64_t delay_ms = DrawDelayMs(*entry, Direction::kOut, index);
    if (lane.held.size() >= kMaxHeld) {
      return ResourceExhausted(StrCat("the queue to ", connection.address, " is full"));
    }
    if (delay_ms == 0 && lane.held.empty()) {
      WEIR_RETURN_IF_ERROR(SendThrough(connection, message, twice));
    } else {
      Hold(lane, std::move(message), delay_ms, twice);
    }
  }
  // Only now: a refused message is offered again, and meets the same fault.
  ++lane.message_count;
  return OkStatus();
}

std::optional<ConnectionMessage> FaultyClientTransport::Receive(int64_t timeout_ms) {
  const Deadline deadline(timeout_ms);
  for (;;) {
    const int64_t now_ms = NowMs();
    SendDue(now_ms);
    if (auto due = TakeDue(now_ms)) return due;
    if (woken_.exchange(false)) return std::nullopt;
    const int64_t remaining_ms = deadline.RemainingMs();
    if (auto received = inner_->Receive(WaitMs(now_ms, remaining_ms))) {
      Admit(*std::move(received));
    } else if (remaining_ms == 0) {
      return std::nullopt;
    }
  }
}

std::vector<ConnectionId> FaultyClientTransport::TakeBroken() {
  std::vector<ConnectionId> broken = std::exchange(broken_, {});
  const std::vector<ConnectionId> inner = inner_->TakeBroken();
  for (const auto& [id, connection] : connections_) {
    const bool is_cut = cut_.contains(connection.address);
    if (!is_cut && std::ranges::count(inner, connection.inner) > 0) broken.push_back(id);
  }
  return broken;
}

void FaultyClientTransport::Wake() {
  woken_ = true;
  inner_->Wake();
}

void FaultyClientTransport::Cut(const std::string& address) {
  for (auto& [id, connection] : connections_) {
    if (connection.address == address) Renew(connection);
  }
  cut_.insert(address);
}

void FaultyClientTransport::Heal(const std::string& address) {
  if (cut_.erase(address) == 0) return;
  for (auto& [id, connection] : connections_) {
    if (connection.address == address) Renew(connection);
  }
}

void FaultyClientTransport::BreakAll() {
  for (Entry& entry : connections_) Break(entry);
}

FaultyClientTransport::Fault FaultyClientTransport::DrawFault(const Entry& entry,
                                                              Direction direction,
                                                              uint64_t message_index) const {
  const double unit =
      UnitFromHash(KeyedHash(plan_.seed, entry.first, direction, message_index, Draw::kFault));
  const double break_below = plan_.break_probability;
  const double drop_below = break_below + plan_.drop_probability;
  if (unit < break_below) return Fault::kBreak;
  if (unit < drop_below) return Fault::kDrop;
  const double duplicate_below = drop_below + plan_.duplicate_probability;
  if (unit < duplicate_below) return Fault::kDuplicate;
  if (unit < duplicate_below + plan_.flip_probability) return Fault::kFlip;
  return Fault::kNone;
}

bool FaultyClientTransport::IsFlipped(Direction direction, Fault fault) {
  int& flips = flips_[static_cast<size_t>(direction)];
  flips = fault == Fault::kFlip && flips < plan_.most_flips ? flips + 1 : 0;
  return flips > 0;
}

int64_t FaultyClientTransport::DrawDelayMs(const Entry& entry, Direction direction,
                                           uint64_t message_index) const {
  RandomStream stream(plan_.seed, entry.first, direction, message_index, Draw::kDelay);
  return static_cast<int64_t>(stream.NextBelow(static_cast<uint64_t>(plan_.max_delay_ms) + 1));
}

// Any bit of any part, whatever the sizes of parts.
Message FaultyClientTransport::WithFlippedBit(const Entry& entry, Direction direction,
                                              uint64_t message_index, Message message) {
  uint64_t byte_count = 0;
  for (const Part& part : message.parts) byte_count += part.size();
  if (byte_count == 0) return message;
  RandomStream stream(plan_.seed, entry.first, direction, message_index, Draw::kBit);
  uint64_t bit = stream.NextBelow(8 * byte_count);
  for (Part& part : message.parts) {
    if (bit < 8 * part.size()) {
      Bytes bytes(part.span().begin(), part.span().end());
      bytes[bit / 8] ^= static_cast<uint8_t>(1u << bit % 8);
      part = Part(std::move(bytes));
      break;
    }
    bit -= 8 * part.size();
  }
  ++counts_.flips;
  return message;
}

void FaultyClientTransport::Break(Entry& entry) {
  Lane& out = entry.second.out;
  const uint64_t index = out.message_count;
  const double unit = UnitFromHash(KeyedHash(plan_.seed, entry.first, index, Draw::kLate));
  std::deque<Held> late;
  if (unit < plan_.late_probability) late = std::move(out.held);
  Renew(entry.second);
  out.held = std::move(late);
}

void FaultyClientTransport::Renew(Connection& connection) {
  inner_->Close(connection.inner);
  connection.inner = inner_->Open(connection.address, connection.name).value();
  connection.out.held.clear();
  connection.in.held.clear();
  ++counts_.breaks;
}

void FaultyClientTransport::BreakByFault(Entry& entry, Direction direction,
                                         uint64_t message_index) {
  Break(entry);
  const uint64_t hash = KeyedHash(plan_.seed, entry.first, direction, message_index, Draw::kTold);
  if (UnitFromHash(hash) < 0.5) broken_.push_back(entry.first);
}

void FaultyClientTransport::Hold(Lane& lane, Message message, int64_t delay_ms, bool twice) {
  const int64_t due_ms = NowMs() + delay_ms;
  if (twice) {
    lane.held.push_back({due_ms, message});
    ++counts_.duplicates;
  }
  lane.held.push_back({due_ms, std::move(message)});
  if (delay_ms > 0) ++counts_.delays;
}

Status FaultyClientTransport::SendThrough(Connection& connection, const Message& message,
                                          bool twice) {
  WEIR_RETURN_IF_ERROR(inner_->Send(connection.inner, message));
  if (twice && inner_->Send(connection.inner, message).ok()) ++counts_.duplicates;
  return OkStatus();
}

void FaultyClientTransport::SendDue(int64_t now_ms) {
  for (auto& [id, connection] : connections_) {
    std::deque<Held>& held = connection.out.held;
    while (!held.empty() && held.front().due_ms <= now_ms) {
      const Status sent = inner_->Send(connection.inner, held.front().message);
      if (sent.code() == StatusCode::kResourceExhausted) break;
      held.pop_front();
    }
  }
}

void FaultyClientTransport::Admit(ConnectionMessage received) {
  const auto entry = std::find_if(
      connections_.begin(), connections_.end(),
      [&](const Entry& candidate) { return candidate.second.inner == received.connection; });
  if (entry == connections_.end() || cut_.contains(entry->second.address)) return;
  Lane& lane = entry->second.in;
  const uint64_t index = lane.message_count++;
  const Fault fault = DrawFault(*entry, Direction::kIn, index);
  if (fault == Fault::kBreak) {
    BreakByFault(*entry, Direction::kIn, index);
  } else if (fault == Fault::kDrop) {
    ++counts_.drops;
  } else {
    if (IsFlipped(Direction::kIn, fault)) {
      received.message = WithFlippedBit(*entry, Direction::kIn, index, std::move(received.message));
    }
    Hold(lane, std::move(received.message), DrawDelayMs(*entry, Direction::kIn, index),
         fault == Fault::kDuplicate);
  }
}

// The one that is due first goes first, so that no connection starves another.
std::optional<ConnectionMessage> FaultyClientTransport::TakeDue(int64_t now_ms) {
  Entry* first = nullptr;
  for (Entry& entry : connections_) {
    const std::deque<Held>& held = entry.second.in.held;
    if (held.empty() || held.front().due_ms > now_ms) continue;
    if (first == nullptr || held.front().due_ms < first->second.in.held.front().due_ms) {
      first = &entry;
    }
  }
  if (first == nullptr) return std::nullopt;
  std::deque<Held>& held = first->second.in.held;
  ConnectionMessage message{first->first, std::move(held.front().message)};
  held.pop_front();
  return message;
}

int64_t FaultyClientTransport::WaitMs(int64_t now_ms, int64_t limit_ms) const {
  int64_t wait_ms = limit_ms;
  for (const auto& [id, connection] : connections_) {
    for (const Lane* lane : {&connection.out, &connection.in}) {
      if (lane->held.empty()) continue;
      // One that is due and still here waits for room below.
      const int64_t until_due_ms = std::max<int64_t>(1, lane->held.front().due_ms - now_ms);
      wait_ms = std::min(wait_ms, until_due_ms);
    }
  }
  return wait_ms;
}

}  // namespace weir::transport
