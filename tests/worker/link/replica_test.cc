#include "worker/link/replica.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "common/device/cpu_device.h"
#include "tests/worker/link/small_model.h"

namespace weir::worker {
namespace {

using testing::Each;
using testing::HasSubstr;

class ReplicaTest : public testing::Test {
 protected:
  // An answer with one element of the piece.
  static transport::Message Answer(const PieceSpec& piece, float value,
                                   wire::FrameKind kind = wire::FrameKind::kValues) {
    Bytes frame;
    wire::PieceFrameWriter writer;
    writer.Open(&frame, kind, piece.tensor, static_cast<uint32_t>(piece.begin),
                wire::ValueCoding::kF32);
    const auto elements = static_cast<uint32_t>(std::min(piece.element_count, kStripeElements));
    writer.Append(0, elements, std::vector<uint16_t>{0}, std::vector<float>{value});
    writer.Finish();
    transport::Message message;
    message.parts.emplace_back(Bytes());  // the header
    message.parts.emplace_back(std::move(frame));
    return message;
  }
  float First(const PieceSpec& piece) const {
    return device::OnHost(replica_.values())[layout_.tensors()[piece.tensor].offset + piece.begin];
  }
  std::vector<float> Values() const {
    const float* const values = device::OnHost(replica_.values());
    return {values, values + layout_.flat_element_count()};
  }

  const ModelLayout layout_{SmallModel(), 2};
  Replica replica_{layout_, kernels::CpuCompute(kernels::Precision::kF32)};
};

TEST_F(ReplicaTest, TakesEachPieceFromTheServerThatHasIt) {
  for (const PieceSpec& piece : layout_.pieces()) {
    const float value = 1 + static_cast<float>(piece.id);
    EXPECT_TRUE(replica_.Apply(piece.server, Answer(piece, value)).ok());
    EXPECT_EQ(First(piece), value);
  }
}

TEST_F(ReplicaTest, RefusesPiecesOfAnotherServer) {
  for (const PieceSpec& piece : layout_.pieces()) {
    const Status status = replica_.Apply(1 - piece.server, Answer(piece, 1));
    EXPECT_EQ(status.code(), StatusCode::kInvalidData);
    EXPECT_THAT(status.message(), HasSubstr("unexpected "));
  }
  EXPECT_THAT(Values(), Each(0.0f));
}

TEST_F(ReplicaTest, RefusesPiecesThatAreNoneAndGradients) {
  PieceSpec piece = layout_.pieces()[0];
  EXPECT_EQ(replica_.Apply(piece.server, Answer(piece, 1, wire::FrameKind::kGradient)).code(),
            StatusCode::kInvalidData);
  piece.tensor = static_cast<uint32_t>(layout_.tensors().size());
  EXPECT_EQ(replica_.Apply(piece.server, Answer(piece, 1)).code(), StatusCode::kInvalidData);
  EXPECT_THAT(Values(), Each(0.0f));
}

}  // namespace
}  // namespace weir::worker
