// The worker's half of a session with one server: numbered pushes out, numbered answers in, and
// what to do when a connection breaks. A pure state machine: events in, actions out; no
// thread, clock or socket inside.
//
// A session is one sequence of pushes that outlives connections. Each connection begins with a
// hello that names the last version taken; the reply names the last push taken. From these two
// numbers both sides know what was lost: the worker replays pushes, the server sends one catch-up
// answer with all that changed since that version. A connection is given up when the server asks
// for it, when something came damaged, when an answer is missing (their indexes are consecutive),
// when it was seen to break, or when something is owed and nothing whole comes for a while:
// silence_ms at first, longer while large pushes are under way, and twice as long after each vain
// try, so that a slow network gets through what is large.
//
// Place in the life of a batch: push -> **sequence, keep, replay** -> ... -> answer -> replica.
// Thread rule: owner thread only (the worker's I/O thread). Owns the pushes until they are durable.
// Legal order: Start (Submit | On* | Tick)*. After a kFail action nothing more happens.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/proto/protocol.pb.h"
#include "common/session/loading.h"
#include "common/transport/message.h"

namespace weir::session {

inline constexpr uint32_t kProtocolVersion = 12;

// After so long without a word that is due, a worker doubts its connection and makes another.
int64_t SilenceMs(int64_t answer_timeout_ms);

struct ClientSessionOptions {
  std::string peer_name;  // "server 1 at tcp://h1:7100", for messages
  v1::RunIdentity identity;
  uint32_t trainer = 0;
  uint32_t stage = 0;
  uint32_t stage_count = 1;  // 1: the whole model
  uint64_t incarnation = 0;
  uint64_t membership_epoch = 0;
  uint64_t run = 0;  // JoinReply.run
  // Something is owed and nothing came: try a new connection. Longer where much is under way, by
  // what it takes on a slow network, up to most_silence_ms.
  int64_t silence_ms = 3000;
  int64_t most_silence_ms = 10000;
  // Until the first answer ever; begins anew whenever the server says that it has loaded more.
  int64_t connect_timeout_ms = 30000;
  int64_t answer_timeout_ms = 30000;  // without any answer while something is owed: fail
  int64_t first_retry_ms = 50;        // doubled for each vain connection, up to silence_ms
};

struct ClientAction {
  enum class Kind {
    kConnect,  // drop the connection, if any, and open a new one
    kSend,     // header and body on the current connection
    kApply,    // the answer just given to OnAnswer is in order: put its frames into the replica
    kFail,     // the session is over
  };
  Kind kind;
  v1::Header header = {};                  // kSend
  std::vector<transport::Part> body = {};  // kSend
  Status status = {};                      // kFail
};
using ClientActions = std::vector<ClientAction>;

// Since when the oldest reply outside the sequence is outstanding, if one is. Patience is learned
// of each kind for itself: words come at once from a server that has much to do before rows.
struct OtherWaits {
  std::optional<int64_t> data_since_ms = {};  // rows, a part of a model
  std::optional<int64_t> word_since_ms = {};  // of the coordinator: work, the reply to a heartbeat
};

// How long a silence is borne: longer after each vain wait, and what the waits that were not vain
// taught.
class Patience {
 public:
  Patience(int64_t base_ms, int64_t cap_ms) : base_ms_(base_ms), cap_ms_(cap_ms), ms_(base_ms) {}
  int64_t ms() const { return ms_; }
  void WasVain() { ms_ = std::min(2 * ms_, cap_ms_); }
  void Learn(int64_t waited_ms) { ms_ = std::clamp(2 * waited_ms, base_ms_, cap_ms_); }
  // Of a wait for something else than what was borne.
  void LearnNoLess(int64_t waited_ms) { ms_ = std::clamp(2 * waited_ms, ms_, cap_ms_); }

 private:
  const int64_t base_ms_;
  const int64_t cap_ms_;
  int64_t ms_;
};

class ClientSession {
 public:
  explicit ClientSession(ClientSessionOptions options);

  ClientActions Start(int64_t now_ms);

  // Takes over a push; fields of header.push() other than connection and sequence are the caller's.
  // Returns kSend at once when connected; else it leaves with the replay.
  ClientActions Submit(v1::Push push, std::vector<transport::Part> body, int64_t now_ms);

  // Frames of a push that Submit will end, by the name that it says then (parts_name). A session
  // has several begun at a time.
  ClientActions SubmitPart(uint64_t name, std::vector<transport::Part> body, int64_t now_ms);

