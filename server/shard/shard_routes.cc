// Which strand a frame is for: of a push, a proposal or a row pull.

#include <algorithm>
#include <utility>

#include "common/base/strings.h"
#include "common/session/body.h"
#include "common/wire/element_ids.h"
#include "common/wire/row_frame.h"
#include "server/shard/shard.h"

namespace weir::server {
namespace {

// For so many rows of a partition a push or a pull makes room at once: one of 128 samples has about
// as many at one of several servers.
constexpr size_t kRowsAtFirst = 64;

// A block of a pull has so many values, and those of its last frame.
constexpr size_t kBlockValues = session::kPartBytes / sizeof(float);

// What frames of rows are decoded into before they are sorted; keeps its memory for the next.
struct DecodedRows {
  std::vector<uint64_t> ids;
  std::vector<float> values;
};

DecodedRows& RowScratch() {
  thread_local DecodedRows scratch;
  return scratch;
}

// What the push carries, frame after frame. most_frames: beside those that are full.
Status FindFrames(size_t most_frames, Contribution* contribution) {
  for (const transport::Message& message : contribution->messages) {
    most_frames += transport::WireBytes(message) / wire::kRowFrameValues;
  }
  for (const transport::Message& message : contribution->messages) {
    session::BodyReader reader(message);
    while (!reader.done()) {
      WEIR_ASSIGN_OR_RETURN(const wire::FrameView frame, reader.Next());
      if (contribution->frames.size() == most_frames) {
        return InvalidData("a push carries more frames than this server has pieces and tables");
      }
      contribution->frames.push_back(frame);
    }
  }
  return OkStatus();
}

Status CheckTable(const ModelLayout& layout, uint32_t table) {
  if (table < layout.tables().size()) return OkStatus();
  return InvalidData(StrCat("there is no table ", table));
}

Status CheckServes(const ModelLayout& layout, uint32_t server, uint32_t table,
                   std::span<const uint64_t> ids) {
  const uint32_t server_count = layout.server_count();
  if (server_count == 1) return OkStatus();
  const auto foreign = std::ranges::find_if(
      ids, [&](uint64_t id) { return RowServer(table, id, server_count) != server; });
  if (foreign == ids.end()) return OkStatus();
  return InvalidData(
      StrCat("server ", server, " does not serve row ", *foreign, " of table ", table));
}

// Each row of a push once: what one may do to it is bounded (norm_bound.h).
Status CheckOrder(uint32_t table, std::span<const uint64_t> ids, uint64_t* next_row) {
  if (ids.empty() || ids.front() >= std::exchange(*next_row, ids.back() + 1)) return OkStatus();
  return InvalidData(StrCat("frames of a push have rows of table ", table, " out of order"));
}

// Where rows of a request's next frame go.
PendingRows::Block& BlockOf(size_t dimension, size_t partition_count, PendingRows* pending) {
  if (pending->blocks.empty() || pending->blocks.back().row_count * dimension >= kBlockValues) {
    pending->blocks.emplace_back().rows.resize(partition_count);
  }
  return pending->blocks.back();
}

}  // namespace

Result<Contribution> Shard::Route(StageId stage, std::vector<transport::Message> push) const {
  Contribution contribution;
  contribution.messages = std::move(push);
  contribution.dense_frames.assign(dense_.size(), nullptr);
  contribution.row_gradients.resize(rows_.size());
  // Of each piece one frame, and of each table.
  WEIR_RETURN_IF_ERROR(FindFrames(dense_.size() + layout_.tables().size(), &contribution));
  std::vector<uint64_t> next_rows(layout_.tables().size());
  for (const wire::FrameView& frame : contribution.frames) {
    if (frame.header.kind == wire::FrameKind::kGradient ||
        frame.header.kind == wire::FrameKind::kAgreedGradients) {
      WEIR_RETURN_IF_ERROR(RouteDense(stage, frame, &contribution));
    } else if (frame.header.kind == wire::FrameKind::kRowGradients) {
      WEIR_RETURN_IF_ERROR(RouteRows(stage, frame, &next_rows, &contribution));
    } else {
      return InvalidData(StrCat("a push carries a ", wire::DescribeFrame(frame.header)));
    }
  }
  return contribution;
}

Status Shard::RouteDense(StageId stage, const wire::FrameView& frame,
                         Contribution* contribution) const {
  WEIR_ASSIGN_OR_RETURN(const size_t strand, SlotOf(frame.header));
  if (!Has(stage, dense_stages_[strand])) {
    return InvalidData(StrCat("stage ", *stage, " pushes a gradient of tensor ",
                              frame.header.tensor, ", which is not its own"));
  }
  const wire::FrameView*& slot = contribution->dense_frames[strand];
  if (slot != nullptr) return InvalidData("a push carries two gradients for one piece");
  slot = &frame;
  return OkStatus();
}

Status Shard::RouteRows(StageId stage, const wire::FrameView& frame,
                        std::vector<uint64_t>* next_rows, Contribution* contribution) const {
  if (!Has(stage, layout_.row_stage())) {
    return InvalidData(
        StrCat("stage ", *stage, " pushes rows; stage ", layout_.row_stage(), " has them"));
  }
  const uint32_t table = frame.header.tensor;
  WEIR_RETURN_IF_ERROR(CheckTable(layout_, table));
  const auto dimension = static_cast<uint32_t>(layout_.embedding_dimension());
  auto& [ids, values] = RowScratch();
  WEIR_RETURN_IF_ERROR(wire::DecodeRowGradients(
      frame, dimension, static_cast<uint64_t>(layout_.tables()[table].row_count), &ids, &values));
  WEIR_RETURN_IF_ERROR(CheckServes(layout_, shard_index_, table, ids));
  WEIR_RETURN_IF_ERROR(CheckOrder(table, ids, &(*next_rows)[table]));
  for (size_t i = 0; i < ids.size(); ++i) {
    RowGradients& part = contribution->row_gradients[RowPartition(table, ids[i], partition_count_)];
    if (part.rows.empty()) part.Reserve(kRowsAtFirst, dimension);
    part.rows.push_back({table, static_cast<uint32_t>(part.rows.size()), ids[i]});
    const auto first = values.begin() + static_cast<std::ptrdiff_t>(i * dimension);
    part.values.insert(part.values.end(), first, first + dimension);
  }
  return OkStatus();
}

Result<AgreedElements> Shard::RouteProposal(const transport::Message& proposal) const {
  AgreedElements elements;
  elements.of_strand.resize(dense_.size());
  std::vector<bool> is_seen(dense_.size());
  session::BodyReader reader(proposal);
  while (!reader.done()) {
    WEIR_ASSIGN_OR_RETURN(const wire::FrameView frame, reader.Next());
    WEIR_ASSIGN_OR_RETURN(const size_t slot, SlotOf(frame.header));
    if (is_seen[slot]) return InvalidData("a proposal names a piece twice");
    is_seen[slot] = true;
    const auto element_count = static_cast<uint32_t>(dense_[slot]->piece().spec().element_count);
    WEIR_RETURN_IF_ERROR(wire::DecodeElementIds(frame, element_count, &elements.of_strand[slot]));
  }
  return elements;
}

Result<size_t> Shard::SlotOf(const wire::FrameHeader& header) const {
  const auto found = dense_slots_.find({header.tensor, header.begin});
  if (found != dense_slots_.end()) return found->second;
  return InvalidData(StrCat("server ", shard_index_, " does not serve the piece of tensor ",
                            header.tensor, " at ", header.begin));
}

Status Shard::RouteRowIds(const wire::FrameView& frame, size_t row_count, size_t frame_count,
                          PendingRows* pending) const {
  const uint32_t table = frame.header.tensor;
  if (frame.header.kind != wire::FrameKind::kRowIds) {
    return InvalidData(StrCat("a row pull carries a ", wire::DescribeFrame(frame.header)));
  }
  WEIR_RETURN_IF_ERROR(CheckTable(layout_, table));
  const auto dimension = static_cast<uint32_t>(layout_.embedding_dimension());
  // Of each table one, and those that are full.
  if (frame_count >= layout_.tables().size() + row_count / wire::RowsPerFrame(dimension)) {
    return InvalidData("a row pull carries more frames than there are tables");
  }
  // An id may cost a bit and its row hundreds of bytes, so the reply is bounded, not the request.
  const uint64_t rows = uint64_t{row_count} + frame.header.count;
  const uint64_t most_bytes =
      std::min<uint64_t>(static_cast<uint64_t>(max_message_bytes_), UINT32_MAX);
  if (rows > most_bytes / (dimension * sizeof(float))) {
    return InvalidData(
        StrCat("a row pull asks for ", rows, " rows of ", dimension,
               " floats, more than a message may hold (cluster.max_message_bytes) or a frame"));
  }
  std::vector<uint64_t>& ids = RowScratch().ids;
  WEIR_RETURN_IF_ERROR(wire::DecodeRowIds(
      frame, dimension, static_cast<uint64_t>(layout_.tables()[table].row_count), &ids));
  WEIR_RETURN_IF_ERROR(CheckServes(layout_, shard_index_, table, ids));
  PendingRows::Block& block = BlockOf(dimension, rows_.size(), pending);
  block.frames.push_back({table, ids.size()});
  for (const uint64_t id : ids) {
    std::vector<store::BatchRow>& part = block.rows[RowPartition(table, id, partition_count_)];
    if (part.empty()) part.reserve(kRowsAtFirst);
    part.push_back({table, static_cast<uint32_t>(block.row_count), id});
    ++block.row_count;
  }
  return OkStatus();
}

}  // namespace weir::server
