// A product as cuBLASLt is told of it: which factor comes first, how each lies, by which epilogue
// it ends.
//
// Place in the life of a batch: the products of linear layers on a card, before they are enqueued.
// Thread rule: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpu/device/product.h"
#include "gpu/device/product_plan.h"

namespace weir::gpu {

// The factors as the library takes them.
struct Operands {
  const Factor& a;
  const Factor& b;
};
Operands OperandsOf(const Product& product);

// Where factors lie that were rounded to bfloat16, one after the other, in memory that is aligned
// for anything.
struct Rounded {
  explicit Rounded(const Operands& operands);

  size_t b_offset() const;
  size_t byte_count() const;

  RawMatrix<uint16_t> a, b;
};

// Of kBf16 as its factors lie once they are rounded.
PlanKey KeyOf(Factors factors, const Product& product, const PlanEpilogue& epilogue);

// The library sums what it multiplies, where that lies turned; and writes what it sums.
bool SumsOnTheWay(const Product& product);
// The default where the library has none for the product, or could not read its signs.
PlanEpilogue EpilogueOf(const Product& product);
// What that reads or writes; null: nothing.
const void* VectorOf(const Product& product);

}  // namespace weir::gpu