  // Accepts nothing: what the server took is in the replica with its first answer, not before.
  ClientActions OnHelloReply(const v1::HelloReply& reply, int64_t now_ms);
  ClientActions OnAnswer(const v1::Answer& answer, int64_t now_ms);
  void OnDurableNotice(const v1::DurableNotice& notice, int64_t now_ms);
  // The push that is owed an answer waits for those of others: the server lives.
  void OnRoundNotice(const v1::RoundNotice& notice, int64_t now_ms);
  ClientActions OnRefusal(const v1::Refusal& refusal, int64_t now_ms);
  // Something that came was damaged, and not taken: it comes again on another connection.
  ClientActions OnDamage(int64_t now_ms);
  // Call often: what is due is as late as the call. The caller repeats requests whose replies are
  // outstanding when the session is ready again.
  ClientActions Tick(const OtherWaits& others, int64_t now_ms);
  // What was under way on the current connection is lost. Who is owed nothing leaves it at that: a
  // server that has done its work may be gone.
  ClientActions OnBroken(const OtherWaits& others, int64_t now_ms);
  // A reply outside the sequence came after so long.
  void OnDataReply(int64_t waited_ms) { data_patience_.Learn(waited_ms); }
  void OnWordReply(int64_t waited_ms) { word_patience_.Learn(waited_ms); }

  bool ready() const { return state_ == State::kReady; }
  // Of the messages that belong to one (Push, Proposal).
  uint32_t connection() const { return connection_; }
  // The first answer has come: the replica holds this server's pieces.
  bool has_version() const { return server_epoch_ != 0 && has_version_; }
  uint64_t version() const { return version_; }
  uint64_t accepted_sequence() const { return accepted_; }
  // Up to here the server keeps them, whatever ends.
  uint64_t durable_sequence() const { return submitted_ - kept_.size(); }
  uint64_t submitted_sequence() const { return submitted_; }
  // Bytes of the pushes that are kept for a replay.
  int64_t kept_bytes() const { return kept_bytes_; }
  uint64_t replayed_pushes() const { return replayed_; }
  // Connections that were ready and had to be made again, however many attempts that took.
  uint64_t reconnects() const { return reconnects_; }
  // How often the server was another process than before, and went on.
  uint64_t server_restarts() const { return server_restarts_; }

 private:
  enum class State { kIdle, kConnecting, kReady, kFailed };
  using Body = std::vector<transport::Part>;
  struct KeptPush {
    v1::Push push;
    std::vector<Body> parts;
    std::vector<transport::Part> body;
  };

  void SendPush(const KeptPush& kept, ClientActions& actions);
  void SendParts(uint64_t name, const std::vector<Body>& parts, size_t first,
                 ClientActions& actions) const;
  void Connect(int64_t now_ms, ClientActions& actions);
  void Fail(Status status, ClientActions& actions);
  void ForgetDurable(uint64_t sequence);
  bool IsOwed() const;
  bool IsSilent(const OtherWaits& others, int64_t now_ms);
  void LearnFrom(const v1::Answer& answer, int64_t waited_ms, int64_t now_ms);
  Status SilenceStatus(int64_t since_ms, int64_t now_ms) const;

  const ClientSessionOptions options_;
  State state_ = State::kIdle;
  uint32_t connection_ = 0;
  uint64_t server_epoch_ = 0;
  bool has_version_ = false;
  uint64_t version_ = 0;
  bool needs_all_ = false;  // changes since that version are not known any more
  uint64_t next_answer_index_ = 0;
  uint64_t submitted_ = 0;
  uint64_t accepted_ = 0;
  std::deque<KeptPush> kept_;                    // consecutive sequences, ending at submitted_
  std::map<uint64_t, std::vector<Body>> begun_;  // parts of pushes to come, by name
  int64_t kept_bytes_ = 0;
  uint64_t sent_ = 0;  // the highest sequence sent
  uint64_t replayed_ = 0;
  uint64_t reconnects_ = 0;
  uint64_t server_restarts_ = 0;

  Patience answer_patience_;
  Patience data_patience_;
  Patience word_patience_;
  int64_t opened_ms_ = 0;     // when the current connection was opened
  int64_t heard_ms_ = 0;      // last message of the sequence, or since when one is owed
  int64_t progress_ms_ = 0;   // last time that nothing was owed, or something owed came
  bool caught_up_ = false;    // an answer has come that took none of the pushes that are owed
  bool is_broken_ = false;    // the current connection, since it was ready
  int64_t retry_ms_ = 0;      // silence allowed to the current connection attempt
  std::string refusal_;       // why the last hello was refused, if it may be said again
  bool was_loading_ = false;  // which is that the server loads
  bool was_refused_ = false;  // since it was connected
  LoadingWatch loading_;
};

}  // namespace weir::session
