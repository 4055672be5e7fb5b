// A step's gradients on their way to the servers.

#include <algorithm>
#include <utility>

#include "common/base/clock.h"
#include "common/base/timed.h"
#include "common/device/cpu_device.h"
#include "worker/client/agreed_reply.h"
#include "worker/client/push_in_parts.h"
#include "worker/client/server_client.h"
#include "worker/push/host_gradients.h"

namespace weir::worker {
namespace {

// MonotonicSeconds of the last step, and of the last push, and how that left; null if it was not
// begun.
struct LastEnds {
  double step = MonotonicSeconds();
  double push = MonotonicSeconds();
  const PartPlan* plan = nullptr;
};

struct ServerPushScratch final : PushScratch {
  StepEncoder::Scratch encoder;
  HostGradients on_host;
  LastEnds last;
};

ServerPushScratch& ScratchOf(const StepGradients& step) {
  CHECK(step.scratch != nullptr) << "a step without its thread's scratch";
  return static_cast<ServerPushScratch&>(*step.scratch);
}

}  // namespace

std::unique_ptr<PushScratch> ServerClient::NewPushScratch() const {
  return std::make_unique<ServerPushScratch>();
}

// Without credit nothing leaves, and it may be that nothing shall: then Push decides.
std::unique_ptr<BegunPush> ServerClient::BeginPush(const StepGradients& step) {
  const std::shared_ptr<const PartPlan> plan = schedule_.Begin();
  if (plan == nullptr || !link_.TryAcquireCredit()) return nullptr;
  const std::span<const float> gradients(device::OnHost(step.dense.data), step.dense.size);
  return std::make_unique<PushInParts>(
      plan, StepEncoder::Dense{.on_host = gradients, .on_device = {}, .stream = step.stream},
      &encoder_, &link_, &ScratchOf(step).encoder);
}

Result<uint64_t> ServerClient::Push(const StepGradients& step) {
  PushSeconds times;
  const auto sequence = Push(step, &times);
  times.Add(ScratchOf(step).encoder.layer.times.Take());
  if (step.times != nullptr) step.times->Add(times);
  return sequence;
}

Result<uint64_t> ServerClient::Push(const StepGradients& step, PushSeconds* times) {
  WEIR_ASSIGN_OR_RETURN(StepEncoder::Dense dense, DenseOf(step));
  CountDense(*step.batch, true);
  auto* const begun = static_cast<PushInParts*>(step.begun);
  if (begun != nullptr) {
    WEIR_RETURN_IF_ERROR(begun->status());
    dense.first_gone = begun->first_gone();
  } else if (!link_.TryAcquireCredit()) {
    // Credit first, then select: what is selected leaves at once and is never selected twice.
    if (encoder_.MayWait(*step.batch)) return Keep(step, dense, times);
    const Timed timed(&times->waiting);
    WEIR_RETURN_IF_ERROR(link_.AcquireCredit());
  }
  WEIR_ASSIGN_OR_RETURN(Encoded encoded, Encode(step, dense, times));
  const uint64_t sequence = Send(step, std::move(encoded));
  if (schedule_.measures()) WEIR_RETURN_IF_ERROR(Measure(step));
  return sequence;
}

// A push that was not begun with the step had no credit then: it only ends an interval.
Status ServerClient::Measure(const StepGradients& step) {
  auto* const begun = static_cast<PushInParts*>(step.begun);
  ServerPushScratch& of_thread = ScratchOf(step);
  LastEnds& last = of_thread.last;
  const double now = MonotonicSeconds();
  std::optional<MeasuredPush> push;
  if (begun != nullptr) {
    const StepEncoder::Scratch& scratch = of_thread.encoder;
    push = {.step = begun->TakeTimes(),
            .follows_its_kind = last.plan == &begun->plan(),
            .seconds_since_push = now - last.push,
            .layer_bytes = scratch.dense_sizes.last(),
            .row_bytes = scratch.row_sizes.last(),
            .agreed_bytes = scratch.agreed_bytes};
    push->step.seconds = now - last.step;
  }
  WEIR_RETURN_IF_ERROR(schedule_.End(std::move(push), &link_));
  last = {.plan = begun == nullptr ? nullptr : &begun->plan()};
  return OkStatus();
}

Result<uint64_t> ServerClient::Keep(const StepGradients& step, const StepEncoder::Dense& dense,
                                    PushSeconds* times) {
  {
    const Timed timed(&times->select);
    const BatchRows rows{step.rows, step.row_squares};
    WEIR_RETURN_IF_ERROR(encoder_.Accumulate(dense, *step.batch, rows));
  }
  if (step.next != nullptr) step.next->pull = PullRows(step.next->batch, false);
  ScratchOf(step).last.step = MonotonicSeconds();
  return uint64_t{0};
}

Result<ServerClient::Encoded> ServerClient::Encode(const StepGradients& step,
                                                   const StepEncoder::Dense& dense,
                                                   PushSeconds* times) {
  if (encoder_.agrees() && step.round.number > 0) return EncodeAgreed(step, dense, times);
  const BatchRows rows{step.rows, step.row_squares};
  Encoded encoded;
  WEIR_ASSIGN_OR_RETURN(encoded.bodies,
                        encoder_.Encode(dense, *step.batch, rows, &ScratchOf(step).encoder));
  return encoded;
}

Result<ServerClient::Encoded> ServerClient::EncodeAgreed(const StepGradients& step,
                                                         const StepEncoder::Dense& dense,
                                                         PushSeconds* times) {
  const std::span<const uint32_t> members = step.round.members;
  const auto rank = std::ranges::lower_bound(members, trainer()) - members.begin();
  const compress::Turn turn{.step = step.round.number,
                            .rank = static_cast<uint32_t>(rank),
                            .world = static_cast<uint32_t>(members.size())};
  v1::Proposal proposal;
  proposal.set_round(step.round.number);
  proposal.mutable_members()->Add(members.begin(), members.end());
  WEIR_ASSIGN_OR_RETURN(std::vector<Body> proposed, Propose(dense, turn, &proposal, times));
  WEIR_ASSIGN_OR_RETURN(const ServerLink::Agreed reply,
                        Agree(std::move(proposal), std::move(proposed), times));
  WEIR_ASSIGN_OR_RETURN(
      AgreedPieces agreed,
      ReadAgreed(layout_, reply.replies, [this](size_t server) { return link_.PeerName(server); }));
  const BatchRows rows{step.rows, step.row_squares};
  Encoded encoded;
  WEIR_ASSIGN_OR_RETURN(encoded.bodies,
                        encoder_.EncodeAgreed(dense, *step.batch, rows, agreed, reply.words,
                                              &ScratchOf(step).encoder));
  encoded.agreed = std::make_shared<const AgreedPieces>(std::move(agreed));
  return encoded;
}

Result<std::vector<Body>> ServerClient::Propose(const StepEncoder::Dense& dense,
                                                const compress::Turn& turn, v1::Proposal* header,
                                                PushSeconds* times) {
  const Timed timed(&times->select);
  return encoder_.Propose(dense, turn, header);
}

Result<ServerLink::Agreed> ServerClient::Agree(v1::Proposal proposal, std::vector<Body> proposed,
                                               PushSeconds* times) {
  const Timed timed(&times->waiting);
  return link_.Propose(std::move(proposal), std::move(proposed));
}

Result<StepEncoder::Dense> ServerClient::DenseOf(const StepGradients& step) const {
  StepEncoder::Dense dense{.on_host = {}, .on_device = step.dense.data, .stream = step.stream};
  if (!device_.is_host()) dense.once_taken = &step.once_taken;
  if (encoder_.on_host().empty()) return dense;
  WEIR_ASSIGN_OR_RETURN(dense.on_host, ScratchOf(step).on_host.Fetch(
                                           device_, step.stream, step.dense, encoder_.on_host()));
  return dense;
}

uint64_t ServerClient::Send(const StepGradients& step, Encoded encoded) {
  v1::Push push;
  push.set_lease(step.lease);
  push.set_offset(step.offset);
  push.set_round(step.round.number);
  if (step.begun != nullptr) {
    push.set_parts_name(static_cast<const PushInParts&>(*step.begun).name());
  }
  push.mutable_members()->Add(step.round.members.begin(), step.round.members.end());
  std::unique_ptr<ServerPull> pull;
  if (step.next != nullptr) pull = MakePull(step.next->batch, false);
  const uint64_t sequence =
      link_.SubmitPush(std::move(push), std::move(encoded.bodies), step.mark,
                       pull ? &pull->request : nullptr, std::move(encoded.agreed));
  if (pull) step.next->pull = std::move(pull);
  return sequence;
}

}  // namespace weir::worker
