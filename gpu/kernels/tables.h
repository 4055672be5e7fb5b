// Embedding rows to vectors and back, of all tables at a time; contracts are in
// common/kernels/kernel_table.h. There is a table and a sample.
#pragma once

#include "common/kernels/table_views.h"
#include "gpu/kernels/raw_views.h"

namespace weir::gpu {

// kernels::TablesView, its addresses taken out.
struct RawTables {
  const kernels::TableView* tables;  // on the card
  int64_t table_count, first_sample;
};

cudaError_t PoolTables(const RawMatrix<const float>& rows, const RawTables& tables,
                       const RawMatrix<float>& vectors, cudaStream_t stream);
// row_squares: null where nobody needs them.
cudaError_t ScatterTables(const RawMatrix<const float>& vector_gradients, const RawTables& tables,
                          const RawMatrix<float>& row_gradients, float* row_squares,
                          cudaStream_t stream);

}  // namespace weir::gpu
