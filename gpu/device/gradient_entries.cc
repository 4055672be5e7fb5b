#include "common/base/check.h"
#include "gpu/device/table_entries.h"
#include "gpu/kernels/gradients.h"
#include "gpu/kernels/layers_select.h"

namespace weir::gpu::entries {

void ClipNorm(Stream& stream, double limit, const DeviceVector& gradients,
              const DeviceVector& squares, Pointer<float> factor) {
  DoWithScratch(stream, "clip_norm", ClipNormScratchBytes(), [&](void* scratch, cudaStream_t to) {
    return gpu::ClipNorm(limit, gradients.data.address(), gradients.count, squares.data.address(),
                         squares.count, factor.address(), scratch, to);
  });
}

void AddSquares(Stream& stream, const ConstDeviceVector& squares, Pointer<const float> factor,
                float decay, const DeviceVector& sums) {
  CHECK_EQ(squares.count, sums.count);
  if (sums.count == 0) return;
  Do(stream, "add_squares", [&](cudaStream_t to) {
    return gpu::AddSquares(squares.data.address(), squares.count, factor.address(), decay,
                           sums.data.address(), to);
  });
}

void WriteValues(Stream& stream, const ConstDeviceVector& values, Pointer<const uint32_t> indexes,
                 const DeviceVector& to) {
  if (values.count == 0) return;
  Do(stream, "write_values", [&](cudaStream_t in) {
    return gpu::WriteValues(values.data.address(), indexes.address(), values.count,
                            to.data.address(), in);
  });
}

void NoteNotFinite(Stream& stream, const ConstDeviceVector& values, Pointer<double> sum) {
  if (values.count == 0) return;
  Do(stream, "note_not_finite", [&](cudaStream_t to) {
    return gpu::NoteNotFinite(values.data.address(), values.count, sum.address(), to);
  });
}

void MarkNonzero(Stream& stream, const ConstDeviceVector& values, Pointer<uint8_t> marks) {
  if (values.count == 0) return;
  Do(stream, "mark_nonzero", [&](cudaStream_t to) {
    return gpu::MarkNonzero(values.data.address(), values.count, marks.address(), to);
  });
}

namespace {

RawSelectFrom RawOf(const kernels::SelectFrom& from) {
  return {from.gradient.address(), from.residual.address(), from.square_sums.address(),
          from.scales.address(), from.thresholds.address()};
}

}  // namespace

void AccumulateAndSelect(Stream& stream, const kernels::StripesView& stripes,
                         Pointer<const kernels::LayerPlan> plans, const kernels::SelectFrom& from,
                         const kernels::SelectedView& selected) {
  if (stripes.count == 0) return;
  const RawSelected to{selected.ends.address(), selected.offsets.address(),
                       selected.values.address(), selected.discarded.address()};
  DoWithScratch(stream, "accumulate_and_select", SelectScratchBytes(stripes.count),
                [&](void* scratch, cudaStream_t in) {
                  return gpu::AccumulateAndSelect(stripes.stripes.address(), stripes.count,
                                                  plans.address(), RawOf(from), to, scratch, in);
                });
}

void CorrectThresholds(Stream& stream, Pointer<const kernels::LayerPlan> plans, int64_t layer_count,
                       Pointer<const uint32_t> ends, Pointer<kernels::LayerThreshold> thresholds) {
  if (layer_count == 0) return;
  Do(stream, "correct_thresholds", [&](cudaStream_t to) {
    return gpu::CorrectThresholds(plans.address(), layer_count, ends.address(),
                                  thresholds.address(), to);
  });
}

void Accumulate(Stream& stream, const kernels::StripesView& stripes, Pointer<const float> gradient,
                Pointer<float> residual) {
  if (stripes.count == 0) return;
  Do(stream, "accumulate", [&](cudaStream_t to) {
    return gpu::Accumulate(stripes.stripes.address(), stripes.count, gradient.address(),
                           residual.address(), to);
  });
}

void FindRanks(Stream& stream, const kernels::StripesView& stripes,
               Pointer<kernels::LayerRank> ranks, int64_t layer_count,
               Pointer<const float> gradient, Pointer<const float> residual,
               Pointer<kernels::LayerThreshold> thresholds) {
  if (stripes.count == 0) return;
  DoWithScratch(stream, "find_ranks", RankScratchBytes(layer_count),
                [&](void* scratch, cudaStream_t to) {
                  return gpu::FindRanks(stripes.stripes.address(), stripes.count, ranks.address(),
                                        layer_count, gradient.address(), residual.address(),
                                        thresholds.address(), scratch, to);
                });
}

void FindLargest(Stream& stream, const kernels::StripesView& stripes,
                 Pointer<kernels::LayerLargest> largest, const kernels::SelectFrom& from) {
  if (stripes.count == 0) return;
  Do(stream, "find_largest", [&](cudaStream_t to) {
    return gpu::FindLargest(stripes.stripes.address(), stripes.count, largest.address(),
                            RawOf(from), to);
  });
}

void SumBuckets(Stream& stream, const kernels::StripesView& stripes,
                Pointer<const kernels::LayerBuckets> layers, const kernels::SelectFrom& from,
                Pointer<kernels::BucketSums> sums) {
  if (stripes.count == 0) return;
  Do(stream, "sum_buckets", [&](cudaStream_t to) {
    return gpu::SumBuckets(stripes.stripes.address(), stripes.count, layers.address(), RawOf(from),
                           sums.address(), to);
  });
}

void GatherMagnitudes(Stream& stream, Pointer<const uint32_t> places, int64_t count,
                      Pointer<const float> gradient, Pointer<const float> residual,
                      Pointer<float> magnitudes) {
  if (count == 0) return;
  Do(stream, "gather_magnitudes", [&](cudaStream_t to) {
    return gpu::GatherMagnitudes(places.address(), count, gradient.address(), residual.address(),
                                 magnitudes.address(), to);
  });
}

void TakeValues(Stream& stream, Pointer<const uint32_t> places, int64_t count, bool rounds_to_bf16,
                Pointer<float> residual, Pointer<float> values) {
  if (count == 0) return;
  Do(stream, "take_values", [&](cudaStream_t to) {
    return gpu::TakeValues(places.address(), count, rounds_to_bf16, residual.address(),
                           values.address(), to);
  });
}

}  // namespace weir::gpu::entries
