// A client transport on a bad network: a wrapper that breaks connections, loses, doubles, damages
// and delays messages, as a seed says. For tests of sessions and of everything that must survive
// them.
//
// A break is ZeroMQ's silent reconnect: both directions lose what is in flight, or the way out
// keeps what has not left, the caller keeps its ConnectionId and is told of the break or, half of
// the time, not, the server meets a new PeerId. The fault that befalls message n of a connection
// and direction is a function of (seed, connection, direction, n) alone, so that threads and clocks
// do not change it; connections count from 1. Delayed messages hold back those behind: in order.
//
// Thread rule: as transport.h says. Delayed messages move only while the owner thread calls Send or
// Receive.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/base/clock.h"
#include "common/transport/transport.h"

namespace weir::transport {

// Probabilities are per message and direction; their sum is at most 1.
struct FaultPlan {
  uint64_t seed = 1;
  double break_probability = 0;  // the connection breaks, and this message is lost with it
  double drop_probability = 0;   // only this message is lost: a gap that no tcp connection makes
  double duplicate_probability = 0;     // it arrives twice
  double flip_probability = 0;          // a bit of it is another one ...
  int most_flips = 1'000'000;           // ... of so many one behind the other in a direction
  double late_probability = 0;          // at a break what waits to leave leaves on the next one
  int64_t max_delay_ms = 0;             // each message waits for 0..max_delay_ms, uniformly
  const Clock* clock = &Clock::Real();  // of delays
};

struct FaultCounts {
  int64_t breaks = 0, drops = 0, duplicates = 0, flips = 0, delays = 0;
};

class FaultyClientTransport final : public ClientTransport {
 public:
  FaultyClientTransport(std::unique_ptr<ClientTransport> inner, const FaultPlan& plan);
  ~FaultyClientTransport() override;

  using ClientTransport::Open;
  Result<ConnectionId> Open(const std::string& address, const PeerName& name) override;
  void Close(ConnectionId connection) override;
  // A message that a fault swallows was accepted. Delayed messages count against a bound, too.
  Status Send(ConnectionId connection, Message message) override;
  std::optional<ConnectionMessage> Receive(int64_t timeout_ms) override;
  std::vector<ConnectionId> TakeBroken() override;
  void Wake() override;

  // Breaks every open connection now, and tells nobody.
  void BreakAll();
  // Until it is healed nothing goes through to that address or comes from it, and nobody is told;
  // then the connections there are new ones.
  void Cut(const std::string& address);
  void Heal(const std::string& address);

  const FaultCounts& counts() const { return counts_; }  // so far, BreakAll() included

 private:
  enum class Fault { kNone, kBreak, kDrop, kDuplicate, kFlip };
  enum class Direction { kOut, kIn };

  struct Held {
    int64_t due_ms;
    Message message;
  };
  struct Lane {
    uint64_t message_count = 0;
    std::deque<Held> held;
  };
  struct Connection {
    std::string address;
    PeerName name;
    ConnectionId inner = 0;
    Lane out;
    Lane in;
  };
  using Entry = std::map<ConnectionId, Connection>::value_type;

  Fault DrawFault(const Entry& entry, Direction direction, uint64_t message_index) const;
  int64_t DrawDelayMs(const Entry& entry, Direction direction, uint64_t message_index) const;
  bool IsFlipped(Direction direction, Fault fault);  // counts those one behind the other
  void Break(Entry& entry);
  void BreakByFault(Entry& entry, Direction direction, uint64_t message_index);
  Message WithFlippedBit(const Entry& entry, Direction direction, uint64_t message_index,
                         Message message);
  void Renew(Connection& connection);  // with nothing in flight
  void Hold(Lane& lane, Message message, int64_t delay_ms, bool twice);
  Status SendThrough(Connection& connection, const Message& message, bool twice);
  int64_t NowMs() const { return plan_.clock->NowMs(); }
  void SendDue(int64_t now_ms);
  void Admit(ConnectionMessage received);
  std::optional<ConnectionMessage> TakeDue(int64_t now_ms);
  // Until one held can move; limit_ms at most.
  int64_t WaitMs(int64_t now_ms, int64_t limit_ms) const;

  const std::unique_ptr<ClientTransport> inner_;
  const FaultPlan plan_;
  std::map<ConnectionId, Connection> connections_;
  ConnectionId next_id_ = 1;
  std::set<std::string> cut_;
  std::vector<ConnectionId> broken_;  // and not told yet
  int flips_[2] = {0, 0};             // one behind the other, of each direction
  FaultCounts counts_;
  std::atomic<bool> woken_{false};
};

}  // namespace weir::transport
