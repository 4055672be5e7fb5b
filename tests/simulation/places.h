// Where simulated workers put what they push, so that it can be found again.
//
// Thread rule: any thread.
#pragma once

#include <cstdint>

#include "common/layout/model_layout.h"

namespace weir::simulation {

// The piece of that part of the model in which each of its pushes has an element.
const PieceSpec& PieceOf(const ModelLayout& layout, const StageSpec& part, uint32_t server);
// A row of table 0 that this server has for the trainer alone.
uint64_t RowOf(uint32_t trainer, uint32_t server, uint32_t server_count);

}  // namespace weir::simulation
