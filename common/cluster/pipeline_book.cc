#include "common/cluster/pipeline_book.h"

#include <algorithm>

namespace weir::cluster {

PipelineBook::Place* PipelineBook::Find(Seat seat) {
  const auto found = pipelines_.find(seat.trainer);
  if (found == pipelines_.end() || seat.stage >= found->second.places.size()) return nullptr;
  return &found->second.places[seat.stage];
}

void PipelineBook::Join(Seat seat, uint32_t stage_count, uint64_t incarnation,
                        const std::string& address) {
  Pipeline& pipeline = pipelines_[seat.trainer];
  pipeline.places.resize(std::max<size_t>(pipeline.places.size(), stage_count));
  Place& place = pipeline.places[seat.stage];
  if (place.incarnation == incarnation) return;  // it asked twice
  place = {incarnation, address, 0};
  ++pipeline.generation;
}

void PipelineBook::Leave(Seat seat) {
  Place* const place = Find(seat);
  if (place == nullptr || place->incarnation == 0) return;
  *place = {};
  ++pipelines_[seat.trainer].generation;
}

void PipelineBook::Adopt(Seat seat, uint64_t generation) {
  if (Place* const place = Find(seat)) place->adopted = std::max(place->adopted, generation);
}

void PipelineBook::Renew(Seat seat, uint64_t generation) {
  if (Find(seat) == nullptr) return;
  Pipeline& pipeline = pipelines_[seat.trainer];
  if (generation == pipeline.generation) ++pipeline.generation;
}

void PipelineBook::FillView(uint32_t trainer, v1::PipelineView* view) const {
  const auto found = pipelines_.find(trainer);
  if (found == pipelines_.end()) return;
  const Pipeline& pipeline = found->second;
  view->set_generation(pipeline.generation);
  view->set_ready(std::ranges::all_of(pipeline.places, [&](const Place& place) {
    return place.incarnation != 0 && place.adopted >= pipeline.generation;
  }));
  for (const Place& place : pipeline.places) {
    v1::StagePlace& stage = *view->add_stages();
    stage.set_incarnation(place.incarnation);
    stage.set_link_address(place.address);
  }
}

}  // namespace weir::cluster
