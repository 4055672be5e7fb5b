// What a device with memory of its own computes for a run without servers: reading rows of tables
// that it keeps, and update rules. The CPU has no such table: there the store does it
// (common/store).
//
// Place in the life of a batch: **read rows** ... forward, backward ... **apply**.
// Thread rule: as kernel_table.h. Steps are applied one after the other; they may be read
// meanwhile. C++17-clean, so that a CUDA compiler can include it.
#pragma once

#include <cstdint>

#include "common/device/pointer.h"
#include "common/kernels/rest.h"
#include "common/kernels/update_steps.h"
#include "common/kernels/views.h"

namespace weir::device {
class Stream;
}  // namespace weir::device

namespace weir::kernels {

// Rows of all tables, one after the other, by their numbers.
struct StoredRows {
  device::Pointer<float> values;  // [rows, dimension]
  // [rows, state_width]: first moments, second ones, or one for the row; null: none.
  device::Pointer<float> state;
  device::Pointer<uint8_t> is_trained;  // [rows]: 1 once a row got a gradient
  int64_t dimension = 0;
  int64_t state_width = 0;
};

// Which rows: their numbers, each once.
struct RowNumbers {
  device::Pointer<const uint32_t> numbers;
  int64_t count = 0;
};

struct UpdateTable {
  // Rows [begin, begin + count) get the initial values of ids 0 .. count - 1 of a table
  // (InitialRowValues, common/layout/initial_values.h): uniform in +-bound, drawn by the id's key,
  // the hash of key and id. All of their state is `state`.
  void (*initialize_rows)(device::Stream&, const StoredRows& rows, int64_t begin, int64_t count,
                          uint64_t key, double bound, float state);

  // to[i] = the values of row numbers[i].
  void (*read_rows)(device::Stream&, const StoredRows& rows, const RowNumbers& numbers,
                    device::Pointer<float> to);

  // Row numbers[i] does what rests[i] has, by the rule of `step`.
  void (*rest_rows)(device::Stream&, const UpdateStep& step, const StoredRows& rows,
                    const RowNumbers& numbers, device::Pointer<const Rest> rests);
  // to[i] = the values of row numbers[i] after that; the row stays as it is.
  void (*read_rested_rows)(device::Stream&, const UpdateStep& step, const StoredRows& rows,
                           const RowNumbers& numbers, device::Pointer<const Rest> rests,
                           device::Pointer<float> to);

  // Row numbers[i] takes a step of gradients [i, :].
  void (*update_rows)(device::Stream&, const UpdateStep& step, const StoredRows& rows,
                      const RowNumbers& numbers, device::Pointer<const float> gradients);

  // Element i of values takes a step of gradients[i]. moments: of all elements the first, then of
  // all the second ones; null: none.
  void (*update_dense)(device::Stream&, const UpdateStep& step, const ConstDeviceVector& gradients,
                       const DeviceVector& values, device::Pointer<float> moments);

  // to[to_numbers[i], :] = from[numbers[i], :], of `width` floats; as many of either.
  void (*copy_rows)(device::Stream&, device::Pointer<const float> from, const RowNumbers& numbers,
                    int64_t width, const RowNumbers& to_numbers, device::Pointer<float> to);

  // to[numbers[i], :] = from[i, :], of `width` floats; nothing where a number is UINT32_MAX.
  void (*write_rows)(device::Stream&, device::Pointer<const float> from, const RowNumbers& numbers,
                     int64_t width, device::Pointer<float> to);
};

}  // namespace weir::kernels
