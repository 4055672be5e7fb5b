#include "worker/link/replica.h"

#include <limits>

#include "common/base/hogwild.h"
#include "common/base/strings.h"
#include "common/device/cpu_device.h"
#include "common/session/body.h"

namespace weir::worker {
namespace {

// Many stripes, so that launches cost little, and few enough for pinned memory.
constexpr size_t kGatheredElements = 32 * kStripeElements;

}  // namespace

Status CheckReplica(const ModelLayout& layout, const kernels::Compute& compute) {
  constexpr int64_t kMost = std::numeric_limits<uint32_t>::max();
  const int64_t count = layout.flat_element_count();
  if (compute.device->is_host() || count <= kMost) return OkStatus();
  return InvalidConfig(StrCat("the MLPs have ", count, " elements, and with servers a trainer on ",
                              compute.device->name(), " has numbers for ", kMost,
                              " at most; choose smaller widths, or --device=cpu"));
}

Replica::Replica(const ModelLayout& layout, const kernels::Compute& compute)
    : layout_(layout),
      compute_(compute),
      values_(*compute.device, static_cast<size_t>(layout.flat_element_count()), "the replica") {
  for (const PieceSpec& piece : layout.pieces()) {
    pieces_[{piece.tensor, static_cast<uint32_t>(piece.begin)}] = &piece;
  }
  if (compute.device->is_host()) return;
  gathered_indexes_ = {*compute.device, kGatheredElements, "answers"};
  gathered_values_ = {*compute.device, kGatheredElements, "answers"};
}

Status Replica::Apply(size_t server, const transport::Message& answer) {
  session::BodyReader reader(answer);
  Status status;
  while (status.ok() && !reader.done()) {
    auto frame = reader.Next();
    status = frame.ok() ? ApplyFrame(server, *frame) : frame.status();
  }
  const Status written = WriteGathered();
  return status.ok() ? written : status;
}

Status Replica::ApplyFrame(size_t server, const wire::FrameView& frame) {
  const auto found = pieces_.find({frame.header.tensor, frame.header.begin});
  const bool is_its_piece = found != pieces_.end() && found->second->server == server &&
                            (frame.header.kind == wire::FrameKind::kValues ||
                             frame.header.kind == wire::FrameKind::kAgreedValues);
  if (!is_its_piece) return InvalidData("unexpected " + wire::DescribeFrame(frame.header));
  const PieceSpec& piece = *found->second;
  const int64_t first = layout_.tensors()[piece.tensor].offset + piece.begin;
  WEIR_ASSIGN_OR_RETURN(const std::span<const wire::StripeUpdate> updates, Read(piece, frame));
  for (const wire::StripeUpdate& update : updates) {
    const int64_t begin = first + update.stripe * kStripeElements;
    if (compute_.device->is_host()) {
      WriteOnHost(update, begin);
    } else {
      WEIR_RETURN_IF_ERROR(Gather(update, begin));
    }
  }
  return OkStatus();
}

Result<std::span<const wire::StripeUpdate>> Replica::Read(const PieceSpec& piece,
                                                          const wire::FrameView& frame) {
  if (frame.header.kind == wire::FrameKind::kValues) {
    WEIR_RETURN_IF_ERROR(reader_.Read(frame, static_cast<uint32_t>(piece.element_count)));
    return reader_.stripes();
  }
  std::span<const uint32_t> agreed;
  if (agreed_ != nullptr) agreed = agreed_->of_piece[piece.id];
  WEIR_RETURN_IF_ERROR(agreed_reader_.Read(frame, agreed));
  return agreed_reader_.stripes();
}

void Replica::WriteOnHost(const wire::StripeUpdate& update, int64_t begin) {
  float* const stripe = device::OnHost(values_.data()) + begin;
  if (update.dense) {
    hogwild::Copy(update.values.data(), stripe, update.values.size());
  } else {
    hogwild::Scatter(update.values.data(), update.indexes.data(), update.indexes.size(), stripe);
  }
}

Status Replica::Gather(const wire::StripeUpdate& update, int64_t begin) {
  if (gathered_count_ + update.values.size() > kGatheredElements) {
    WEIR_RETURN_IF_ERROR(WriteGathered());
  }
  const auto first = static_cast<uint32_t>(begin);
  for (size_t i = 0; i < update.values.size(); ++i) {
    const uint32_t index = update.dense ? static_cast<uint32_t>(i) : update.indexes[i];
    gathered_indexes_.host()[gathered_count_] = first + index;
    gathered_values_.host()[gathered_count_++] = update.values[i];
  }
  return OkStatus();
}

Status Replica::WriteGathered() {
  const size_t count = std::exchange(gathered_count_, 0);
  if (count == 0) return OkStatus();
  if (stream_ == nullptr) stream_ = compute_.device->MakeStream();
  gathered_indexes_.Upload(*stream_, count);
  gathered_values_.Upload(*stream_, count);
  compute_.kernels->write_values(
      *stream_, {gathered_values_.device().data, static_cast<int64_t>(count)},
      gathered_indexes_.device().data, {values_.data(), layout_.flat_element_count()});
  return stream_->Synchronize();
}

}  // namespace weir::worker
