#include "tools/bench/peers/gemm_libraries.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace weir::bench {
namespace {

// Row-major, as the libraries have them, by plain sums: y = x w'.
std::vector<float> PlainForward(const GemmLayer& o) {
  std::vector<float> y;
  for (int64_t sample = 0; sample < o.batch; ++sample) {
    for (int64_t output = 0; output < o.outputs; ++output) {
      double sum = 0;
      for (int64_t input = 0; input < o.inputs; ++input) {
        sum += double{o.x[static_cast<size_t>(sample * o.inputs + input)]} *
               o.w[static_cast<size_t>(output * o.inputs + input)];
      }
      y.push_back(static_cast<float>(sum));
    }
  }
  return y;
}

TEST(GemmLibraries, GiveThePlainProductsOrSayThatTheyAreNotInstalled) {
  for (const GemmLibrary& library : GemmLibraries()) {
    if (library.run == nullptr) {
      EXPECT_THAT(library.peer, testing::HasSubstr("not installed")) << library.name;
      continue;
    }
    GemmLayer layer({.inputs = 5, .outputs = 4}, 3);
    const std::vector<float> expected = PlainForward(layer);
    library.run(&layer);
    const auto found = layer.y.span().first(expected.size());
    EXPECT_THAT(found, testing::Pointwise(testing::FloatNear(1e-5f), expected)) << library.peer;
  }
}

TEST(GemmLibraries, NameThemselvesWithTheirVersion) {
  for (const GemmLibrary& library : GemmLibraries()) {
    const bool has_version =
        std::ranges::any_of(library.peer, [](char c) { return c >= '0' && c <= '9'; });
    EXPECT_EQ(has_version, library.run != nullptr) << library.peer;
  }
}

TEST(OneDnnBf16Products, RunWhereOneDnnHasThemAndSayWhyNotElsewhere) {
  std::vector<GemmLayer> layers;
  layers.emplace_back(GemmShape{.inputs = 32, .outputs = 16}, 8);
  const Bf16Products products = OneDnnBf16Products(layers);
  EXPECT_THAT(products.peer, testing::StartsWith("oneDNN"));
  if (products.run) products.run();
}

}  // namespace
}  // namespace weir::bench
