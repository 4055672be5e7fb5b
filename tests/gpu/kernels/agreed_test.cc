// What trainers have agreed on leaves a card's residual as it leaves the host's.
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "tests/common/compress/policy_support.h"
#include "tests/gpu/kernels/operations.h"
#include "tests/gpu/kernels/select_support.h"

namespace weir::gpu {
namespace {

using test::Bench;
using test::kAround;

// A layer's residual in the midst of others, and which of its elements leave.
struct AgreedLayer {
  AgreedLayer(size_t size, uint32_t one_of, uint64_t seed)
      : residual(test::DrawFlat(size + 2 * kAround, seed)) {
    RandomStream random(seed + 100);
    for (uint32_t i = 0; i < size; ++i) {
      float& value = residual[kAround + i];
      if (i % 11 == 3) value = 0;
      if (i % 13 == 4) value = std::ldexp(value, -140);
      if (i % 17 == 5) value = std::numeric_limits<float>::infinity();
      if (i % 19 == 6) value = std::nanf("");
      if (i % 23 == 7) value = std::numeric_limits<float>::max();
      value += 0.0f;  // no residual is -0
      if (random.NextBelow(one_of) == 0) agreed.push_back(i);
    }
  }
  std::vector<uint32_t> Places() const {
    std::vector<uint32_t> places;
    for (const uint32_t index : agreed) places.push_back(static_cast<uint32_t>(kAround) + index);
    return places;
  }
  std::vector<float> residual;
  std::vector<uint32_t> agreed;
};

struct TakenFromLayer {
  std::vector<float> values, residual;
};

// By the host's policy, whose residual has the layer's once it has taken that in.
TakenFromLayer TakenOnTheHost(const AgreedLayer& layer, wire::ValueCoding values) {
  v1::PolicyRule rule;
  rule.mutable_clt_k()->set_sparsity(0.5);
  const auto policy = compress::MakePolicy(rule);
  const size_t size = layer.residual.size() - 2 * kAround;
  const compress::Scope scope = {.element_count = static_cast<int64_t>(size), .values = values};
  const auto state = policy->MakeState(scope);
  compress::StepPlan plan =
      policy->BeginStep(*state, std::span(layer.residual).subspan(kAround, size));
  plan.agreed = layer.agreed;
  TakenFromLayer taken = {.values = {}, .residual = layer.residual};
  const auto selection = std::make_unique<compress::StripeSelection>();
  for (uint32_t stripe = 0; stripe < scope.stripe_count(); ++stripe) {
    CHECK(policy->SelectStripe(*state, plan, stripe, {}, true, selection.get()));
    const auto* const begin = selection->values.begin();
    taken.values.insert(taken.values.end(), begin, begin + selection->count);
  }
  policy->residual(*state)->ForEachStripe([&](int64_t first, std::span<float> kept) {
    std::ranges::copy(kept, taken.residual.begin() + static_cast<ptrdiff_t>(kAround) + first);
  });
  return taken;
}

TakenFromLayer TakenOnTheCard(const Bench& bench, const AgreedLayer& layer, bool rounds) {
  const auto residual = bench.Put(layer.residual);
  const auto places = bench.Put(layer.Places());
  const auto values = bench.Put(std::vector<float>(layer.agreed.size() + 1, test::kOutside));
  bench.compute.select->take_values(bench.stream, places.data(), std::ssize(layer.agreed), rounds,
                                    residual.data(), values.data());
  TakenFromLayer taken = {bench.Get<float>(values.span()), bench.Get<float>(residual.span())};
  EXPECT_EQ(taken.values.back(), test::kOutside) << "behind them";
  taken.values.pop_back();
  return taken;
}

void ExpectSameFloats(const std::vector<float>& got, const std::vector<float>& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) {
    if (std::isnan(expected[i])) {
      ASSERT_TRUE(std::isnan(got[i])) << i;
    } else {
      ASSERT_EQ(got[i], expected[i]) << i;
      ASSERT_EQ(std::signbit(got[i]), std::signbit(expected[i])) << i;
    }
  }
}

TEST(AgreedOnACard, LeavesAndStaysAsOnTheHost) {
  for (const size_t size : {0u, 1u, 31u, 257u, 4096u, 9001u}) {
    for (const uint32_t one_of : {1u, 3u, 100u}) {
      SCOPED_TRACE(testing::Message() << "one of " << one_of << " of " << size);
      const AgreedLayer layer(size, one_of, size + one_of);
      for (const bool rounds : {false, true}) {
        const TakenFromLayer expected =
            TakenOnTheHost(layer, rounds ? wire::ValueCoding::kBf16 : wire::ValueCoding::kF32);
        test::OnCard([&](const Bench& bench) {
          const TakenFromLayer taken = TakenOnTheCard(bench, layer, rounds);
          ExpectSameFloats(taken.values, expected.values);
          ExpectSameFloats(taken.residual, expected.residual);
        });
      }
    }
  }
}

}  // namespace
}  // namespace weir::gpu
