// A tiny model and its wire frames, for the tests of server/.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "common/base/check.h"
#include "common/config/defaults.h"
#include "common/config/validate_config.h"
#include "common/layout/initial_values.h"
#include "common/layout/model_layout.h"
#include "common/proto/config.pb.h"
#include "common/proto/protocol.pb.h"
#include "common/session/header_message.h"
#include "common/transport/message.h"
#include "common/wire/piece_frame.h"
#include "common/wire/row_frame.h"
#include "server/grant_list.h"
#include "server/shard/pending.h"

namespace weir::server {

inline constexpr double kDenseRate = 0.5;
inline constexpr double kRowRate = 0.25;
inline constexpr uint32_t kDimension = 4;
inline constexpr uint64_t kTableRows = 50;

// Two tables, rows of 4 floats, SGD. The first tensor has three stripes, the third two pieces.
inline v1::Config TinyConfig() {
  v1::Config config;
  for (const int32_t width : {3300, 40, 4}) config.mutable_model()->add_bottom_widths(width);
  config.mutable_model()->add_top_widths(1);
  config.mutable_model()->set_embedding_dimension(kDimension);
  v1::DataConfig& data = *config.mutable_data();
  data.set_batch_size(10);
  data.set_chunk_batches(1);
  data.mutable_synthetic()->set_rows(20);
  data.mutable_synthetic()->set_test_rows(10);
  data.mutable_synthetic()->set_tables(2);
  data.mutable_synthetic()->set_dense_features(8);
  data.mutable_synthetic()->set_rows_per_table(kTableRows);
  config.mutable_update()->mutable_dense()->mutable_sgd()->set_learning_rate(kDenseRate);
  config.mutable_update()->mutable_rows()->mutable_sgd()->set_learning_rate(kRowRate);
  config.mutable_cluster()->set_concurrency_warmup_steps(0);  // all trainers work from the start
  config::FillDefaults(&config);
  const std::vector<std::string> violations = config::ValidateConfig(config);
  CHECK(violations.empty()) << violations.front();
  return config;
}

// With momentum in every step of every dense element.
inline v1::Config MovingConfig() {
  v1::Config config = TinyConfig();
  v1::UpdateRule& rule = *config.mutable_update()->mutable_dense();
  rule.mutable_momentum()->set_learning_rate(kDenseRate);
  rule.set_dense_semantics(true);
  config::FillDefaults(&config);
  return config;
}

// One stripe's gradients of a piece, as a frame.
inline Bytes GradientFrame(const PieceSpec& piece, uint32_t stripe,
                           const std::vector<uint16_t>& indexes, const std::vector<float>& values) {
  Bytes bytes;
  wire::PieceFrameWriter writer;
  writer.Open(&bytes, wire::FrameKind::kGradient, piece.tensor, static_cast<uint32_t>(piece.begin),
              wire::ValueCoding::kF32);
  const int64_t left = piece.element_count - stripe * kStripeElements;
  writer.Append(stripe, static_cast<uint32_t>(std::min(left, kStripeElements)), indexes, values);
  writer.Finish();
  return bytes;
}

// What a pull has read, row after row.
inline std::vector<float> ValuesOf(const PendingRows& pending) {
  std::vector<float> values;
  for (const PendingRows::Block& block : pending.blocks) {
    values.insert(values.end(), block.values.begin(), block.values.end());
  }
  return values;
}

inline Bytes RowIdsFrame(uint32_t table, const std::vector<uint64_t>& ids) {
  Bytes bytes;
  wire::AppendRowIds(&bytes, table, kDimension, ids);
  return bytes;
}

// values: one gradient for all elements of all rows.
inline Bytes RowGradientsFrame(uint32_t table, const std::vector<uint64_t>& ids, float value) {
  Bytes bytes;
  const std::vector<float> values(ids.size() * kDimension, value);
  wire::AppendRowGradients(&bytes, table, kDimension, ids, values, wire::ValueCoding::kF32);
  return bytes;
}

// A header and a part for each element of the body.
inline transport::Message MakeParts(const v1::Header& header, std::vector<Bytes> body) {
  transport::Message message = session::MakeMessage(header);
  for (Bytes& part : body) message.parts.emplace_back(std::move(part));
  return message;
}

// Element number in the tensor -> value, for each tensor that the value frames speak of.
using DenseChanges = std::map<uint32_t, std::map<int64_t, float>>;

inline void AddChanges(const ModelLayout& layout, ByteSpan bytes, DenseChanges* changes) {
  wire::FrameCursor cursor(bytes);
  while (!cursor.done()) {
    const wire::FrameView frame = cursor.Next().value();
    CHECK(frame.header.kind == wire::FrameKind::kValues);
    for (const PieceSpec& piece : layout.tensor_pieces(frame.header.tensor)) {
      if (piece.begin != frame.header.begin) continue;
      wire::PieceFrameReader reader;
      CHECK(reader.Read(frame, static_cast<uint32_t>(piece.element_count)).ok());
      for (const wire::StripeUpdate& update : reader.stripes()) {
        for (size_t i = 0; i < update.values.size(); ++i) {
          const size_t offset = update.dense ? i : update.indexes[i];
          const int64_t element =
              piece.begin + update.stripe * kStripeElements + static_cast<int64_t>(offset);
          (*changes)[piece.tensor][element] = update.values[i];
        }
      }
    }
  }
}

inline float InitialValue(const ModelLayout& layout, uint32_t tensor, int64_t element) {
  return InitialDenseValue(layout.seed(), layout.tensors()[tensor], element);
}

inline std::vector<float> InitialRow(const ModelLayout& layout, uint32_t table, uint64_t id) {
  std::vector<float> row(kDimension);
  InitialRowValues(layout.seed(), layout.tables()[table], id, row);
  return row;
}

// Server 0 has let that process in, as another server hears it.
inline void Grant(const v1::Hello& hello, GrantList* grants) {
  v1::ShardReply reply;
  v1::Grant& grant = *reply.add_grants();
  grant.set_trainer(hello.trainer());
  grant.set_stage(hello.stage());
  grant.set_incarnation(hello.incarnation());
  grants->Set(reply);
}

}  // namespace weir::server
