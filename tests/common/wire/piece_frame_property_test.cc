// Piece frames of random selections against a plain reader that follows FORMAT.md bit by bit, and
// against the sizes that the page promises.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "common/wire/piece_frame.h"
#include "tests/common/wire/frame_bytes.h"

namespace weir::wire {
namespace {

using Indexes = std::vector<uint16_t>;
using Elements = std::map<uint64_t, float>;  // by number in the piece

struct Selected {
  uint32_t stripe;
  uint32_t stripe_elements;
  Indexes indexes;
  std::vector<float> values;
};

// Reads bits, varints and values one after the other, without any check.
class PlainReader {
 public:
  explicit PlainReader(ByteSpan bytes) : bytes_(bytes) {}

  bool done() const { return bit_ == 8 * bytes_.size(); }
  uint64_t Bits(uint32_t count) {
    uint64_t value = 0;
    for (uint32_t i = 0; i < count; ++i, ++bit_) {
      value |= uint64_t{bytes_[bit_ / 8]} >> bit_ % 8 % 64 & 1 ? uint64_t{1} << i : 0;
    }
    return value;
  }
  uint64_t Varint() {
    const uint64_t byte = Bits(8);
    return byte < 128 ? byte : byte - 128 + 128 * Varint();
  }
  uint64_t Rice(uint32_t parameter) {
    uint64_t quotient = 0;
    while (Bits(1) == 0) ++quotient;
    return (quotient << parameter) + Bits(parameter);
  }
  float Value(ValueFormat format) {
    if (format.coding == ValueCoding::kSign) {
      return Bits(1) == 1 ? -format.magnitude : format.magnitude;
    }
    const auto bits =
        static_cast<uint32_t>(format.coding == ValueCoding::kBf16 ? Bits(16) << 16 : Bits(32));
    float value;
    std::memcpy(&value, &bits, sizeof(value));
    return value;
  }
  void EndByte() {
    while (bit_ % 8 != 0) EXPECT_EQ(Bits(1), 0u) << "padding";
  }

