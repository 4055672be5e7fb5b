#include "common/compress/saved_state.h"

#include <cstring>

#include "common/base/strings.h"
#include "common/compress/residual.h"

namespace weir::compress {

void SaveState(const Policy& policy, PolicyState& state, Bytes* out) {
  const size_t begin = out->size();
  ByteWriter writer(*out);
  Residual* const residual = policy.residual(state);
  writer.Put(residual == nullptr ? int64_t{0} : residual->element_count());
  if (residual != nullptr) {
    residual->ForEachStripe([&](int64_t, std::span<const float> values) {
      writer.PutRaw(values.data(), values.size_bytes());
    });
  }
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

Status LoadState(const Policy& policy, ByteSpan saved, bool of_same_rule, PolicyState* state) {
  ByteReader reader(saved);
  Residual* const residual = policy.residual(*state);
  const bool had_nothing = residual == nullptr && saved.empty();
  const auto count = had_nothing ? int64_t{0} : reader.Get<int64_t>();
  if (residual != nullptr && count != 0) {
    if (count != residual->element_count()) {
      return InvalidData(StrCat("a residual of ", count, " elements, where there are ",
                                residual->element_count()));
    }
    residual->ForEachStripe([&](int64_t, std::span<float> values) {
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
