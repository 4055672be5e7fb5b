// The blocks of AMX with registers that are played by memory, which hold every instruction to the
// manual's rules for shapes; and by AMX itself, where there is some.
#include "common/kernels/amx_blocks.h"

#include <gtest/gtest.h>

#include <cstring>

#include "tests/common/kernels/bf16_product_support.h"

namespace weir::kernels::cpu {
namespace {

using test::ExpectBf16Products;

struct Register {
  int64_t rows = 0, columns = 0;
  float values[kAmxRows][kAmxRows] = {};
};

struct PlayedAmx {
  static inline std::array<Register, 8> registers;
  static inline bool is_in_use = false;

  static void Shape(const AmxSizes& rows, const AmxSizes& columns) {
    is_in_use = true;
    for (size_t t = 0; t < registers.size(); ++t) {
      CHECK_LE(rows[t], kAmxRows);
      CHECK_LE(columns[t], kAmxRows);
      registers[t] = {};
      if (rows[t] == 0) continue;
      CHECK_GT(columns[t], 0);
      registers[t].rows = rows[t];
      registers[t].columns = columns[t];
    }
  }
  static Register& InUse(size_t t) {
    CHECK(is_in_use);
    CHECK_GT(registers[t].rows, 0) << t;
    return registers[t];
  }
  template <int t>
  static void Zero() {
    std::memset(InUse(t).values, 0, sizeof(Register::values));
  }
  template <int t>
  static void Load(const float* from, int64_t stride) {
    Register& to = InUse(t);
    for (int64_t r = 0; r < to.rows; ++r) Copy(from + r * stride, to.columns, to.values[r]);
  }
  template <int t>
  static void Store(float* to, int64_t stride) {
    const Register& from = InUse(t);
    for (int64_t r = 0; r < from.rows; ++r) Copy(from.values[r], from.columns, to + r * stride);
  }
  template <int c, int x, int y>
  static void Dot() {
    Register& sums = InUse(c);
    const Register &left = InUse(x), &right = InUse(y);
    CHECK_EQ(sums.rows, left.rows);
    CHECK_EQ(sums.columns, right.columns);
    CHECK_EQ(left.columns, right.rows);
    for (int64_t j = 0; j < sums.rows; ++j) {
      for (int64_t i = 0; i < sums.columns; ++i) {
        float low = 0, high = 0;
        for (int64_t p = 0; p < left.columns; ++p) {
          low += test::Low(left.values[j][p]) * test::Low(right.values[p][i]);
          high += test::High(left.values[j][p]) * test::High(right.values[p][i]);
        }
        sums.values[j][i] += low + high;
      }
    }
  }
  static void Release() { is_in_use = false; }

 private:
  static void Copy(const float* from, int64_t count, float* to) {
    std::memcpy(to, from, static_cast<size_t>(count) * sizeof(float));
  }
};

// What AMX does not take is not what is tested here.
template <typename Multiply>
void ExpectAmxProducts(const Multiply& multiply) {
  ExpectBf16Products([&](const Bf16Product& product) {
    const bool is_for_amx = product.pair_stride == 1 && product.pairs > 0;
    is_for_amx ? multiply(product) : MultiplyBf16Emulated(product);
  });
}

TEST(AmxBlocks, AreTheDefinition) {
  ExpectAmxProducts(AmxMultiply<PlayedAmx>);
  EXPECT_FALSE(PlayedAmx::is_in_use) << "registers that are not released are saved for ever";
}

TEST(AmxBlocks, ByTheProcessorAreTheDefinition) {
  if (!HasAmx()) GTEST_SKIP() << "this processor has no AMX, or the system keeps it";
  ExpectAmxProducts(MultiplyBf16ByAmx);
}

TEST(AmxBlocksDeathTest, PairsThatLieApartAreOurOwnMistake) {
  test::Bf16Case test(16, 16, 16, false, 0);
  EXPECT_DEATH(AmxMultiply<PlayedAmx>(test.product), "pair_stride");
}

}  // namespace
}  // namespace weir::kernels::cpu
