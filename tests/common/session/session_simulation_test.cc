// Three workers and one server as state machines, with a network that breaks, drops and reorders
// across strands, replayed from a seed. The oracle: every push is applied once, and at every quiet
// moment each replica equals the server, element by element.
#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <memory>
#include <utility>

#include "common/base/random.h"
#include "common/session/client_session.h"
#include "common/session/server_session.h"
#include "tests/common/session/take_push.h"

namespace weir::session {
namespace {

constexpr int kPieces = 4;
constexpr int kElements = 16;
constexpr uint64_t kSimulatedEpoch = 77;

// One gradient: an integer added to one element, so that sums are exact in any order.
struct Change {
  int piece;
  int element;
  int64_t amount;
};
struct NewValue {
  int piece;
  int element;
  int64_t value;
};

struct ToServer {
  v1::Header header;
  std::vector<Change> changes;
};
struct ToClient {
  v1::Header header;
  std::vector<NewValue> values;
};

// What a strand does for one task; answers are put together when the last strand is done.
struct StrandTask {
  AnswerTask answer;
  uint64_t version;
  std::shared_ptr<std::vector<Change>> changes;
  std::shared_ptr<ToClient> reply;
  std::shared_ptr<int> left;
};

struct Piece {
  std::vector<int64_t> values = std::vector<int64_t>(kElements);
  std::vector<uint64_t> versions = std::vector<uint64_t>(kElements);
  std::deque<StrandTask> queue;
};

// Messages of the real type carry no integers; a number in the body stands for the payload.
transport::Message Token(uint64_t number) {
  Bytes bytes;
  ByteWriter(bytes).Put(number);
  return {{transport::Part(std::move(bytes))}};
}
uint64_t TokenOf(const transport::Message& message) {
  return ByteReader(message.parts[0].span()).Get<uint64_t>();
}

class Simulation {
 public:
  explicit Simulation(uint64_t seed, int workers) : random_(seed) {
    for (int w = 0; w < workers; ++w) {
      ClientSessionOptions options;
      options.peer_name = "server 0";
      options.trainer = static_cast<uint32_t>(w);
      options.incarnation = 1;
      options.silence_ms = 40;
      options.connect_timeout_ms = options.answer_timeout_ms = 1000000;
      clients_.push_back(std::make_unique<Client>(options, static_cast<uint32_t>(w)));
      Do(*clients_.back(), clients_.back()->session.Start(now_ms_));
    }
  }

  void Run(int steps, double fault_probability) {
    for (int i = 0; i < steps; ++i) Step(fault_probability);
  }

  // No more faults, no more new pushes: everything settles, then one empty push refreshes each.
  void Settle() {
    auto drain = [&] {
      for (int i = 0; i < 3000; ++i) {
        ++now_ms_;
        for (auto& client : clients_) {
          DeliverToServer(*client);
          DeliverToClient(*client);
          Do(*client, client->session.Tick({}, now_ms_));
        }
        for (Piece& piece : pieces_) RunStrand(piece);
      }
    };
    drain();
    for (auto& client : clients_) SubmitPush(*client, 0);
    drain();
  }

  void ExpectQuietAndEqual() {
    for (auto& client : clients_) {
      ASSERT_TRUE(client->failure.ok()) << client->failure;
      EXPECT_EQ(client->session.accepted_sequence(), client->session.submitted_sequence());
      EXPECT_EQ(client->session.kept_bytes(), 0);
      for (int p = 0; p < kPieces; ++p) {
        EXPECT_EQ(client->replica[p], pieces_[p].values) << "worker replica, piece " << p;
        EXPECT_EQ(expected_[p], pieces_[p].values) << "pushes applied once, piece " << p;
      }
    }
  }

  uint64_t replayed() const {
    uint64_t total = 0;
    for (const auto& client : clients_) total += client->session.replayed_pushes();
    return total;
  }
  uint64_t sparse_answers() const { return sparse_answers_; }

 private:
  struct Client {
    Client(const ClientSessionOptions& options, uint32_t trainer)
        : session(options), server(trainer, 0) {
      replica.assign(kPieces, std::vector<int64_t>(kElements));
    }
    ClientSession session;
    ServerSession server;  // the other end's state for this worker
    std::string peer = "first";
    std::deque<ToServer> up;
    std::deque<ToClient> down;
    std::vector<std::vector<int64_t>> replica;
    std::map<uint64_t, std::vector<Change>> pushes;
    std::map<uint64_t, std::vector<std::vector<Change>>> parts;  // by name and number
    // At the server, of the connection.
    std::map<uint64_t, std::vector<std::vector<Change>>> begun;
    Status failure;
  };

