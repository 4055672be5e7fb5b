#include "server/log/replay.h"

#include <algorithm>
#include <utility>

#include "common/base/strings.h"

namespace weir::server {
namespace {

// Steps that are queued on the strands before what they are made of is waited for.
constexpr int kStepsAtOnce = 64;

// Frames as a message has them, behind its header.
transport::Message FramesAsMessage(ByteSpan frames) {
  transport::Message message;
  message.parts.resize(1);
  if (!frames.empty()) message.parts.emplace_back(Bytes(frames.begin(), frames.end()));
  return message;
}

class Replayer {
 public:
  Replayer(log::LogReader reader, Shard* shard, LoadProgress* progress)
      : reader_(std::move(reader)), shard_(shard), progress_(progress) {}

  Result<Recovered> Run() {
    progress_->Expect(reader_.total_bytes());
    while (true) {
      WEIR_ASSIGN_OR_RETURN(auto record, reader_.Next());
      Tell(record ? 0 : reader_.total_bytes());
      if (!record) break;
      if (progress_->is_cancelled()) return Interrupted("stopped");
      WEIR_RETURN_IF_ERROR(Take(*record));
    }
    shard_->WaitIdle();
    out_.next_number = reader_.next_number();
    out_.torn_bytes = reader_.torn_bytes();
    return std::move(out_);
  }

 private:
  void Tell(uint64_t at_least) {
    const uint64_t done = std::max(reader_.read_bytes(), at_least);
    progress_->Add(done - std::exchange(told_bytes_, done));
  }

  Status Take(const log::Record& record) {
    const Status status = TakeKind(record);
    if (status.ok()) return status;
    return InvalidData(StrCat("record ", record.number, " of the log: ", status.message()));
  }

  Status TakeKind(const log::Record& record) {
    switch (record.header.kind_case()) {
      case v1::LogRecord::kStart:
        if (record.header.start().run() != 0) out_.run = record.header.start().run();
        return OkStatus();
      case v1::LogRecord::kHello:
        return TakeHello(record.header.hello());
      case v1::LogRecord::kStep:
        return TakeStep(record.header.step(), record.body);
      case v1::LogRecord::kAgreement:
        return TakeAgreement(record.header.agreement(), record.body);
      case v1::LogRecord::kFailure:
        return TakeFailure(record.header.failure());
      case v1::LogRecord::kWorker:
        return TakeWorker(record.header.worker());
      case v1::LogRecord::kParts:
        for (const v1::LogPart& part : record.header.parts().parts()) TakePart(part);
        return OkStatus();
      default:
        return InvalidData("it is of a kind that this release does not know");
    }
  }

  Status CheckStage(uint32_t stage) const {
    if (stage < shard_->layout().stages().size()) return OkStatus();
    return InvalidData(StrCat("it is of stage ", stage, ", which the model has not"));
  }

  Status TakeHello(const v1::LogHello& hello) {
    if (hello.run() != 0) {
      out_.run = hello.run();
      return OkStatus();
    }
    WEIR_RETURN_IF_ERROR(CheckStage(hello.stage()));
    out_.in_stages = hello.stage_count() > 1;
    RecoveredWorker worker;
    worker.incarnation = hello.incarnation();
    out_.workers[{hello.trainer(), hello.stage()}] = std::move(worker);
    return OkStatus();
  }

  Status TakeFailure(const v1::LogFailure& failure) {
    WEIR_RETURN_IF_ERROR(CheckStage(failure.stage()));
    out_.workers[{failure.trainer(), failure.stage()}].failure = failure.reason();
    return OkStatus();
  }

  Status TakeWorker(const v1::LogWorker& worker) {
    WEIR_RETURN_IF_ERROR(CheckStage(worker.stage()));
    out_.in_stages = worker.stage_count() > 1;
    out_.workers[{worker.trainer(), worker.stage()}] = {worker.incarnation(), worker.last_push(),
                                                        worker.last_step(), worker.failure()};
    FinishRound(worker.last_push().round());
    return OkStatus();
  }

  void FinishRound(uint64_t round) {
    out_.last_round = std::max(out_.last_round, round);
    out_.agreements.erase(out_.agreements.begin(), out_.agreements.upper_bound(out_.last_round));
  }

  void TakePart(const v1::LogPart& part) {
    if (part.state().empty()) {
      out_.parts.erase(part.name());
    } else {
      const ByteSpan state = AsBytes(part.state());
      out_.parts.insert_or_assign(part.name(), Bytes(state.begin(), state.end()));
    }
  }

  Status TakeAgreement(const v1::LogAgreement& logged, const Bytes& body) {
    RecoveredAgreement& agreement = out_.agreements[logged.round()];
    agreement.members.assign(logged.members().begin(), logged.members().end());
    agreement.agreement = logged.agreement();
    agreement.frames = FramesAsMessage(body);
    WEIR_ASSIGN_OR_RETURN(AgreedElements elements, shard_->RouteProposal(agreement.frames));
    agreement.elements = std::make_shared<AgreedElements>(std::move(elements));
    return OkStatus();
  }

  Status TakeStep(const v1::LogStep& step, ByteSpan body) {
    if (step.pushes().empty()) return InvalidData("a step of no push");
    auto pending = std::make_shared<PendingStep>();
    const v1::LoggedPush& first = step.pushes(0);
    if (out_.in_stages.value_or(false)) pending->stage = first.stage();
    pending->is_step = !first.push().is_refresh();
    for (const v1::LoggedPush& push : step.pushes()) {
      WEIR_RETURN_IF_ERROR(AddPush(push, &body, pending.get()));
    }
    const uint64_t round = first.push().round();
    if (const auto agreed = out_.agreements.find(round); agreed != out_.agreements.end()) {
      pending->agreed = agreed->second.elements;
    }
    FinishRound(round);
    shard_->Post(std::move(pending));
    if (++posted_ % kStepsAtOnce == 0) shard_->WaitIdle();
    return OkStatus();
  }

  Status AddPush(const v1::LoggedPush& push, ByteSpan* body, PendingStep* pending) {
    WEIR_RETURN_IF_ERROR(CheckStage(push.stage()));
    if (push.body_bytes() > body->size()) return InvalidData("a push without all of its frames");
    std::vector<transport::Message> messages;
    messages.push_back(FramesAsMessage(body->first(push.body_bytes())));
    *body = body->subspan(push.body_bytes());
    WEIR_ASSIGN_OR_RETURN(Contribution routed, shard_->Route(pending->stage, std::move(messages)));
    pending->contributions.push_back(std::move(routed));
    RecoveredWorker& worker = out_.workers[{push.trainer(), push.stage()}];
    worker.incarnation = push.incarnation();
    worker.last_push = push.push();
    worker.last_step = shard_->version(pending->stage) + (pending->is_step ? 1 : 0);
    return OkStatus();
  }

  log::LogReader reader_;
  Shard* const shard_;
  LoadProgress* const progress_;
  Recovered out_;
  uint64_t told_bytes_ = 0;
  int posted_ = 0;
};

}  // namespace

Result<Recovered> Replay(log::LogReader reader, Shard* shard, LoadProgress* progress) {
  return Replayer(std::move(reader), shard, progress).Run();
}

}  // namespace weir::server
