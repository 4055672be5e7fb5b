#include <algorithm>
#include <cmath>

#include "common/base/random.h"
#include "common/compress/kept_count.h"
#include "common/split/split_policies.h"
#include "common/split/whole.h"
#include "common/tensor/aligned_buffer.h"

namespace weir::split {
namespace {

using wire::FrameKind;

// X S has m numbers a sample, S being [features, m] of N(0, 1 / m). The other end makes (X S) S^T
// of it, whose mean is X and whose error is about features / m times as large: the paper does not
// say how it gets X back, and this is the least that is unbiased. The gradient passes as if X had,
// or, with exact_adjoint, as that of (X S) S^T: the other end sends G S, and (G S) S^T is made of
// it.
class GaussianSketch : public Whole {
 public:
  GaussianSketch(const v1::GaussianSketchPolicy& config, wire::ValueCoding values, uint64_t seed,
                 const kernels::KernelTable& kernels)
      : Whole(values),
        compression_(config.compression()),
        fixed_(config.fixed()),
        exact_adjoint_(config.exact_adjoint()),
        seed_(seed),
        kernels_(kernels) {}

  void SendForward(const BlockName& name, const kernels::ConstMatrixView& x, BlockMemory*,
                   Bytes* out) override {
    SendProduct(FrameKind::kActivations, name, x, out);
    sent_count_ = static_cast<uint64_t>(width_ * x.column_count);
  }
  Status TakeForward(const BlockName& name, const wire::FrameView& frame,
                     const kernels::MatrixView& x, BlockMemory*) override {
    return TakeProduct(FrameKind::kActivations, name, frame, x);
  }

  void SendBackward(const BlockName& name, const kernels::ConstMatrixView& gradient,
                    const BlockMemory& memory, Bytes* out) override {
    if (!exact_adjoint_) return Whole::SendBackward(name, gradient, memory, out);
    SendProduct(FrameKind::kActivationGradients, name, gradient, out);
  }
  Status TakeBackward(const BlockName& name, const wire::FrameView& frame,
                      const BlockMemory& memory, const kernels::MatrixView& gradient) override {
    if (!exact_adjoint_) return Whole::TakeBackward(name, frame, memory, gradient);
    return TakeProduct(FrameKind::kActivationGradients, name, frame, gradient);
  }

 private:
  void SendProduct(FrameKind kind, const BlockName& name, const kernels::ConstMatrixView& x,
                   Bytes* out) {
    Draw(name, x.row_count, x.column_count);
    const kernels::MatrixView product = Product(x.column_count);
    Multiply(x, kernels::Dense(transposed_.data(), width_, x.row_count), product);
    frames_.AppendAll(kind, name, product, values_, out);
  }
  Status TakeProduct(FrameKind kind, const BlockName& name, const wire::FrameView& frame,
                     const kernels::MatrixView& x) {
    Draw(name, x.row_count, x.column_count);
    const kernels::MatrixView product = Product(x.column_count);
    WEIR_RETURN_IF_ERROR(frames_.TakeAll(frame, kind, name, product));
    Multiply(product, kernels::Dense(matrix_.data(), x.row_count, width_), x);
    return OkStatus();
  }

  // matrix_ [features, width_] and transposed_.
  void Draw(const BlockName& name, int64_t features, int64_t samples) {
    width_ = compress::KeptCount(features, compression_);
    const auto element_count = static_cast<size_t>(features * width_);
    const auto product_size = static_cast<size_t>(width_ * kernels::PaddedStride(samples));
    if (matrix_.size() != element_count) {
      matrix_ = tensor::AlignedBuffer(element_count);
      transposed_ = tensor::AlignedBuffer(element_count);
      zeros_ = tensor::AlignedBuffer(static_cast<size_t>(std::max(features, width_)));
    }
    if (product_.size() < product_size) product_ = tensor::AlignedBuffer(product_size);
    // Drawing takes longer than the product.
    const BlockName drawn = fixed_ ? BlockName{.split = name.split} : name;
    if (drawn == drawn_ && features == drawn_features_) return;
    drawn_ = drawn;
    drawn_features_ = features;
    RandomStream random(seed_, drawn.batch, drawn.split, drawn.slice);
    const double deviation = 1 / std::sqrt(static_cast<double>(width_));
    for (size_t i = 0; i < element_count; ++i) {
      matrix_[i] = static_cast<float>(deviation * random.NextNormal());
    }
    kernels_.transpose(kernels::Dense(matrix_.data(), features, width_),
                       kernels::Dense(transposed_.data(), width_, features));
  }

  kernels::MatrixView Product(int64_t samples) {
    return {product_.data(), width_, samples, kernels::PaddedStride(samples)};
  }

  void Multiply(const kernels::ConstMatrixView& x, const kernels::ConstMatrixView& weight,
                const kernels::MatrixView& y) {
    kernels_.linear_forward(x, weight, {zeros_.data(), weight.row_count},
                            kernels::Activation::kNone, y);
  }

  const double compression_;
  const bool fixed_, exact_adjoint_;
  const uint64_t seed_;
  const kernels::KernelTable& kernels_;
  int64_t width_ = 0;
  BlockName drawn_;  // whose matrix it is, of so many features
  int64_t drawn_features_ = 0;
  tensor::AlignedBuffer matrix_, transposed_, zeros_, product_;
};

}  // namespace

std::unique_ptr<SplitPolicy> MakeGaussianSketch(const v1::GaussianSketchPolicy& config,
                                                wire::ValueCoding values, uint64_t seed,
                                                const kernels::KernelTable& kernels) {
  return std::make_unique<GaussianSketch>(config, values, seed, kernels);
}

}  // namespace weir::split
