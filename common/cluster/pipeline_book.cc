#include "common/cluster/pipeline_book.h"

#include <algorithm>

#include "common/base/strings.h"

namespace weir::cluster {

const PipelineBook::Place* PipelineBook::Find(Seat seat) const {
  const auto found = pipelines_.find(seat.trainer);
  if (found == pipelines_.end() || seat.stage >= found->second.places.size()) return nullptr;
  return &found->second.places[seat.stage];
}

const PipelineBook::Pipeline* PipelineBook::FindPipeline(uint32_t trainer) const {
  const auto found = pipelines_.find(trainer);
  return found == pipelines_.end() ? nullptr : &found->second;
}

void PipelineBook::Changed(Pipeline* pipeline, int64_t now_ms) {
  ++pipeline->generation;
  const bool is_complete = std::ranges::all_of(
      pipeline->places, [](const Place& place) { return place.incarnation != 0; });
  if (is_complete) {
    pipeline->incomplete_since_ms.reset();
  } else if (!pipeline->incomplete_since_ms) {
    pipeline->incomplete_since_ms = now_ms;
  }
  const bool is_any_complete = std::ranges::any_of(
      pipelines_, [](const auto& entry) { return !entry.second.incomplete_since_ms; });
  if (is_any_complete) {
    none_complete_since_ms_.reset();
  } else if (!none_complete_since_ms_) {
    none_complete_since_ms_ = now_ms;
  }
}

void PipelineBook::Join(Seat seat, uint32_t stage_count, uint64_t incarnation,
                        const std::string& address, int64_t now_ms) {
  const bool is_new = !pipelines_.contains(seat.trainer);
  Pipeline& pipeline = pipelines_.Change(seat.trainer);
  if (is_new) pipeline.generation = first_generation_;
  pipeline.places.resize(std::max<size_t>(pipeline.places.size(), stage_count));
  Place& place = pipeline.places[seat.stage];
  if (place.incarnation == incarnation) return;  // it asked twice
  place = {.incarnation = incarnation, .address = address};
  Changed(&pipeline, now_ms);
}

void PipelineBook::Leave(Seat seat, int64_t now_ms) {
  const Place* const place = Find(seat);
  if (place == nullptr || place->incarnation == 0) return;
  Pipeline& pipeline = pipelines_.Change(seat.trainer);
  pipeline.places[seat.stage] = {};
  Changed(&pipeline, now_ms);
}

void PipelineBook::Adopt(Seat seat, uint64_t generation, bool awaited_next) {
  const Place* const known = Find(seat);
  if (known == nullptr || generation <= known->adopted) return;
  Place& place = pipelines_.Change(seat.trainer).places[seat.stage];
  place.adopted = generation;
  place.awaited_next = awaited_next;
}

void PipelineBook::Renew(Seat seat, uint64_t generation) {
  if (Find(seat) == nullptr || generation != Generation(seat.trainer)) return;
  ++pipelines_.Change(seat.trainer).generation;
}

void PipelineBook::Revoke(uint32_t trainer) {
  if (!pipelines_.contains(trainer)) return;
  Pipeline& pipeline = pipelines_.Change(trainer);
  pipeline.leases_since = ++pipeline.generation;
}

bool PipelineBook::IsReady(uint32_t trainer) const {
  const Pipeline* const pipeline = FindPipeline(trainer);
  return pipeline != nullptr && std::ranges::all_of(pipeline->places, [&](const Place& place) {
           return place.incarnation != 0 && place.adopted >= pipeline->generation;
         });
}

bool PipelineBook::IsAnyReady() const {
  return std::ranges::any_of(pipelines_,
                             [this](const auto& entry) { return IsReady(entry.first); });
}

std::optional<int64_t> PipelineBook::IncompleteSince(uint32_t trainer) const {
  const Pipeline* const pipeline = FindPipeline(trainer);
  return pipeline == nullptr ? std::nullopt : pipeline->incomplete_since_ms;
}

std::string PipelineBook::DescribeMissing() const {
  std::vector<std::string> trainers;
  for (const auto& [trainer, pipeline] : pipelines_) {
    std::vector<std::string> stages;
    for (size_t i = 0; i < pipeline.places.size(); ++i) {
      if (pipeline.places[i].incarnation == 0) stages.push_back(StrCat(i));
    }
    if (stages.empty()) continue;
    trainers.push_back(StrCat("trainer ", trainer, " lacks stage", stages.size() > 1 ? "s " : " ",
                              StrJoin(stages, " and ")));
  }
  return StrJoin(trainers, "; ");
}

uint64_t PipelineBook::Generation(uint32_t trainer) const {
  const Pipeline* const pipeline = FindPipeline(trainer);
  return pipeline == nullptr ? 0 : pipeline->generation;
}

void PipelineBook::FillView(uint32_t trainer, v1::PipelineView* view) const {
  const Pipeline* const pipeline = FindPipeline(trainer);
  if (pipeline == nullptr) return;
  view->set_generation(pipeline->generation);
  view->set_leases_since(pipeline->leases_since);
  view->set_ready(IsReady(trainer));
  for (const Place& place : pipeline->places) {
    v1::StagePlace& stage = *view->add_stages();
    stage.set_incarnation(place.incarnation);
    stage.set_link_address(place.address);
    stage.set_awaited_next(place.awaited_next);
  }
}

void PipelineBook::SaveChanges(SavedParts* parts) {
  saved_since_.SaveChanges(none_complete_since_ms_, parts);
  pipelines_.SaveChanges(parts);
}

Status PipelineBook::Load(PartSource* source) {
  WEIR_RETURN_IF_ERROR(saved_since_.Load(source, &none_complete_since_ms_));
  return pipelines_.Load(source);
}

}  // namespace weir::cluster
