#include "server/replies.h"

#include <span>
#include <utility>
#include <vector>

#include "common/session/body.h"
#include "common/session/header_message.h"
#include "common/wire/row_frame.h"

namespace weir::server {
namespace {

size_t ReplyBytes(const PendingRows& rows, wire::ValueCoding coding) {
  size_t value_bytes = 0;
  for (const PendingRows::Block& block : rows.blocks) {
    value_bytes += wire::ValueBytes(coding, block.values.size());
  }
  return value_bytes + value_bytes / 64 + 64;  // and what frames have before their values
}

}  // namespace

transport::Message AnswerOf(const PendingStep& step, PendingAnswer* pending,
                            uint64_t durable_sequence) {
  const session::AnswerSlot& slot = pending->task.slot;
  v1::Header header;
  v1::Answer& answer = *header.mutable_answer();
  answer.set_connection(slot.connection);
  answer.set_index(slot.index);
  answer.set_sequence(pending->task.sequence);
  answer.set_version(step.version);
  answer.set_durable_sequence(durable_sequence);
  answer.set_staleness(pending->staleness);
  answer.set_is_catch_up(!step.is_step);
  return session::MakeMessage(header, session::ToBody(std::move(pending->values)));
}

transport::Message RowReplyOf(const PendingRows& rows, const ModelLayout& layout,
                              wire::ValueCoding coding) {
  const auto dimension = static_cast<size_t>(layout.embedding_dimension());
  if (rows.read_only) coding = wire::ValueCoding::kF32;
  session::BodyWriter writer(ReplyBytes(rows, coding));
  for (const PendingRows::Block& block : rows.blocks) {
    std::span<const float> values(block.values);
    for (const PendingRows::Frame& frame : block.frames) {
      const size_t count = frame.row_count * dimension;
      wire::AppendRowValues(writer.Next(), frame.table, static_cast<uint32_t>(dimension),
                            values.first(count), coding);
      values = values.subspan(count);
    }
  }
  v1::Header header;
  header.mutable_row_reply()->set_request_id(rows.request_id);
  session::Body body;
  writer.MoveTo(&body);
  return session::MakeMessage(header, body);
}

transport::Message SectionReplyOf(v1::ModelReply reply, Bytes frames) {
  v1::Header header;
  *header.mutable_model_reply() = std::move(reply);
  std::vector<Bytes> parts;
  parts.push_back(std::move(frames));
  return session::MakeMessage(header, session::ToBody(std::move(parts)));
}

}  // namespace weir::server
