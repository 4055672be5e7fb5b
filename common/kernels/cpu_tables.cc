// All tables of a batch, one after the other: what the row functions give by samples is turned to
// features by samples, and back.
#include "common/base/check.h"
#include "common/device/cpu_device.h"
#include "common/kernels/cpu_functions.h"
#include "common/kernels/scratch.h"

namespace weir::kernels::cpu {
namespace {

IndexView PositionsOf(const TableView& table, int64_t first_sample, int64_t sample_count) {
  return {device::OnHost(table.positions) + first_sample, sample_count};
}

ListsView ListsOf(const TableView& table, int64_t first_sample, int64_t sample_count) {
  const uint32_t* const ends = device::OnHost(table.ends);
  return {.indexes = device::OnHost(table.positions),
          .weights = device::OnHost(table.weights),
          .ends = ends + first_sample,
          .begin = first_sample == 0 ? 0 : ends[first_sample - 1],
          .count = sample_count};
}

// The rows of one table among those of all.
template <typename Matrix>
Matrix RowsOf(const TableView& table, Matrix rows) {
  rows.data = rows.row(table.first_row);
  rows.row_count = table.row_count;
  return rows;
}

// The vectors of one table among those of all, [dimension, samples].
template <typename Matrix>
Matrix VectorsOf(int64_t table, int64_t dimension, Matrix vectors) {
  vectors.data = vectors.row(table * dimension);
  vectors.row_count = dimension;
  return vectors;
}

void AddSquaresOf(const TableView& table, int64_t first_sample, const ConstMatrixView& gradients,
                  const VectorView& row_squares) {
  const VectorView squares{row_squares.data + table.first_row, table.row_count};
  const int64_t count = gradients.row_count;
  if (table.ends == nullptr) {
    ScatterAddSquares(gradients, PositionsOf(table, first_sample, count), squares);
  } else {
    ScatterAddListSquares(gradients, ListsOf(table, first_sample, count), squares);
  }
}

}  // namespace

void PoolTables(const ConstMatrixView& rows, const TablesView& tables, const MatrixView& vectors) {
  const int64_t dimension = rows.column_count, samples = vectors.column_count;
  CHECK_EQ(vectors.row_count, tables.table_count * dimension);
  const MatrixView by_samples =
      Dense(Scratch<Use::kVectors>(static_cast<size_t>(samples * dimension)), samples, dimension);
  for (int64_t t = 0; t < tables.table_count; ++t) {
    const TableView& table = device::OnHost(tables.tables)[t];
    if (table.ends == nullptr) {
      GatherRows(RowsOf(table, rows), PositionsOf(table, tables.first_sample, samples), by_samples);
    } else {
      PoolRows(RowsOf(table, rows), ListsOf(table, tables.first_sample, samples), by_samples);
    }
    Transpose(by_samples, VectorsOf(t, dimension, vectors));
  }
}

void ScatterTables(const ConstMatrixView& vector_gradients, const TablesView& tables,
                   const MatrixView& row_gradients, const VectorView& row_squares) {
  const int64_t dimension = row_gradients.column_count, samples = vector_gradients.column_count;
  CHECK_EQ(vector_gradients.row_count, tables.table_count * dimension);
  const MatrixView by_samples =
      Dense(Scratch<Use::kVectors>(static_cast<size_t>(samples * dimension)), samples, dimension);
  for (int64_t t = 0; t < tables.table_count; ++t) {
    const TableView& table = device::OnHost(tables.tables)[t];
    Transpose(VectorsOf(t, dimension, vector_gradients), by_samples);
    const MatrixView to = RowsOf(table, row_gradients);
    if (table.ends == nullptr) {
      ScatterAddRows(by_samples, PositionsOf(table, tables.first_sample, samples), to);
    } else {
      ScatterAddLists(by_samples, ListsOf(table, tables.first_sample, samples), to);
    }
    if (row_squares.data != nullptr) {
      AddSquaresOf(table, tables.first_sample, by_samples, row_squares);
    }
  }
}

}  // namespace weir::kernels::cpu
