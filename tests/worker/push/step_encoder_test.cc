// What arrives at the servers, decoded, against the gradients that went in.
#include "worker/push/step_encoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "common/base/check.h"
#include "common/base/random.h"
#include "common/config/defaults.h"
#include "common/device/cpu_device.h"
#include "common/wire/piece_frame.h"
#include "common/wire/row_frame.h"

namespace weir::worker {
namespace {

std::vector<session::Body> Encode(StepEncoder* encoder, std::span<const float> dense,
                                  const data::Batch& batch, const BatchRows& rows,
                                  StepEncoder::Scratch* scratch) {
  auto bodies = encoder->Encode({.on_host = dense, .on_device = {}}, batch, rows, scratch);
  CHECK(bodies.ok()) << bodies.status();
  return *std::move(bodies);
}

void Accumulate(StepEncoder* encoder, std::span<const float> dense, const data::Batch& batch,
                const BatchRows& rows) {
  const Status status = encoder->Accumulate({.on_host = dense, .on_device = {}}, batch, rows);
  CHECK(status.ok()) << status;
}

constexpr uint32_t kDimension = 4;
constexpr uint64_t kTableRows = 1000;
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

v1::Config Config() {
  v1::Config config;
  for (const int32_t width : {700, 60, 4}) config.mutable_model()->add_bottom_widths(width);
  config.mutable_model()->add_top_widths(1);
  config.mutable_model()->set_embedding_dimension(kDimension);
  config.mutable_data()->mutable_synthetic()->set_tables(2);
  config.mutable_data()->mutable_synthetic()->set_rows_per_table(kTableRows);
  config::FillDefaults(&config);
  return config;
}

v1::Config DctConfig(double sparsity, v1::ValueCoding values = v1::F32) {
  v1::Config config = Config();
  v1::PolicyRule& rule = *config.mutable_compression()->mutable_default_();
  rule.mutable_dct()->set_sparsity(sparsity);
  rule.mutable_dct()->set_drain(v1::DctPolicy::NO_DRAIN);
  rule.set_values(values);
  config::FillDefaults(&config);
  return config;
}

data::Batch RowBatch() {
  data::Batch batch;
  batch.tables.resize(2);
  for (uint64_t id = 0; id < 40; ++id) batch.tables[0].unique.push_back(3 * id);
  batch.tables[1].unique = {0, 1, 999};
  return batch;
}
size_t RowCount(const data::Batch& batch) {
  size_t count = 0;
  for (const data::TableIds& table : batch.tables) count += table.unique.size();
  return count;
}

std::vector<float> RandomGradients(size_t count, uint64_t seed) {
  RandomStream random(seed);
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(random.NextNormal());
  return values;
}

// Adds up everything that was pushed.
class Receiver {
 public:
  explicit Receiver(const ModelLayout& layout, uint64_t table_rows = kTableRows)
      : layout_(layout),
        table_rows_(table_rows),
        dense(static_cast<size_t>(layout.flat_element_count())) {}

  void Take(const std::vector<session::Body>& bodies) {
    ASSERT_EQ(bodies.size(), layout_.server_count());
    for (uint32_t server = 0; server < bodies.size(); ++server) {
      for (const transport::Part& part : bodies[server]) {
        wire::FrameCursor cursor(part.span());
        while (!cursor.done()) TakeFrame(server, cursor.Next().value());
      }
    }
  }

  void TakeFrame(uint32_t server, const wire::FrameView& frame) {
    if (frame.header.kind == wire::FrameKind::kRowGradients) return TakeRows(server, frame);
    ASSERT_EQ(frame.header.kind, wire::FrameKind::kGradient);
    for (const PieceSpec& piece : layout_.tensor_pieces(frame.header.tensor)) {
      if (piece.begin == frame.header.begin) return TakePiece(server, piece, frame);
    }
    ADD_FAILURE() << "no such piece";
  }

 private:
  const ModelLayout& layout_;
  const uint64_t table_rows_;

  void TakePiece(uint32_t server, const PieceSpec& piece, const wire::FrameView& frame) {
    EXPECT_EQ(piece.server, server);
    pieces.insert(piece.id);
    wire::PieceFrameReader reader;
    ASSERT_TRUE(reader.Read(frame, static_cast<uint32_t>(piece.element_count)).ok());
    for (const wire::StripeUpdate& update : reader.stripes()) {
      const int64_t begin =
          layout_.tensors()[piece.tensor].offset + piece.begin + update.stripe * kStripeElements;
      for (size_t i = 0; i < update.values.size(); ++i) {
        const size_t offset = update.dense ? i : update.indexes[i];
        dense[static_cast<size_t>(begin) + offset] += update.values[i];
        ++elements;
      }
    }
  }
  void TakeRows(uint32_t server, const wire::FrameView& frame) {
    std::vector<uint64_t> ids;
    std::vector<float> values;
    ASSERT_TRUE(wire::DecodeRowGradients(frame, kDimension, table_rows_, &ids, &values).ok());
    for (size_t i = 0; i < ids.size(); ++i) {
      EXPECT_EQ(RowServer(frame.header.tensor, ids[i], layout_.server_count()), server);
      const auto first = values.begin() + static_cast<std::ptrdiff_t>(i * kDimension);
      const bool is_new = rows.emplace(std::pair(frame.header.tensor, ids[i]),
                                       std::vector<float>(first, first + kDimension))
                              .second;
      EXPECT_TRUE(is_new) << "a row came twice";
    }
  }

