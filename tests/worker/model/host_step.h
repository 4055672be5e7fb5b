// Steps and evaluations of a model on the CPU, from the host's memory.
#pragma once

#include <cstdint>
#include <span>

#include "common/base/check.h"
#include "common/device/cpu_device.h"
#include "worker/data/batch.h"
#include "worker/model/dlrm.h"

namespace weir::test {

struct HostGradients {
  float* dense;
  std::span<float> rows;
  std::span<float> row_squares;
};

inline Result<double> Train(model::Dlrm* model, const float* parameters, const data::Batch& batch,
                            std::span<const float> rows, int64_t mean_rows,
                            const HostGradients& gradients) {
  return model->Train(device::CpuStream(), device::OnCpu(parameters), batch, device::OnCpu(rows),
                      mean_rows,
                      {device::OnCpu(gradients.dense), device::OnCpu(gradients.rows),
                       device::OnCpu(gradients.row_squares)});
}
inline void Score(model::Dlrm* model, const float* parameters, const data::Batch& batch,
                  std::span<const float> rows, std::span<float> probabilities,
                  model::Dlrm::Crossing crossing = model::Dlrm::Crossing::kAsTrained) {
  const Status scored = model->Score(device::CpuStream(), device::OnCpu(parameters), batch,
                                     device::OnCpu(rows), probabilities, crossing);
  CHECK(scored.ok()) << scored;
}

}  // namespace weir::test