  void Step(double fault_probability) {
    now_ms_ += 1;
    for (auto& client : clients_) {
      const uint64_t in_flight =
          client->session.submitted_sequence() - client->session.accepted_sequence();
      if (in_flight < 3 && Chance(0.3)) SubmitPush(*client, 1 + random_.NextBelow(5));
      if (Chance(0.5)) DeliverToServer(*client);
      if (Chance(0.5)) DeliverToClient(*client);
      if (Chance(fault_probability)) Break(*client);
      if (Chance(fault_probability) && !client->up.empty()) client->up.pop_front();
      if (Chance(fault_probability) && !client->down.empty()) client->down.pop_front();
      if (Chance(fault_probability) && !client->up.empty())
        client->up.push_back(client->up.front());
      Do(*client, client->session.Tick({}, now_ms_));
    }
    for (int i = 0; i < kPieces; ++i) {
      if (Chance(0.6)) RunStrand(pieces_[random_.NextBelow(kPieces)]);
    }
  }

  bool Chance(double probability) { return random_.NextUnit() < probability; }

  // As a silent reconnect: what was in flight is gone, and the server sees a new peer.
  void Break(Client& client) {
    client.up.clear();
    client.down.clear();
    client.peer = "peer " + std::to_string(random_.Next());
  }

  void SubmitPush(Client& client, uint64_t change_count) {
    const uint64_t name = ++next_name_;
    std::vector<Change> changes;
    for (uint64_t i = 0; i < change_count; ++i) {
      if (!changes.empty() && Chance(0.3)) {
        client.parts[name].push_back(std::exchange(changes, {}));
        Do(client, client.session.SubmitPart(name, Token(1).parts, now_ms_));
      }
      const Change change{static_cast<int>(random_.NextBelow(kPieces)),
                          static_cast<int>(random_.NextBelow(kElements)),
                          static_cast<int64_t>(1 + random_.NextBelow(1000))};
      changes.push_back(change);
      expected_[change.piece][change.element] += change.amount;
    }
    client.pushes[client.session.submitted_sequence() + 1] = std::move(changes);
    v1::Push push;
    push.set_parts_name(name);
    Do(client, client.session.Submit(push, Token(1).parts, now_ms_));
  }

  void Do(Client& client, const ClientActions& actions) {
    for (const ClientAction& action : actions) {
      switch (action.kind) {
        case ClientAction::Kind::kConnect:
          Break(client);
          break;
        case ClientAction::Kind::kSend: {
          ToServer message{action.header, {}};
          if (action.header.has_push()) {
            message.changes = client.pushes[action.header.push().sequence()];
          }
          if (action.header.has_push_part()) {
            const v1::PushPart& part = action.header.push_part();
            message.changes = client.parts[part.name()][part.number()];
          }
          client.up.push_back(std::move(message));
          break;
        }
        case ClientAction::Kind::kApply:
          for (const NewValue& value : applying_->values) {
            client.replica[value.piece][value.element] = value.value;
          }
          break;
          break;
        case ClientAction::Kind::kFail:
          client.failure = action.status;
          break;
      }
    }
  }

  void DeliverToServer(Client& client) {
    if (client.up.empty()) return;
    ToServer message = std::move(client.up.front());
    client.up.pop_front();
    if (message.header.has_push_part()) return KeepPart(client, message);
    const bool is_hello = message.header.has_hello();
    const ServerSession::Verdict verdict =
        is_hello
            ? client.server.OnHello(client.peer, message.header.hello(), kSimulatedEpoch, version_)
            : Push(client, &message);
    if (verdict.reply) client.begun.clear();
    if (verdict.refusal) {
      ToClient refusal;
      refusal.header.mutable_refusal()->set_reason(*verdict.refusal);
      refusal.header.mutable_refusal()->set_retry(verdict.refusal_retry);
      client.down.push_back(std::move(refusal));
    }
    if (verdict.reply) {
      ToClient reply;
      *reply.header.mutable_hello_reply() = *verdict.reply;
      client.down.push_back(std::move(reply));
    }
    if (verdict.task) Dispatch(*verdict.task, message.changes);
  }

  // As the dispatcher does it (server/begun_pushes.h).
  void KeepPart(Client& client, const ToServer& message) {
    const v1::PushPart& part = message.header.push_part();
    if (!client.server.Serves(client.peer, part.connection())) return;
    std::vector<std::vector<Change>>& parts = client.begun[part.name()];
    if (part.number() == parts.size()) parts.push_back(message.changes);
  }