 private:
  ByteSpan bytes_;
  size_t bit_ = 0;
};

uint32_t StripeElements(uint32_t stripe, uint32_t piece_elements) {
  return std::min(kMaxStripeElements, piece_elements - stripe * kMaxStripeElements);
}

Elements PlainDecode(const FrameView& frame, uint32_t piece_elements) {
  Elements elements;
  PlainReader reader(frame.payload);
  ValueFormat format = frame.header.coding;
  if (format.coding == ValueCoding::kSign) format.magnitude = reader.Value(ValueCoding::kF32);
  while (!reader.done()) {
    const uint64_t coding = reader.Bits(2), parameter = reader.Bits(6);
    const auto stripe = static_cast<uint32_t>(reader.Varint());
    const uint32_t stripe_elements = StripeElements(stripe, piece_elements);
    std::vector<float> values(coding == 0 ? stripe_elements : reader.Varint());
    for (float& value : values) value = reader.Value(format);
    reader.EndByte();
    std::vector<uint64_t> offsets;
    for (uint32_t i = 0; i < stripe_elements && coding < 2; ++i) {
      if (coding == 0 || reader.Bits(1) == 1) offsets.push_back(i);
    }
    uint64_t next = 0;
    for (size_t i = 0; i < values.size() && coding == 2; ++i) {
      offsets.push_back(next + reader.Rice(static_cast<uint32_t>(parameter)));
      next = offsets.back() + 1;
    }
    reader.EndByte();
    EXPECT_EQ(offsets.size(), values.size());
    for (size_t i = 0; i < values.size(); ++i) {
      EXPECT_TRUE(
          elements.emplace(uint64_t{stripe} * kMaxStripeElements + offsets[i], values[i]).second);
    }
  }
  return elements;
}

Elements Decode(PieceFrameReader& reader, const FrameView& frame, uint32_t piece_elements) {
  Elements elements;
  const Status status = reader.Read(frame, piece_elements);
  EXPECT_TRUE(status.ok()) << status;
  for (const StripeUpdate& update : reader.stripes()) {
    for (size_t i = 0; i < update.values.size(); ++i) {
      const size_t offset = update.dense ? i : update.indexes[i];
      elements[uint64_t{update.stripe} * kMaxStripeElements + offset] = update.values[i];
    }
  }
  return elements;
}

Bytes Encode(PieceFrameWriter& writer, const std::vector<Selected>& selection, ValueFormat coding) {
  Bytes bytes;
  writer.Open(&bytes, FrameKind::kGradient, 1, 0, coding);
  for (const Selected& s : selection) {
    writer.Append(s.stripe, s.stripe_elements, s.indexes, s.values);
  }
  writer.Finish();
  return bytes;
}

// The bytes of a stripe in a block of its own, by definition.
size_t AloneBytes(const Selected& s, ValueCoding coding) {
  if (s.indexes.empty()) return 0;
  const auto varint = [](uint64_t x) { return x < 128 ? 1u : x < 16384 ? 2u : 3u; };
  const size_t head = 1 + varint(s.stripe), value_bytes = ValueBytes(coding, s.values.size());
  if (s.indexes.size() == s.stripe_elements) return head + value_bytes;
  uint64_t fewest = (s.stripe_elements + 7) / 8 * 8;
  for (uint32_t parameter = 0; parameter <= 16; ++parameter) {
    uint64_t bits = 0, next = 0;
    for (const uint16_t index : s.indexes) {
      bits += ((index - next) >> parameter) + 1 + parameter;
      next = index + 1u;
    }
    fewest = std::min(fewest, bits);
  }
  return head + varint(s.indexes.size()) + value_bytes + (fewest + 7) / 8;
}

void ExpectSound(const std::vector<Selected>& selection, uint32_t piece_elements,
                 ValueCoding coding) {
  static PieceFrameWriter writer;  // kept, as their users keep them
  static PieceFrameReader reader;
  Elements expected;
  size_t alone_bytes = 0;
  for (const Selected& s : selection) {
    alone_bytes += AloneBytes(s, coding);
    for (size_t i = 0; i < s.indexes.size(); ++i) {
      expected[uint64_t{s.stripe} * kMaxStripeElements + s.indexes[i]] = s.values[i];
    }
  }
  const Bytes bytes = Encode(writer, selection, coding);
  ASSERT_EQ(Encode(writer, selection, coding), bytes) << "the same, whatever came before";
  PieceFrameWriter fresh;
  ASSERT_EQ(Encode(fresh, selection, coding), bytes);
  const FrameView frame = OnlyFrame(bytes);
  ASSERT_EQ(frame.header.count, expected.size());
  ASSERT_EQ(PlainDecode(frame, piece_elements), expected);
  ASSERT_EQ(Decode(reader, frame, piece_elements), expected);
  // A block that stripes joined may need three bytes more for its count, and one for its last bits.
  ASSERT_LE(bytes.size(), kFrameHeaderBytes + alone_bytes + 4 * selection.size());
}

std::vector<float> RoundedValues(RandomStream& random, size_t count, ValueCoding coding) {
  std::vector<float> values = RandomValues(random, count);
  for (float& value : values) value = Round(value, coding);
  return values;
}

// A density for all of a piece or another for each stripe; zero for some.
double NextDensity(RandomStream& random) {
  const double choice = random.NextUnit();
  if (choice < 0.1) return 0;
  if (choice < 0.15) return 1;
  return std::pow(10.0, -4 * random.NextUnit());
}

TEST(PieceFrameProperty, RandomSelectionsRoundTripInAnyOrder) {
  RandomStream random(1);
  for (int repeat = 0; repeat < 400; ++repeat) {
    const auto stripe_count = 1 + static_cast<uint32_t>(random.NextBelow(12));
    const auto piece_elements = static_cast<uint32_t>((stripe_count - 1) * kMaxStripeElements + 1 +
                                                      random.NextBelow(kMaxStripeElements));
    const ValueCoding coding = random.NextUnit() < 0.5 ? ValueCoding::kF32 : ValueCoding::kBf16;
    const bool even = random.NextUnit() < 0.5;
    double density = NextDensity(random);
    std::vector<Selected> selection;
    for (uint32_t stripe = 0; stripe < stripe_count; ++stripe) {
      Selected& s = selection.emplace_back();
      s.stripe = stripe;
      s.stripe_elements = StripeElements(stripe, piece_elements);
      s.indexes = RandomIndexes(random, s.stripe_elements, density);
      s.values = RoundedValues(random, s.indexes.size(), coding);
      if (!even) density = NextDensity(random);
    }
    // As threads take stripes: in order, some of them later.
    for (uint64_t swaps = random.NextBelow(4); swaps > 0; --swaps) {
      std::swap(selection[random.NextBelow(stripe_count)],
                selection[random.NextBelow(stripe_count)]);
    }
    ASSERT_NO_FATAL_FAILURE(ExpectSound(selection, piece_elements, coding)) << "case " << repeat;
  }
}

TEST(PieceFrameProperty, EdgesOfStripesAndLongGapsRoundTrip) {
  constexpr uint32_t kStripes = 700, kPiece = kStripes * kMaxStripeElements;
  const auto one = [](uint32_t stripe, Indexes indexes) {
    const std::vector<float> values(indexes.size(), 1.5f);
    return Selected{stripe, kMaxStripeElements, std::move(indexes), values};
  };
  Indexes all_but_first(kMaxStripeElements - 1), all_but_last(kMaxStripeElements - 1);
  std::iota(all_but_first.begin(), all_but_first.end(), uint16_t{1});
  std::iota(all_but_last.begin(), all_but_last.end(), uint16_t{0});
  const std::vector<std::vector<Selected>> cases = {
      {one(0, {0})},
      {one(699, {4095})},
      {one(0, {4095}), one(1, {0})},
      {one(0, {0}), one(1, {0}), one(2, {4095}), one(699, {4095})},
      {one(0, {0}), one(699, {4095})},
      {one(699, {0}), one(0, {0})},
      {one(1, all_but_first), one(2, all_but_last), one(3, {0})},
      {one(1, {7}), one(2, all_but_last), one(4, {9}), one(3, {8})}};
  for (const auto& selection : cases) {
    for (const ValueCoding coding : {ValueCoding::kF32, ValueCoding::kBf16}) {
      ASSERT_NO_FATAL_FAILURE(ExpectSound(selection, kPiece, coding));
    }
  }
}

// Heads included: at 0.1 % a head for each stripe would cost 6 bits an index.
TEST(PieceFrameProperty, IndexesComeWithinThreePercentOfTheEntropyOfRandomPositions) {
  RandomStream random(3);
  for (const double density : {0.1, 0.05, 0.01, 0.001}) {
    constexpr uint32_t kStripes = 1000;
    std::vector<Selected> selection;
    for (uint32_t stripe = 0; stripe < kStripes; ++stripe) {
      Selected& s = selection.emplace_back();
      s.stripe = stripe;
      s.stripe_elements = kMaxStripeElements;
      s.indexes = RandomIndexes(random, kMaxStripeElements, density);
      s.values.resize(s.indexes.size());
    }
    PieceFrameWriter writer;
    const Bytes bytes = Encode(writer, selection, ValueCoding::kBf16);
    const size_t count = OnlyFrame(bytes).header.count;
    const auto bits = static_cast<double>(8 * (bytes.size() - kFrameHeaderBytes - 2 * count));
    const double entropy = -density * std::log2(density) - (1 - density) * std::log2(1 - density);
    const double bound = entropy * kStripes * kMaxStripeElements;
    EXPECT_LT(bits, 1.03 * bound) << "density " << density;
    RecordProperty("percent_of_bound_at_" + std::to_string(density),
                   std::to_string(100 * bits / bound));
  }
}

// Where the density changes, a new parameter pays for a new head, and only there.
TEST(PieceFrameProperty, ParametersFollowTheDensity) {
  RandomStream random(4);
  std::vector<Selected> selection;
  for (uint32_t stripe = 0; stripe < 64; ++stripe) {
    Selected& s = selection.emplace_back();
    s.stripe = stripe;
    s.stripe_elements = kMaxStripeElements;
    s.indexes = RandomIndexes(random, kMaxStripeElements, stripe / 16 % 2 == 0 ? 0.2 : 0.005);
    s.values.resize(s.indexes.size());
  }
  PieceFrameWriter writer;
  const Bytes all = Encode(writer, selection, ValueCoding::kBf16);
  size_t parts = 0;
  for (size_t first = 0; first < 64; first += 16) {
    const auto begin = selection.begin() + static_cast<std::ptrdiff_t>(first);
    const std::vector<Selected> part(begin, begin + 16);
    parts += Encode(writer, part, ValueCoding::kBf16).size() - kFrameHeaderBytes;
  }
  EXPECT_LE(all.size(), kFrameHeaderBytes + parts + 20);
}

}  // namespace
}  // namespace weir::wire
