// The server's half of a session with one worker: takes each push once, knows what this worker was
// last sent, and hands out answers in order. A pure state machine.
//
// The cursor is one number for all pieces: every push visits every dense strand, and strands work
// in the order of the dispatcher, so an answer built for push number v contains exactly the changes
// in (cursor, v] of every piece. A push that was taken before is not applied again but answered
// anew, because its answer may be what was lost.
//
// Place in the life of a batch: push -> **number, or recognise** -> strands -> answer.
// Thread rule: owner thread only (the server's I/O thread).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/proto/protocol.pb.h"
#include "common/transport/message.h"

namespace weir::session {

// "Nothing was sent yet": the answer is dense.
inline constexpr uint64_t kNoVersion = UINT64_MAX;

// Where an answer belongs: it is dropped if the worker has opened another connection meanwhile.
struct AnswerSlot {
  uint32_t trainer = 0;
  uint32_t stage = 0;
  uint64_t incarnation = 0;
  uint32_t connection = 0;
  uint64_t index = 0;
};

// What the strands are to do for one push or hello.
struct AnswerTask {
  AnswerSlot slot;
  uint64_t sequence = 0;        // every push of the session up to this one is taken
  uint64_t since = kNoVersion;  // send what changed after this version
  bool apply = false;           // a new push: give it the next number and apply its frames
};

class ServerSession {
 public:
  ServerSession(uint32_t trainer, uint32_t stage) : trainer_(trainer), stage_(stage) {}

  struct Verdict {
    std::optional<std::string> refusal;  // the peer is told so
    bool refusal_retry = false;          // it may say hello again
    std::optional<v1::HelloReply> reply;
    std::optional<AnswerTask> task;  // at most one; nothing at all for a stale message
  };

  // The peer is whoever sent the message; from now on only this one is listened to.
  Verdict OnHello(const std::string& peer, const v1::Hello& hello, uint64_t server_epoch,
                  uint64_t current_version);

  // What a push is; nothing changes by it.
  struct Judgement {
    enum class Kind {
      kStale,     // of an earlier connection, or of another peer: nothing is to be done
      kRefused,   // the peer is told why, and may say hello again
      kRepeated,  // it was taken before: it is answered, and not applied
      kNew,
    };
    Kind kind = Kind::kStale;
    std::string refusal = {};
  };
  Judgement Judge(const std::string& peer, const v1::Push& push) const;
  // A push that was judged new, and is taken from now on, or repeated. current_version: before the
  // push, which gets the next one if it is new and no refresh.
  AnswerTask Take(const v1::Push& push, uint64_t current_version);

  // As it was in another life of the server. Before the first hello.
  void Restore(uint64_t incarnation, uint64_t last_sequence) {
    incarnation_ = incarnation;
    last_sequence_ = last_sequence;
  }

  // The strands have finished a task. Returns the messages that may leave now, in order.
  std::vector<transport::Message> OnAnswerBuilt(const AnswerSlot& slot, transport::Message message);

  const std::string& peer() const { return peer_; }
  uint64_t incarnation() const { return incarnation_; }
  uint32_t connection() const { return connection_; }
  uint64_t last_sequence() const { return last_sequence_; }
  bool Serves(const std::string& peer, uint32_t connection) const {
    return incarnation_ != 0 && peer == peer_ && connection == connection_;
  }

 private:
  AnswerTask NewTask(uint64_t since, bool apply);

  const uint32_t trainer_;
  const uint32_t stage_;
  std::string peer_;
  uint64_t incarnation_ = 0;
  uint32_t connection_ = 0;
  uint64_t last_sequence_ = 0;
  uint64_t cursor_ = kNoVersion;
  uint64_t next_index_ = 0;
  uint64_t next_to_send_ = 0;
  std::map<uint64_t, transport::Message> built_;  // out of order, waiting for their turn
};

}  // namespace weir::session
