// What several streams of a card send and keep together is what they were given.
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "common/device/buffers.h"
#include "common/wire/piece_frame.h"
#include "gpu/device/cuda_device.h"
#include "gpu/device/cuda_kernels.h"
#include "tests/gpu/card.h"
#include "tests/gpu/training/encoder_support.h"
#include "worker/push/step_encoder.h"

namespace weir::worker {
namespace {

uint32_t PieceElements(const ModelLayout& layout, const wire::FrameView& frame) {
  for (const PieceSpec& piece : layout.tensor_pieces(frame.header.tensor)) {
    if (piece.begin == frame.header.begin) return static_cast<uint32_t>(piece.element_count);
  }
  return 0;
}

// The sums of what was sent, as a server has them.
void AddSent(const ModelLayout& layout, const std::vector<session::Body>& bodies,
             std::vector<double>* sums) {
  for (const session::Body& body : bodies) {
    for (const transport::Part& part : body) {
      wire::FrameCursor cursor(part.span());
      while (!cursor.done()) {
        const wire::FrameView frame = cursor.Next().value();
        const TensorSpec& tensor = layout.tensors()[frame.header.tensor];
        wire::PieceFrameReader reader;
        ASSERT_TRUE(reader.Read(frame, PieceElements(layout, frame)).ok());
        for (const wire::StripeUpdate& update : reader.stripes()) {
          const int64_t begin =
              tensor.offset + frame.header.begin + update.stripe * kStripeElements;
          for (size_t i = 0; i < update.values.size(); ++i) {
            const size_t offset = update.dense ? i : update.indexes[i];
            (*sums)[static_cast<size_t>(begin) + offset] += update.values[i];
          }
        }
      }
    }
  }
}

// Threads that encode steps by one encoder, each with a stream of its own.
class Threads {
 public:
  explicit Threads(const std::string& rule)
      : config_(test::ConfigWith("default { " + rule + " }")) {}

  static constexpr size_t kThreads = 3;

  void Run() {
    std::vector<std::thread> threads;
    for (size_t i = 0; i < kThreads; ++i) {
      threads.emplace_back([this, i] { RunThread(i); });
    }
    for (std::thread& thread : threads) thread.join();
  }

  // Of one element.
  double Given(size_t i) const { return Sum(given_, i); }
  double Sent(size_t i) const { return Sum(sent_, i); }

  const StepEncoder& encoder() const { return encoder_; }
  const ModelLayout& layout() const { return layout_; }

 private:
  static constexpr uint64_t kSteps = 6, kStepWithoutPush = 2;
  using Sums = std::vector<std::vector<double>>;  // by thread and element

  static double Sum(const Sums& sums, size_t i) {
    double all = 0;
    for (const auto& of_thread : sums) all += of_thread[i];
    return all;
  }

  void RunThread(size_t thread) {
    const auto stream = card_->MakeStream();
    const device::Buffer<float> gradients(*card_, flat_, "a test");
    StepEncoder::Scratch scratch;
    for (uint64_t step = 0; step < kSteps; ++step) {
      const std::vector<float> drawn = test::RandomGradients(flat_, 100 * thread + step);
      for (size_t i = 0; i < flat_; ++i) given_[thread][i] += drawn[i];
      stream->CopyToDevice<float>(drawn, gradients.span());
      const StepEncoder::Dense dense{{}, gradients.data(), stream.get()};
      if (step == kStepWithoutPush) {
        EXPECT_TRUE(encoder_.Accumulate(dense, {}, {}).ok());
        continue;
      }
      const auto bodies = encoder_.Encode(dense, {}, {}, &scratch);
      ASSERT_TRUE(bodies.ok()) << bodies.status();
      AddSent(layout_, *bodies, &sent_[thread]);
    }
  }

  const v1::Config config_;
  const ModelLayout layout_{config_, 2};
  const size_t flat_ = static_cast<size_t>(layout_.flat_element_count());
  const std::unique_ptr<gpu::CudaDevice> card_ = test::OpenCard();
  const kernels::Compute compute_ = gpu::CudaCompute(*card_, kernels::Precision::kF32, 64);
  StepEncoder encoder_{config_, layout_, 0, layout_.whole(), compute_};
  Sums given_ = Sums(kThreads, std::vector<double>(flat_)), sent_ = given_;
};

class ConservationOnACard : public testing::TestWithParam<const char*> {};

TEST_P(ConservationOnACard, WhatThreadsSendAndKeepIsAllTheirGradients) {
  WEIR_SKIP_WITHOUT_A_CARD();
  Threads threads(GetParam());
  threads.Run();
  std::vector<double> kept(static_cast<size_t>(threads.layout().flat_element_count()));
  for (const auto& [header, state] : test::StatesOf(threads.encoder())) {
    test::AddResidual(threads.layout(), header.name(), state, &kept);
  }
  for (const TensorSpec& tensor : threads.layout().tensors()) {
    for (int64_t element = 0; element < tensor.element_count(); ++element) {
      const auto i = static_cast<size_t>(tensor.offset + element);
      ASSERT_NEAR(threads.Sent(i) + kept[i], threads.Given(i), 1e-5) << tensor.name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Rules, ConservationOnACard,
                         testing::Values("dct { sparsity: 0.9 lifespan: 4 drain: NO_DRAIN }",
                                         "clt_k { sparsity: 0.9 }",
                                         "union_top_k { sparsity: 0.9 } values: BF16",
                                         "union_hard_threshold { threshold: 1.5 }",
                                         "deft { sparsity: 0.9 }", "exdyna { sparsity: 0.9 }"));

}  // namespace
}  // namespace weir::worker