  ServerSession::Verdict Push(Client& client, ToServer* message) {
    const v1::Push& push = message->header.push();
    const auto begun = client.begun.extract(push.parts_name());
    const size_t came = begun ? begun.mapped().size() : 0;
    if (came != push.part_count()) {
      return {.refusal = "parts were lost", .refusal_retry = true, .reply = {}, .task = {}};
    }
    for (size_t i = 0; i < came; ++i) {
      const std::vector<Change>& part = begun.mapped()[i];
      message->changes.insert(message->changes.end(), part.begin(), part.end());
    }
    return TakePush(&client.server, client.peer, push, version_);
  }

  void Dispatch(const AnswerTask& task, const std::vector<Change>& changes) {
    if (task.apply) ++version_;
    auto reply = std::make_shared<ToClient>();
    v1::Answer& answer = *reply->header.mutable_answer();
    answer.set_connection(task.slot.connection);
    answer.set_index(task.slot.index);
    answer.set_sequence(task.sequence);
    answer.set_durable_sequence(task.sequence);
    answer.set_version(version_);
    if (task.since != kNoVersion) ++sparse_answers_;
    auto left = std::make_shared<int>(kPieces);
    auto shared_changes = std::make_shared<std::vector<Change>>(changes);
    for (Piece& piece : pieces_) {
      piece.queue.push_back({task, version_, shared_changes, reply, left});
    }
  }

  void RunStrand(Piece& piece) {
    if (piece.queue.empty()) return;
    const StrandTask task = std::move(piece.queue.front());
    piece.queue.pop_front();
    const int id = static_cast<int>(&piece - pieces_.data());
    if (task.answer.apply) {
      for (const Change& change : *task.changes) {
        if (change.piece != id) continue;
        piece.values[change.element] += change.amount;
        piece.versions[change.element] = task.version;
      }
    }
    for (int e = 0; e < kElements; ++e) {
      if (task.answer.since == kNoVersion || piece.versions[e] > task.answer.since) {
        task.reply->values.push_back({id, e, piece.values[e]});
      }
    }
    if (--*task.left == 0) SendAnswer(task);
  }

  void SendAnswer(const StrandTask& task) {
    Client& client = *clients_[task.answer.slot.trainer];
    const uint64_t number = next_token_++;
    replies_[number] = task.reply;
    for (const auto& message : client.server.OnAnswerBuilt(task.answer.slot, Token(number))) {
      client.down.push_back(*replies_[TokenOf(message)]);
    }
  }

  void DeliverToClient(Client& client) {
    if (client.down.empty()) return;
    const ToClient message = std::move(client.down.front());
    client.down.pop_front();
    applying_ = &message;
    const v1::Header& header = message.header;
    if (header.has_hello_reply()) {
      Do(client, client.session.OnHelloReply(header.hello_reply(), now_ms_));
    } else if (header.has_answer()) {
      Do(client, client.session.OnAnswer(header.answer(), now_ms_));
    } else {
      Do(client, client.session.OnRefusal(header.refusal(), now_ms_));
    }
    applying_ = nullptr;
  }

  RandomStream random_;
  int64_t now_ms_ = 0;
  std::vector<Piece> pieces_ = std::vector<Piece>(kPieces);
  std::vector<std::vector<int64_t>> expected_ =
      std::vector<std::vector<int64_t>>(kPieces, std::vector<int64_t>(kElements));
  std::vector<std::unique_ptr<Client>> clients_;
  uint64_t version_ = 0;
  uint64_t next_token_ = 0;
  uint64_t next_name_ = 0;
  uint64_t sparse_answers_ = 0;
  std::map<uint64_t, std::shared_ptr<ToClient>> replies_;
  const ToClient* applying_ = nullptr;
};

TEST(SessionSimulation, ReplicasEqualTheServerWithoutFaults) {
  Simulation simulation(1, 3);
  simulation.Run(2000, 0);
  simulation.Settle();
  simulation.ExpectQuietAndEqual();
  EXPECT_EQ(simulation.replayed(), 0u);
}

class FaultySessions : public testing::TestWithParam<uint64_t> {};

TEST_P(FaultySessions, ApplyEachPushOnceAndConverge) {
  Simulation simulation(GetParam(), 3);
  for (int round = 0; round < 4; ++round) {
    simulation.Run(1500, 0.02);
    simulation.Settle();
    simulation.ExpectQuietAndEqual();
  }
  EXPECT_GT(simulation.replayed(), 0u) << "the faults must have cost something";
  EXPECT_GT(simulation.sparse_answers(), 100u);
}

INSTANTIATE_TEST_SUITE_P(Seeds, FaultySessions, testing::Range<uint64_t>(1, 41));

}  // namespace
}  // namespace weir::session
