// The entries of a card's tables beside that of the network (entries.h): for policies, splits and
// update rules (common/kernels/select_table.h, split_table.h, update_table.h).
//
// Thread rule: as entries.h.
#pragma once

#include "common/kernels/select_table.h"
#include "common/kernels/split_table.h"
#include "common/kernels/update_table.h"
#include "gpu/device/entries.h"

namespace weir::gpu::entries {

void AccumulateAndSelect(Stream& stream, const kernels::StripesView& stripes,
                         Pointer<const kernels::LayerPlan> plans, const kernels::SelectFrom& from,
                         const kernels::SelectedView& selected);
void CorrectThresholds(Stream& stream, Pointer<const kernels::LayerPlan> plans, int64_t layer_count,
                       Pointer<const uint32_t> ends, Pointer<kernels::LayerThreshold> thresholds);
void Accumulate(Stream& stream, const kernels::StripesView& stripes, Pointer<const float> gradient,
                Pointer<float> residual);
void FindRanks(Stream& stream, const kernels::StripesView& stripes,
               Pointer<kernels::LayerRank> ranks, int64_t layer_count,
               Pointer<const float> gradient, Pointer<const float> residual,
               Pointer<kernels::LayerThreshold> thresholds);
void FindLargest(Stream& stream, const kernels::StripesView& stripes,
                 Pointer<kernels::LayerLargest> largest, const kernels::SelectFrom& from);
void SumBuckets(Stream& stream, const kernels::StripesView& stripes,
                Pointer<const kernels::LayerBuckets> layers, const kernels::SelectFrom& from,
                Pointer<kernels::BucketSums> sums);
void GatherMagnitudes(Stream& stream, Pointer<const uint32_t> places, int64_t count,
                      Pointer<const float> gradient, Pointer<const float> residual,
                      Pointer<float> magnitudes);
void TakeValues(Stream& stream, Pointer<const uint32_t> places, int64_t count, bool rounds_to_bf16,
                Pointer<float> residual, Pointer<float> values);

void ChooseLargest(Stream& stream, const ConstDeviceMatrix& block, int64_t keep,
                   int64_t part_samples, const kernels::ChosenView& chosen);
void GatherValues(Stream& stream, Pointer<const float> from, Pointer<const uint32_t> indexes,
                  const DeviceVector& to);
void InitializeRows(Stream& stream, const kernels::StoredRows& rows, int64_t begin, int64_t count,
                    uint64_t key, double bound, float state);
void ReadRows(Stream& stream, const kernels::StoredRows& rows, const kernels::RowNumbers& numbers,
              Pointer<float> to);
void RestRows(Stream& stream, const kernels::UpdateStep& step, const kernels::StoredRows& rows,
              const kernels::RowNumbers& numbers, Pointer<const kernels::Rest> rests);
void ReadRestedRows(Stream& stream, const kernels::UpdateStep& step,
                    const kernels::StoredRows& rows, const kernels::RowNumbers& numbers,
                    Pointer<const kernels::Rest> rests, Pointer<float> to);
void UpdateRows(Stream& stream, const kernels::UpdateStep& step, const kernels::StoredRows& rows,
                const kernels::RowNumbers& numbers, Pointer<const float> gradients);
void UpdateDense(Stream& stream, const kernels::UpdateStep& step,
                 const ConstDeviceVector& gradients, const DeviceVector& values,
                 Pointer<float> moments);
void CopyRows(Stream& stream, Pointer<const float> from, const kernels::RowNumbers& numbers,
              int64_t width, const kernels::RowNumbers& to_numbers, Pointer<float> to);
void WriteRows(Stream& stream, Pointer<const float> from, const kernels::RowNumbers& numbers,
               int64_t width, Pointer<float> to);

}  // namespace weir::gpu::entries
