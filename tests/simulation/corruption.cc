#include "tests/simulation/corruption.h"

#include <utility>

#include "common/session/header_message.h"

namespace weir::simulation {
namespace {

// Of those that a fault may befall, so many are spared before one.
constexpr uint64_t kEvery = 4;

bool Befalls(PlantMemory* memory) { return ++memory->met % kEvery == 0; }

bool KeepIncarnation(uint64_t who, PlantMemory* memory, v1::JoinReply* reply) {
  const uint64_t first = memory->incarnation.try_emplace(who, reply->incarnation()).first->second;
  reply->set_incarnation(first);
  return true;
}

bool LendAgain(PlantMemory* memory, v1::ChunkLease* lease) {
  const auto lent = std::exchange(memory->lent_chunk, lease->chunk());
  if (!lent || !Befalls(memory)) return false;
  lease->set_chunk(*lent);
  return true;
}

bool LeaveOut(PlantMemory* memory, v1::ChunkLease* lease) {
  if (lease->members_size() < 2 || !Befalls(memory)) return false;
  lease->mutable_members()->RemoveLast();
  return true;
}

bool ChangeView(Plant plant, uint64_t who, PlantMemory* memory, v1::PipelineView* view) {
  if (plant == Plant::kReadyTooEarly) view->set_ready(view->stages_size() > 0);
  if (plant != Plant::kGenerationKept) return plant == Plant::kReadyTooEarly;
  const auto known = memory->generation.find(who);
  if (known == memory->generation.end()) {
    if (view->ready()) memory->generation[who] = view->generation();
    return false;
  }
  view->set_generation(known->second);
  view->set_ready(true);
  return true;
}

// What of it is of the pipeline; null where nothing is.
v1::PipelineView* ViewIn(v1::Header* header) {
  if (header->heartbeat_reply().has_pipeline()) {
    return header->mutable_heartbeat_reply()->mutable_pipeline();
  }
  return header->work_reply().has_pipeline() ? header->mutable_work_reply()->mutable_pipeline()
                                             : nullptr;
}

v1::Speaker* SpeakerIn(v1::Header* header) {
  if (header->has_heartbeat()) return header->mutable_heartbeat()->mutable_speaker();
  if (header->has_work_request()) return header->mutable_work_request()->mutable_speaker();
  return nullptr;
}

bool ChangeAnswer(Plant plant, PlantMemory* memory, v1::Answer* answer) {
  if (plant == Plant::kPromisedTooEarly) {
    answer->set_durable_sequence(answer->sequence());
    return true;
  }
  if (plant != Plant::kAnsweredTooEarly || answer->is_catch_up() || !Befalls(memory)) return false;
  answer->set_sequence(answer->sequence() + 1);
  return true;
}

// Whether it says something else now.
bool Change(Plant plant, uint64_t who, PlantMemory* memory, v1::Header* header) {
  if (header->has_answer()) return ChangeAnswer(plant, memory, header->mutable_answer());
  v1::PipelineView* const view = ViewIn(header);
  if (view != nullptr && ChangeView(plant, who, memory, view)) return true;
  if (plant == Plant::kTakenTooHigh && header->has_hello_reply()) {
    v1::HelloReply& reply = *header->mutable_hello_reply();
    if (reply.last_sequence() == 0) return false;
    reply.set_last_sequence(reply.last_sequence() + 1);
    return true;
  }
  if (plant == Plant::kSeatGrantedTwice && header->has_join_reply()) {
    return KeepIncarnation(who, memory, header->mutable_join_reply());
  }
  if (plant == Plant::kLeaseLentTwice && header->work_reply().has_chunk()) {
    return LendAgain(memory, header->mutable_work_reply()->mutable_chunk());
  }
  if (plant == Plant::kMemberLeftOut && header->work_reply().has_chunk()) {
    return LeaveOut(memory, header->mutable_work_reply()->mutable_chunk());
  }
  return false;
}

}  // namespace

void CorruptSent(Plant plant, uint64_t who, PlantMemory* memory, transport::Message* message) {
  const auto last = memory->last_incarnation.find(who);
  if (plant != Plant::kReplacedIsTaken || last == memory->last_incarnation.end()) return;
  auto header = session::ParseHeader(*message);
  if (!header.ok()) return;
  if (header->has_hello()) header->mutable_hello()->set_incarnation(last->second);
  if (v1::Speaker* const speaker = SpeakerIn(&*header)) speaker->set_incarnation(last->second);
  *message = session::MakeMessage(*header, session::BodyOf(*message));
}

void Corrupt(Plant plant, uint64_t who, PlantMemory* memory, transport::Message* message) {
  auto header = session::ParseHeader(*message);
  if (!header.ok()) return;
  const bool loses_values = plant == Plant::kAnswerWithoutValues && header->has_answer() &&
                            message->parts.size() > 1 && Befalls(memory);
  if (loses_values) message->parts.resize(1);
  if (header->has_join_reply()) memory->last_incarnation[who] = header->join_reply().incarnation();
  if (!Change(plant, who, memory, &*header)) return;
  *message = session::MakeMessage(*header, session::BodyOf(*message));
}

}  // namespace weir::simulation