 public:
  std::vector<double> dense;  // flat
  std::set<uint32_t> pieces;
  uint64_t elements = 0;
  std::map<std::pair<uint32_t, uint64_t>, std::vector<float>> rows;
};

// Calls visit(flat position) for every element of every tensor, and not for the padding.
template <typename Visit>
void ForEachElement(const ModelLayout& layout, Visit visit) {
  for (const TensorSpec& tensor : layout.tensors()) {
    for (int64_t i = 0; i < tensor.element_count(); ++i) {
      visit(static_cast<size_t>(tensor.offset + i));
    }
  }
}

std::vector<float> FlatGradients(const ModelLayout& layout, uint64_t seed) {
  return RandomGradients(static_cast<size_t>(layout.flat_element_count()), seed);
}

class StepEncoderOnServers : public testing::TestWithParam<uint32_t> {};

TEST_P(StepEncoderOnServers, NoneSendsExactlyTheGradientToWhoeverOwnsIt) {
  const v1::Config config = Config();
  const ModelLayout layout(config, GetParam());
  StepEncoder encoder(config, layout, 0);
  StepEncoder::Scratch scratch;
  const std::vector<float> dense = FlatGradients(layout, 1);
  Receiver receiver(layout);
  receiver.Take(Encode(&encoder, dense, {}, {}, &scratch));
  ForEachElement(layout, [&](size_t i) { ASSERT_EQ(receiver.dense[i], dense[i]); });
  EXPECT_EQ(receiver.elements, static_cast<uint64_t>(layout.dense_element_count()));
  EXPECT_EQ(receiver.pieces.size(), layout.pieces().size());
}

TEST_P(StepEncoderOnServers, RowsGoToTheirServersOnce) {
  const v1::Config config = Config();
  const ModelLayout layout(config, GetParam());
  StepEncoder encoder(config, layout, 0);
  StepEncoder::Scratch scratch;
  const data::Batch batch = RowBatch();
  const std::vector<float> rows = RandomGradients(RowCount(batch) * kDimension, 2);
  Receiver receiver(layout);
  receiver.Take(Encode(&encoder, FlatGradients(layout, 1), batch, rows, &scratch));
  EXPECT_EQ(receiver.rows.size(), RowCount(batch));
  size_t first = 0;
  for (uint32_t table = 0; table < batch.tables.size(); ++table) {
    for (const uint64_t id : batch.tables[table].unique) {
      const std::vector<float>& row = receiver.rows.at({table, id});
      EXPECT_TRUE(std::equal(row.begin(), row.end(), &rows[first * kDimension]));
      ++first;
    }
  }
}

// A layer of 12 MB, and a table of as much: more than one part of each at the one server.
class LargeStepEncoderTest : public testing::Test {
 protected:
  static constexpr int32_t kWidth = 1800;
  static constexpr uint64_t kRows = 23 * wire::RowsPerFrame(kDimension) + 1;
  static constexpr uint64_t kLargeTableRows = 1'000'000;

  LargeStepEncoderTest() {
    batch_.tables.resize(2);
    for (uint64_t id = 0; id < kRows; ++id) batch_.tables[0].unique.push_back(id);
  }
  static v1::Config Large() {
    v1::Config config = Config();
    for (const int i : {0, 1}) config.mutable_model()->set_bottom_widths(i, kWidth);
    config.mutable_data()->mutable_synthetic()->set_rows_per_table(kLargeTableRows);
    return config;
  }
  void ExpectAll(const Receiver& receiver) {
    ForEachElement(layout_, [&](size_t i) { ASSERT_EQ(receiver.dense[i], dense_[i]); });
    ASSERT_EQ(receiver.rows.size(), kRows);
    for (uint64_t id = 0; id < kRows; ++id) {
      ASSERT_TRUE(std::ranges::equal(receiver.rows.at({0, id}),
                                     std::span(rows_).subspan(id * kDimension, kDimension)));
    }
  }

