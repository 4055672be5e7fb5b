#include "common/compress/saved_state.h"

#include <cstring>

#include "common/base/strings.h"
#include "common/compress/residual.h"

namespace weir::compress {

namespace {

// Calls visit(values) for a state's residual in order, wherever it is.
template <typename Visit, typename Float>
void ForEachPart(Residual* residual, std::span<Float> elsewhere, const Visit& visit) {
  if (!elsewhere.empty()) visit(elsewhere);
  if (residual == nullptr) return;
  residual->ForEachStripe([&](int64_t, std::span<float> values) { visit(values); });
}

}  // namespace

void SaveState(const Policy& policy, PolicyState& state, std::span<const float> residual_elsewhere,
               Bytes* out) {
  const size_t begin = out->size();
  ByteWriter writer(*out);
  Residual* const residual = policy.residual(state);
  const int64_t count = residual == nullptr ? 0 : residual->element_count();
  writer.Put(count + std::ssize(residual_elsewhere));
  ForEachPart(residual, residual_elsewhere, [&](std::span<const float> values) {
    writer.PutRaw(values.data(), values.size_bytes());
  });
  state.Save(&writer);
  if (residual == nullptr && writer.size() == begin + sizeof(int64_t)) out->resize(begin);
}

bool HasResidual(ByteSpan saved) {
  ByteReader reader(saved);
  const auto count = reader.Get<int64_t>();
  for (int64_t i = 0; i < count && reader.ok(); ++i) {
    if (reader.Get<float>() != 0) return true;
  }
  return false;
}

Status LoadState(const Policy& policy, ByteSpan saved, bool of_same_rule,
                 std::span<float> residual_elsewhere, PolicyState* state) {
  ByteReader reader(saved);
  Residual* const residual = policy.residual(*state);
  const bool had_nothing = residual == nullptr && saved.empty();
  const auto count = had_nothing ? int64_t{0} : reader.Get<int64_t>();
  if (residual != nullptr && count != 0) {
    const int64_t wanted = residual->element_count() + std::ssize(residual_elsewhere);
    if (count != wanted) {
      return InvalidData(StrCat("a residual of ", count, " elements, where there are ", wanted));
    }
    ForEachPart(residual, residual_elsewhere, [&](std::span<float> values) {
      const ByteSpan bytes = reader.GetSpan(values.size_bytes());
      if (reader.ok()) std::memcpy(values.data(), bytes.data(), bytes.size());
    });
  }
  if (!reader.ok()) return InvalidData("a residual that is cut short");
  if (!of_same_rule) return OkStatus();
  if (state->Load(&reader) && reader.remaining() == 0) return OkStatus();
  return InvalidData(StrCat("what is no state of the policy ", policy.name()));
}

}  // namespace weir::compress
