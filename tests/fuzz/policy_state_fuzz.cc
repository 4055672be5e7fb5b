// What every policy, and a table of row residuals, makes of a saved state, behind the checksum that
// would stop nearly every damaged input. The first byte chooses the policy and whether the state is
// said to be of the same rule; the rest is the state.
#include <memory>
#include <string>

#include "common/base/check.h"
#include "common/compress/row_residual.h"
#include "common/compress/saved_state.h"
#include "tests/common/compress/policy_support.h"
#include "tests/fuzz/target.h"

namespace weir::fuzz {
namespace {

using compress::Policy;
using compress::PolicyState;
using compress::RowResidual;

constexpr int64_t kElements = 40;
constexpr size_t kDimension = 2;
constexpr int kSteps = 3;

std::unique_ptr<const Policy> MakePolicy(size_t index) {
  return compress::MakePolicy(compress::RuleNamed(compress::PolicyForms()[index]));
}

size_t PolicyCount() { return compress::PolicyForms().size(); }

compress::Scope MakeScope() { return compress::MakeScope(kElements); }

void TakeSteps(const Policy& policy, PolicyState& state) {
  const std::vector<float> gradient(kElements, 0.25f);
  const auto selection = std::make_unique<compress::StripeSelection>();
  for (int i = 0; i < kSteps; ++i) {
    compress::AddSquaresOfLike(policy, state, gradient, 1);
    const compress::StepPlan plan = policy.BeginStep(state, gradient);
    CHECK(policy.SelectStripe(state, plan, 0, gradient, true, selection.get()));
    CHECK_LE(selection->count, uint32_t{kElements});
    policy.EndStep(state, plan, selection->count);
  }
}

RowResidual MakeTable() {
  return {{.threshold = 1, .alpha = 2, .decay = 0.9f, .max_age = 5, .max_rows = 6},
          kDimension,
          wire::ValueCoding::kBf16};
}

void TakeRows(RowResidual& table) {
  const std::vector<uint64_t> ids = {0, 1, 2, 3, 900, 1u << 30};
  const std::vector<float> values(ids.size() * kDimension, 0.3f), squares(ids.size(), 0.2f);
  compress::SentRows sent;
  for (int i = 0; i < kSteps; ++i) table.Take({ids, values, squares}, &sent);
}

void ReadInput(const uint8_t* data, size_t size) {
  if (size < 1) return;
  const size_t index = data[0] % (PolicyCount() + 1);
  const ByteSpan saved(data + 1, size - 1);
  if (index == PolicyCount()) {
    RowResidual table = MakeTable();
    ByteReader reader(saved);
    if (table.Load(&reader).ok()) TakeRows(table);
    return;
  }
  const auto policy = MakePolicy(index);
  const auto state = policy->MakeState(MakeScope());
  const bool of_same_rule = data[0] < 128;
  if (LoadState(*policy, saved, of_same_rule, state.get()).ok()) TakeSteps(*policy, *state);
}

std::string Seed(size_t index, const Bytes& saved) {
  return std::string(1, static_cast<char>(index)).append(saved.begin(), saved.end());
}

}  // namespace

std::vector<std::string> FuzzSeeds() {
  std::vector<std::string> seeds;
  for (size_t i = 0; i < PolicyCount(); ++i) {
    const auto policy = MakePolicy(i);
    const auto state = policy->MakeState(MakeScope());
    TakeSteps(*policy, *state);
    Bytes saved;
    SaveState(*policy, *state, &saved);
    seeds.push_back(Seed(i, saved));
  }
  RowResidual table = MakeTable();
  TakeRows(table);
  Bytes saved;
  ByteWriter writer(saved);
  table.Save(&writer);
  seeds.push_back(Seed(PolicyCount(), saved));
  return seeds;
}

}  // namespace weir::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  weir::fuzz::ReadInput(data, size);
  return 0;
}