  const v1::Config config_ = Large();
  const ModelLayout layout_{config_, 1};
  StepEncoder encoder_{config_, layout_, 0};
  data::Batch batch_;
  const std::vector<float> dense_ = FlatGradients(layout_, 1);
  const std::vector<float> rows_ = RandomGradients(kRows * kDimension, 2);
};

TEST_F(LargeStepEncoderTest, WhatIsLargeLeavesInPartsThatAreNot) {
  StepEncoder::Scratch scratch;
  for (int step = 0; step < 2; ++step) {  // the second knows the sizes of the first
    Receiver receiver(layout_, kLargeTableRows);
    const std::vector<session::Body> bodies = Encode(&encoder_, dense_, batch_, rows_, &scratch);
    EXPECT_GE(bodies[0].size(), 6u);
    for (const transport::Part& part : bodies[0]) {
      EXPECT_LT(part.size(), session::kPartBytes + session::kPartBytes / 4);
    }
    receiver.Take(bodies);
    ExpectAll(receiver);
  }
}

// What is in the residual comes out with a gradient of zero, a little each step.
void DrainInto(StepEncoder& encoder, const ModelLayout& layout, int steps, Receiver* receiver) {
  StepEncoder::Scratch scratch;
  const std::vector<float> zero(static_cast<size_t>(layout.flat_element_count()));
  for (int i = 0; i < steps; ++i) receiver->Take(Encode(&encoder, zero, {}, {}, &scratch));
}

TEST_P(StepEncoderOnServers, DctLosesNothingOverManySteps) {
  v1::Config config = DctConfig(0.5);
  config.mutable_compression()->mutable_default_()->mutable_dct()->set_lifespan(1);
  const ModelLayout layout(config, GetParam());
  StepEncoder encoder(config, layout, 0);
  StepEncoder::Scratch scratch;
  Receiver receiver(layout);
  std::vector<double> expected(static_cast<size_t>(layout.flat_element_count()));
  for (uint64_t step = 0; step < 10; ++step) {
    const std::vector<float> dense = FlatGradients(layout, step);
    for (size_t i = 0; i < dense.size(); ++i) expected[i] += dense[i];
    receiver.Take(Encode(&encoder, dense, {}, {}, &scratch));
  }
  EXPECT_LT(receiver.elements, static_cast<uint64_t>(layout.dense_element_count()) * 8);
  DrainInto(encoder, layout, 60, &receiver);
  ForEachElement(layout, [&](size_t i) { ASSERT_NEAR(receiver.dense[i], expected[i], 1e-4); });
}

std::map<std::string, Bytes> StatesOf(const StepEncoder& encoder, v1::PolicyRule* rule = nullptr) {
  std::map<std::string, Bytes> states;
  EXPECT_TRUE(encoder
                  .SaveStates([&](const v1::PolicyStateHeader& header, ByteSpan state) {
                    if (rule != nullptr) *rule = header.rule();
                    states[header.name()] = Bytes(state.begin(), state.end());
                    return OkStatus();
                  })
                  .ok());
  return states;
}

// What a layer's policy has not sent, which its state begins with.
std::vector<float> ResidualIn(const Bytes& state) {
  ByteReader reader(state);
  std::vector<float> residual(static_cast<size_t>(reader.Get<int64_t>()));
  for (float& value : residual) value = reader.Get<float>();
  EXPECT_TRUE(reader.ok());
  return residual;
}

constexpr int64_t kBucket = 512;

// The largest layer has two pieces.
v1::Config ConfigOfTwoPieces() {
  v1::Config config = Config();
  config.mutable_model()->set_bottom_widths(0, 2200);
  return config;
}

// Smaller in each bucket of a layer than in the one before: with another's scale a bucket is wrong.
std::vector<float> GradientsThatFallByBucket(const ModelLayout& layout) {
  std::vector<float> dense = FlatGradients(layout, 1);
  for (const TensorSpec& tensor : layout.tensors()) {
    const int64_t bucket_count = tensor.element_count() / kBucket + 1;
    for (int64_t i = 0; i < tensor.element_count(); ++i) {
      dense[static_cast<size_t>(tensor.offset + i)] *=
          static_cast<float>(bucket_count - i / kBucket);
    }
  }
  return dense;
}

// A step of them, and what servers make of it.
struct EncodedBuckets {
  EncodedBuckets(const v1::Config& with_defaults, uint32_t servers)
      : config(with_defaults), layout(config, servers), encoder(config, layout, 0) {
    EXPECT_GE(layout.tensor_pieces(2).size(), 2u) << "a piece that does not begin with the layer";
    StepEncoder::Scratch scratch;
    receiver.Take(Encode(&encoder, dense, {}, {}, &scratch));
  }

