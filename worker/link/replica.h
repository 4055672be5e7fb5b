// A worker's copy of the dense parameters, and how answers change it.
//
// Place in the life of a batch: answer -> **replica** -> forward, backward of later steps.
// Thread rule: Apply on the I/O thread only; values() are read meanwhile by any thread
// (common/base/hogwild.h). Borrows the layout.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "common/base/status.h"
#include "common/layout/model_layout.h"
#include "common/tensor/aligned_buffer.h"
#include "common/transport/message.h"
#include "common/wire/frame.h"
#include "common/wire/piece_frame.h"

namespace weir::worker {

class Replica {
 public:
  explicit Replica(const ModelLayout& layout);

  // [layout.flat_element_count()]
  const float* values() const { return values_.data(); }

  // Writes the VALUES frames of an answer. Fails on bytes that this server should not have sent;
  // frames before the damaged one are applied.
  Status Apply(size_t server, const transport::Message& answer);

 private:
  Status ApplyFrame(size_t server, const wire::FrameView& frame);

  const ModelLayout& layout_;
  std::map<std::pair<uint32_t, uint32_t>, const PieceSpec*> pieces_;  // (tensor, begin)
  tensor::AlignedBuffer values_;
  wire::PieceFrameReader reader_;
};

}  // namespace weir::worker
