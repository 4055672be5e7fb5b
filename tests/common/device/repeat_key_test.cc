#include "common/device/repeat_key.h"

#include <gtest/gtest.h>

#include <set>

#include "common/device/cpu_device.h"

namespace weir::device {
namespace {

TEST(RepeatKey, IsTheSameForTheSameAndAnotherForWhateverIsElse) {
  Device& cpu = CpuDevice();
  const Buffer<float> a(cpu, 4, "a test"), b(cpu, 4, "a test");
  const Mirror<float> mirror(cpu, 4, "a test");
  const auto key = [](Repeated what, Pointer<float> data, Span<float> span, int64_t count,
                      float limit, bool has_rows) {
    return RepeatKey(what, data, span, count, limit, has_rows);
  };
  const std::set<uint64_t> keys = {
      key(Repeated::kSlice, a.data(), b.span(), 3, 0.5f, true),
      key(Repeated::kClipping, a.data(), b.span(), 3, 0.5f, true),
      key(Repeated::kSlice, b.data(), b.span(), 3, 0.5f, true),
      key(Repeated::kSlice, nullptr, b.span(), 3, 0.5f, true),
      key(Repeated::kSlice, a.data(), a.span(), 3, 0.5f, true),
      key(Repeated::kSlice, a.data(), b.span().first(3), 3, 0.5f, true),
      key(Repeated::kSlice, a.data(), b.span(), 4, 0.5f, true),
      key(Repeated::kSlice, a.data(), b.span(), 3, 0.25f, true),
      key(Repeated::kSlice, a.data(), b.span(), 3, 0.5f, false),
      RepeatKey(Repeated::kSlice, b.span(), a.data(), 3, 0.5f, true),
      RepeatKey(Repeated::kSlice, mirror),
      RepeatKey(Repeated::kSlice),
  };
  EXPECT_EQ(keys.size(), 12u);
  EXPECT_TRUE(keys.contains(key(Repeated::kSlice, a.data(), b.span(), 3, 0.5f, true)));
}

}  // namespace
}  // namespace weir::device