  const v1::Config config;
  const ModelLayout layout;
  StepEncoder encoder;
  const std::vector<float> dense = GradientsThatFallByBucket(layout);
  Receiver receiver{layout};
};

TEST_P(StepEncoderOnServers, OneBitKeepsOfEveryBucketWhatItsScalesAreWrongBy) {
  v1::Config config = ConfigOfTwoPieces();
  config.mutable_compression()->mutable_default_()->mutable_one_bit()->set_bucket(kBucket);
  config::FillDefaults(&config);
  const EncodedBuckets step(config, GetParam());
  const auto states = StatesOf(step.encoder);
  for (const TensorSpec& tensor : step.layout.tensors()) {
    const std::vector<float> residual = ResidualIn(states.at(tensor.name));
    ASSERT_EQ(std::ssize(residual), tensor.element_count());
    for (size_t i = 0; i < residual.size(); ++i) {
      const size_t at = static_cast<size_t>(tensor.offset) + i;
      ASSERT_NEAR(step.receiver.dense[at] + residual[i], step.dense[at], 1e-4)
          << tensor.name << " " << i;
    }
  }
}

// Chance rounds a value to the level below it or above; of 4 bits there are 8 up to the norm.
TEST_P(StepEncoderOnServers, QsgdIsWithinALevelOfTheElementsBucket) {
  v1::Config config = ConfigOfTwoPieces();
  v1::QsgdPolicy& qsgd = *config.mutable_compression()->mutable_default_()->mutable_qsgd();
  qsgd.set_bits(4);
  qsgd.set_bucket(kBucket);
  config::FillDefaults(&config);
  const EncodedBuckets step(config, GetParam());
  for (const TensorSpec& tensor : step.layout.tensors()) {
    for (int64_t begin = 0; begin < tensor.element_count(); begin += kBucket) {
      const auto first = static_cast<size_t>(tensor.offset + begin);
      const auto end =
          first + static_cast<size_t>(std::min(kBucket, tensor.element_count() - begin));
      double squares = 0;
      for (size_t i = first; i < end; ++i) squares += std::pow(step.dense[i], 2);
      const double level = std::sqrt(squares) / 8;
      for (size_t i = first; i < end; ++i) {
        ASSERT_NEAR(step.receiver.dense[i], step.dense[i], 1.0001 * level)
            << tensor.name << " " << begin;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Counts, StepEncoderOnServers, testing::Values(1, 2, 3));

TEST(StepEncoder, RoundingToBf16StaysInTheResidual) {
  v1::Config config = DctConfig(0.5, v1::BF16);
  config.mutable_compression()->mutable_default_()->mutable_dct()->set_lifespan(1);
  const ModelLayout layout(config, 2);
  StepEncoder encoder(config, layout, 0);
  StepEncoder::Scratch scratch;
  const std::vector<float> dense = FlatGradients(layout, 3);
  Receiver receiver(layout);
  receiver.Take(Encode(&encoder, dense, {}, {}, &scratch));
  DrainInto(encoder, layout, 120, &receiver);
  ForEachElement(layout, [&](size_t i) { ASSERT_NEAR(receiver.dense[i], dense[i], 1e-5); });
}

TEST(StepEncoder, AccumulatedStepsLeaveLater) {
  v1::Config config = DctConfig(0);
  const ModelLayout layout(config, 2);
  StepEncoder encoder(config, layout, 0);
  StepEncoder::Scratch scratch;
  const std::vector<float> first = FlatGradients(layout, 1), second = FlatGradients(layout, 2);
  Accumulate(&encoder, first, {}, {});
  Receiver receiver(layout);
  receiver.Take(Encode(&encoder, second, {}, {}, &scratch));
  ForEachElement(layout, [&](size_t i) { ASSERT_EQ(receiver.dense[i], first[i] + second[i]); });
  v1::WorkerReport report;
  encoder.FillReport(&report);
  EXPECT_EQ(report.layers(0).steps(), 2u);
  EXPECT_EQ(report.layers(0).steps_without_credit(), 1u);
}

// Layers and rows alike: one does not leave the other behind.
TEST(StepEncoder, RowsOfStepsWithoutAPushLeaveLaterBesideTheLayers) {
  v1::Config config = DctConfig(0);
  v1::PolicyRule& rule = *config.mutable_compression()->add_layer();
  rule.set_match("table/*");
  rule.mutable_lazy_rows()->set_threshold(0);
  config::FillDefaults(&config);
  const ModelLayout layout(config, 2);
  StepEncoder encoder(config, layout, 0);
  StepEncoder::Scratch scratch;
  const data::Batch batch = RowBatch();
  ASSERT_TRUE(encoder.MayWait(batch));
  const std::vector<float> dense1 = FlatGradients(layout, 1), dense2 = FlatGradients(layout, 2);
  const std::vector<float> rows1 = RandomGradients(RowCount(batch) * kDimension, 3);
  const std::vector<float> rows2 = RandomGradients(RowCount(batch) * kDimension, 4);
  Accumulate(&encoder, dense1, batch, rows1);
  Receiver receiver(layout);
  receiver.Take(Encode(&encoder, dense2, batch, rows2, &scratch));
  ForEachElement(layout, [&](size_t i) { ASSERT_EQ(receiver.dense[i], dense1[i] + dense2[i]); });
  ASSERT_EQ(receiver.rows.size(), RowCount(batch));
  size_t at = 0;
  for (uint32_t table = 0; table < batch.tables.size(); ++table) {
    for (const uint64_t id : batch.tables[table].unique) {
      for (const float value : receiver.rows.at({table, id})) {
        EXPECT_EQ(value, rows1[at] + rows2[at]) << "row " << id << " of table " << table;
        ++at;
      }
    }
  }
}

TEST(StepEncoder, ABodyHasADensePartAndThenARowPart) {
  const v1::Config config = Config();
  const ModelLayout layout(config, 2);
  StepEncoder encoder(config, layout, 0);
  StepEncoder::Scratch scratch;
  const data::Batch batch = RowBatch();
  const std::vector<float> rows(RowCount(batch) * kDimension, 1);
  for (const auto& body : Encode(&encoder, FlatGradients(layout, 1), batch, rows, &scratch)) {
    ASSERT_EQ(body.size(), 2u);
    for (size_t part = 0; part < 2; ++part) {
      wire::FrameCursor cursor(body[part].span());
      while (!cursor.done()) {
        EXPECT_EQ(cursor.Next().value().header.kind,
                  part == 0 ? wire::FrameKind::kGradient : wire::FrameKind::kRowGradients);
      }
    }
  }
}

TEST(StepEncoder, PartsWithoutAnythingAreLeftOut) {
  const v1::Config config = DctConfig(0.9);
  const ModelLayout layout(config, 2);
  StepEncoder encoder(config, layout, 0);
  StepEncoder::Scratch scratch;
  const std::vector<float> zero(static_cast<size_t>(layout.flat_element_count()));
  for (const auto& body : Encode(&encoder, zero, {}, {}, &scratch)) EXPECT_TRUE(body.empty());
  data::Batch batch;
  batch.tables.resize(2);
  batch.tables[1].unique = {5};
  const std::vector<float> row(kDimension, 1);
  const auto bodies = Encode(&encoder, zero, batch, row, &scratch);
  const uint32_t owner = RowServer(1, 5, 2);
  EXPECT_EQ(bodies[owner].size(), 1u);
  EXPECT_TRUE(bodies[1 - owner].empty());
}

TEST(StepEncoder, AStepMayWaitOnlyIfNothingButResidualsIsConcerned) {
  const v1::Config none = Config(), dct = DctConfig(0.9);
  v1::Config mixed = DctConfig(0.9);
  v1::PolicyRule& rule = *mixed.mutable_compression()->add_layer();
  rule.set_match("top/*");
  rule.mutable_none();
  config::FillDefaults(&mixed);
  const ModelLayout layout(none, 1);
  EXPECT_TRUE(StepEncoder(dct, layout, 0).MayWait({}));
  EXPECT_FALSE(StepEncoder(dct, layout, 0).MayWait(RowBatch()));
  EXPECT_FALSE(StepEncoder(none, layout, 0).MayWait({}));
  EXPECT_FALSE(StepEncoder(mixed, layout, 0).MayWait({}));
}

// Of the layers that ask: with a square of its own gradient an element is no more than its noise.
TEST(StepEncoder, PoliciesSeeTheSquaresThatAreAddedUp) {
  v1::Config config = DctConfig(0.9);
  v1::PolicyRule& rule = *config.mutable_compression()->add_layer();
  rule.set_match("bottom/0/weight");
  rule.mutable_hybrid()->set_threshold(1e-6);
  config::FillDefaults(&config);
  const ModelLayout layout(config, 1);
  StepEncoder encoder(config, layout, 0);
  const TensorSpec& asking = layout.tensors()[0];
  ASSERT_EQ(asking.name, "bottom/0/weight");
  const compress::SquareSumsOfTensors squares = encoder.square_sums();
  ASSERT_EQ(squares.size(), layout.tensors().size());
  ASSERT_EQ(static_cast<int64_t>(squares[0].sums.size), asking.element_count());
  for (size_t i = 1; i < squares.size(); ++i) EXPECT_TRUE(squares[i].sums.empty()) << i;

  const std::vector<float> gradient =
      RandomGradients(static_cast<size_t>(layout.flat_element_count()), 1);
  constexpr size_t kNoisy = 100;
  for (size_t i = 0; i < kNoisy; ++i)
    device::OnHost(squares[0].sums)[i] = gradient[i] * gradient[i];
  ASSERT_EQ(asking.offset, 0);
  StepEncoder::Scratch scratch;
  Encode(&encoder, gradient, {}, {}, &scratch);
  v1::WorkerReport report;
  encoder.FillReport(&report);
  ASSERT_EQ(report.layers(0).name(), asking.name);
  EXPECT_EQ(report.layers(0).elements_sent(),
            static_cast<uint64_t>(asking.element_count()) - kNoisy);
}

TEST(StepEncoder, AsksForNoSquaresWhereNoPolicyDoes) {
  const v1::Config config = DctConfig(0.9);
  const ModelLayout layout(config, 1);
  EXPECT_TRUE(StepEncoder(config, layout, 0).square_sums().empty());
}

// Of a step without a push, or of one with it.
std::string FailureOf(StepEncoder* encoder, std::span<const float> gradient, bool waits) {
  const StepEncoder::Dense dense{.on_host = gradient, .on_device = {}};
  if (waits) return encoder->Accumulate(dense, {}, {}).message();
  StepEncoder::Scratch scratch;
  return encoder->Encode(dense, {}, {}, &scratch).status().message();
}

TEST(StepEncoder, NamesTheLayerWhoseGradientIsNotFinite) {
  const v1::Config config = DctConfig(0.9);
  const ModelLayout layout(config, 1);
  StepEncoder encoder(config, layout, 0);
  std::vector<float> gradient =
      RandomGradients(static_cast<size_t>(layout.flat_element_count()), 1);
  for (const bool waits : {false, true}) {
    EXPECT_EQ(FailureOf(&encoder, gradient, waits), "");
    for (const TensorSpec& tensor : layout.tensors()) {
      if (!tensor.name.ends_with("/bias")) continue;
      for (const float odd : {kNaN, -kInfinity}) {
        float& last = gradient[static_cast<size_t>(tensor.offset + tensor.element_count() - 1)];
        const float good = std::exchange(last, odd);
        EXPECT_THAT(FailureOf(&encoder, gradient, waits),
                    testing::StartsWith("the gradient of " + tensor.name + " is not finite"));
        last = good;
      }
    }
  }
}

TEST(StepEncoder, ReportsEachLayersElementsAndBytes) {
  const v1::Config config = Config();
  const ModelLayout layout(config, 3);
  StepEncoder encoder(config, layout, 0);
  StepEncoder::Scratch scratch;
  uint64_t bytes = 0;
  for (const auto& body : Encode(&encoder, FlatGradients(layout, 1), {}, {}, &scratch)) {
    for (const transport::Part& part : body) bytes += part.size();
  }
  v1::WorkerReport report;
  encoder.FillReport(&report);
  ASSERT_EQ(static_cast<size_t>(report.layers_size()), layout.tensors().size());
  uint64_t reported = 0;
  for (int i = 0; i < report.layers_size(); ++i) {
    const TensorSpec& tensor = layout.tensors()[static_cast<size_t>(i)];
    EXPECT_EQ(report.layers(i).name(), tensor.name);
    EXPECT_EQ(report.layers(i).policy(), "none");
    EXPECT_EQ(report.layers(i).elements_sent(), static_cast<uint64_t>(tensor.element_count()));
    reported += report.layers(i).bytes();
  }
  EXPECT_EQ(reported, bytes);
}

// L2, of a layer.
double Distance(const TensorSpec& tensor, std::span<const float> a, std::span<const double> b) {
  double squares = 0;
  for (int64_t i = tensor.offset; i < tensor.offset + tensor.element_count(); ++i) {
    squares += std::pow(double{a[static_cast<size_t>(i)]} - b[static_cast<size_t>(i)], 2);
  }
  return std::sqrt(squares);
}

// A first step of two servers' layers, as it was received, and what is reported of it.
struct ReportedStep {
  explicit ReportedStep(const v1::Config& config) : layout(config, 2), receiver(layout) {
    StepEncoder encoder(config, layout, 0);
    StepEncoder::Scratch scratch;
    receiver.Take(Encode(&encoder, dense, {}, {}, &scratch));
    encoder.FillReport(&report);
  }

  const ModelLayout layout;
  const std::vector<float> dense = FlatGradients(layout, 1);
  Receiver receiver;
  v1::WorkerReport report;
};

TEST(StepEncoder, ReportsHowMuchOfEachLayerHasNotBeenSent) {
  v1::Config config = DctConfig(0.9);
  v1::PolicyRule& rule = *config.mutable_compression()->add_layer();
  rule.set_match("bottom/0/bias");
  rule.mutable_none();
  config::FillDefaults(&config);
  const ReportedStep step(config);
  for (const TensorSpec& tensor : step.layout.tensors()) {
    const v1::LayerReport& layer = step.report.layers(static_cast<int>(tensor.id));
    EXPECT_EQ(layer.has_residual_norm(), tensor.name != "bottom/0/bias") << tensor.name;
    const double missing = Distance(tensor, step.dense, step.receiver.dense);
    EXPECT_NEAR(layer.residual_norm(), missing, 1e-6) << tensor.name;
  }
  EXPECT_GT(step.report.layers(0).residual_norm(), 0);
}

TEST(StepEncoder, TellsAThreadWhereTheTimeOfItsStepWent) {
  const v1::Config config = DctConfig(0.9);
  const ModelLayout layout(config, 1);
  StepEncoder encoder(config, layout, 0);
  StepEncoder::Scratch scratch, other;
  Encode(&encoder, FlatGradients(layout, 1), {}, {}, &scratch);
  const PushSeconds times = scratch.layer.times.Take();
  EXPECT_GT(times.select, 0);
  EXPECT_GT(times.encode, 0);
  EXPECT_EQ(times.waiting + times.update, 0);
  EXPECT_EQ(scratch.layer.times.Take().sum(), 0) << "it is told once";
  EXPECT_EQ(other.layer.times.Take().sum(), 0) << "of this thread alone";
}

TEST(StepEncoder, TellsOnceOfAPolicyWhatCannotBeDone) {
  v1::Config config = Config();
  config.mutable_compression()->mutable_default_()->mutable_deft()->set_sparsity(0.99999);
  config::FillDefaults(&config);
  const ModelLayout layout(config, 1);
  StepEncoder encoder(config, layout, 0);
  StepEncoder::Scratch scratch;
  testing::internal::CaptureStderr();
  Encode(&encoder, FlatGradients(layout, 1), {}, {}, &scratch);
  Encode(&encoder, FlatGradients(layout, 2), {}, {}, &scratch);
  const std::string log = testing::internal::GetCapturedStderr();
  const size_t first = log.find("the rule of bottom/0/weight and others: deft.sparsity: ");
  EXPECT_NE(first, std::string::npos) << log;
  EXPECT_EQ(log.find("deft.sparsity", first + 60), std::string::npos) << log;
}

TEST(StepEncoder, ReportsWhatDrainsForgot) {
  v1::Config config = DctConfig(0.5);
  v1::DctPolicy& dct = *config.mutable_compression()->mutable_default_()->mutable_dct();
  dct.set_drain(v1::DctPolicy::DISCARD);
  dct.set_drain_period(1);
  const ReportedStep step(config);
  double missing = 0, reported = 0;
  ForEachElement(step.layout,
                 [&](size_t i) { missing += std::fabs(step.dense[i] - step.receiver.dense[i]); });
  for (const v1::LayerReport& layer : step.report.layers()) reported += layer.discarded_l1();
  EXPECT_GT(reported, 0);
  EXPECT_NEAR(reported, missing, 1e-9 * missing);
}

// Steps in which the first layer was sent whole.
std::vector<int> FlushSteps(uint32_t trainer) {
  v1::Config config = DctConfig(0.9);
  v1::DctPolicy& dct = *config.mutable_compression()->mutable_default_()->mutable_dct();
  dct.set_drain(v1::DctPolicy::FLUSH);
  dct.set_drain_period(8);
  const ModelLayout layout(config, 1);
  StepEncoder encoder(config, layout, trainer);
  StepEncoder::Scratch scratch;
  std::vector<int> steps;
  uint64_t sent = 0;
  for (int step = 0; step < 100; ++step) {
    Encode(&encoder, FlatGradients(layout, static_cast<uint64_t>(step)), {}, {}, &scratch);
    v1::WorkerReport report;
    encoder.FillReport(&report);
    if (report.layers(0).elements_sent() - sent == report.layers(0).elements()) {
      steps.push_back(step);
    }
    sent = report.layers(0).elements_sent();
  }
  return steps;
}

TEST(StepEncoder, TrainersDoNotDrainALayerAtTheSameSteps) {
  EXPECT_FALSE(FlushSteps(0).empty());
  EXPECT_EQ(FlushSteps(0), FlushSteps(0));
  EXPECT_NE(FlushSteps(0), FlushSteps(1));
  EXPECT_NE(FlushSteps(1), FlushSteps(2));
}

TEST(StepEncoder, ThreadsThatEncodeAtOnceLoseNothing) {
  constexpr size_t kThreads = 2;
  constexpr uint64_t kSteps = 20;
  v1::Config config = DctConfig(0.8);
  config.mutable_compression()->mutable_default_()->mutable_dct()->set_lifespan(5);
  const ModelLayout layout(config, 2);
  StepEncoder encoder(config, layout, 0);
  std::vector<std::vector<std::vector<std::vector<transport::Part>>>> pushed(kThreads);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      StepEncoder::Scratch scratch;
      for (uint64_t step = 0; step < kSteps; ++step) {
        const std::vector<float> dense = FlatGradients(layout, 100 * t + step);
        if (step % 7 == 6) {
          Accumulate(&encoder, dense, {}, {});
        } else {
          pushed[t].push_back(Encode(&encoder, dense, {}, {}, &scratch));
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();

  Receiver receiver(layout);
  std::vector<double> expected(static_cast<size_t>(layout.flat_element_count()));
  for (size_t t = 0; t < kThreads; ++t) {
    for (const auto& bodies : pushed[t]) receiver.Take(bodies);
    for (uint64_t step = 0; step < kSteps; ++step) {
      const std::vector<float> dense = FlatGradients(layout, 100 * t + step);
      for (size_t i = 0; i < dense.size(); ++i) expected[i] += dense[i];
    }
  }
  DrainInto(encoder, layout, 200, &receiver);
  ForEachElement(layout, [&](size_t i) { ASSERT_NEAR(receiver.dense[i], expected[i], 1e-3); });
}

v1::PolicyStateHeader HeaderOf(const std::string& name, const v1::PolicyRule& rule) {
  v1::PolicyStateHeader header;
  header.set_name(name);
  *header.mutable_rule() = rule;
  return header;
}

// Of the whole model into three stages, and from those into a whole again.
TEST(StepEncoder, StatesGoToTheStageThatHasTheLayer) {
  v1::Config config = DctConfig(0.9);
  for (const char* after : {"bottom/0", "bottom/2"}) {
    v1::SplitConfig& split = *config.mutable_pipeline()->add_split();
    split.set_after(after);
    split.mutable_none();
  }
  v1::PolicyRule& rows = *config.mutable_compression()->add_layer();
  rows.set_match("table/*");
  rows.mutable_lazy_rows()->set_threshold(5);
  config::FillDefaults(&config);
  const ModelLayout layout(config, 2);
  const data::Batch batch = RowBatch();
  StepEncoder whole(config, layout, 0);
  StepEncoder::Scratch scratch;
  for (uint64_t step = 0; step < 5; ++step) {
    const std::vector<float> rows_gradient = RandomGradients(RowCount(batch) * kDimension, step);
    Encode(&whole, FlatGradients(layout, step), batch, rows_gradient, &scratch);
  }
  const auto states = StatesOf(whole);
  EXPECT_EQ(states.size(), layout.tensors().size() + layout.tables().size());

  StepEncoder again(config, layout, 0);
  size_t count = 0;
  for (const StageSpec& stage : layout.stages()) {
    StepEncoder encoder(config, layout, 0, stage, kernels::CpuCompute(kernels::Precision::kF32));
    for (const auto& [name, state] : states) {
      const v1::PolicyRule& rule =
          name.starts_with("table/") ? rows : config.compression().default_();
      ASSERT_TRUE(encoder.LoadState(HeaderOf(name, rule), state).ok());
    }
    for (const auto& [name, state] : StatesOf(encoder)) {
      ++count;
      EXPECT_EQ(state, states.at(name)) << name;
      const bool is_table = name.starts_with("table/");
      EXPECT_TRUE(
          again.LoadState(HeaderOf(name, is_table ? rows : config.compression().default_()), state)
              .ok());
    }
  }
  EXPECT_EQ(count, states.size()) << "each in one stage";
  EXPECT_EQ(StatesOf(again), states);
  const Result<bool> twice = again.LoadState(
      HeaderOf("top/0/bias", config.compression().default_()), states.at("top/0/bias"));
  EXPECT_EQ(twice.status().message(), "top/0/bias comes twice");
}

TEST(StepEncoder, UnderAnotherRuleTheResidualAloneIsTakenOver) {
  const v1::Config config = DctConfig(0.9), other = DctConfig(0.5);
  const ModelLayout layout(config, 1);
  StepEncoder first(config, layout, 0);
  StepEncoder::Scratch scratch;
  const std::vector<float> dense = FlatGradients(layout, 1);
  Receiver receiver(layout);
  receiver.Take(Encode(&first, dense, {}, {}, &scratch));
  v1::PolicyRule rule;
  const auto states = StatesOf(first, &rule);
  StepEncoder second(other, layout, 0);
  for (const auto& [name, state] : states) {
    ASSERT_TRUE(second.LoadState(HeaderOf(name, rule), state).ok());
    EXPECT_NE(StatesOf(second).at(name), state) << "threshold and steps are its own";
  }
  DrainInto(second, layout, 200, &receiver);
  ForEachElement(layout, [&](size_t i) { ASSERT_NEAR(receiver.dense[i], dense[i], 1e-4) << i; });
}

}  // namespace
}  // namespace weir::worker
