// A worker's copy of the dense parameters, and how answers change it.
//
// Where the device's memory is not the host's, what an answer holds is gathered in pinned memory
// and written on the device, some ten thousand numbers at a time; Apply waits for that, so what a
// step finds in the replica is what its mark says.
//
// Place in the life of a batch: answer -> **replica** -> forward, backward of later steps.
// Thread rule: Apply on the I/O thread only; values() are read meanwhile by any thread
// (common/base/hogwild.h). Borrows the layout and the device.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <utility>

#include "common/base/status.h"
#include "common/device/buffers.h"
#include "common/kernels/compute.h"
#include "common/layout/model_layout.h"
#include "common/transport/message.h"
#include "common/wire/agreed_frame.h"
#include "common/wire/frame.h"
#include "common/wire/piece_frame.h"
#include "worker/link/agreed_pieces.h"

namespace weir::worker {

// On a device with memory of its own elements have numbers of 32 bits, here and where policies
// select (common/compress/device_selector.h): InvalidConfig where there are more.
Status CheckReplica(const ModelLayout& layout, const kernels::Compute& compute);

class Replica {
 public:
  Replica(const ModelLayout& layout, const kernels::Compute& compute);

  // [layout.flat_element_count()], on the device.
  device::Pointer<const float> values() const { return values_.data(); }

  // What the next answers' frames of agreed values are of; null: there are none.
  void SetAgreed(std::shared_ptr<const AgreedPieces> agreed) { agreed_ = std::move(agreed); }

  // Writes the frames of values of an answer. InvalidData on bytes that this server should not have
  // sent; frames before the damaged one are applied. Other failures are the device's.
  Status Apply(size_t server, const transport::Message& answer);

 private:
  Status ApplyFrame(size_t server, const wire::FrameView& frame);
  void WriteOnHost(const wire::StripeUpdate& update, int64_t begin);
  // Gathers the update, and writes what was gathered whenever that is as much as there is room for.
  Status Gather(const wire::StripeUpdate& update, int64_t begin);
  Status WriteGathered();

  const ModelLayout& layout_;
  const kernels::Compute compute_;
  std::map<std::pair<uint32_t, uint32_t>, const PieceSpec*> pieces_;  // (tensor, begin)
  device::Buffer<float> values_;
  // Of the frame, by stripes. Borrowed until the next call.
  Result<std::span<const wire::StripeUpdate>> Read(const PieceSpec& piece,
                                                   const wire::FrameView& frame);

  std::shared_ptr<const AgreedPieces> agreed_;
  wire::PieceFrameReader reader_;
  wire::AgreedFrameReader agreed_reader_;

  // Of a device with memory of its own.
  std::unique_ptr<device::Stream> stream_;  // the I/O thread's
  device::Mirror<uint32_t> gathered_indexes_;
  device::Mirror<float> gathered_values_;
  size_t gathered_count_ = 0;
};

}  // namespace weir::worker
