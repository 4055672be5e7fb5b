// Piece frames of random selections against a plain reader that follows
// docs/reference/wire_format.md bit by bit, and against the sizes that the page promises.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "common/wire/piece_frame.h"
#include "common/wire/rice_groups.h"
#include "tests/common/wire/frame_bytes.h"
#include "tests/common/wire/scaled_values.h"

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
  // What is added to a parameter, modulo 2^32.
  uint32_t Change() {
    const auto code = static_cast<uint32_t>(Rice(0));
    return code % 2 == 1 ? (code + 1) / 2 : 0 - code / 2;
  }
  float Float(uint32_t bit_count) {
    const auto bits = static_cast<uint32_t>(Bits(bit_count) << (32 - bit_count));
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

// How docs/reference/wire_format.md has values follow each other, and what a scaled one is worth.
class PlainValues {
 public:
  PlainValues(ValueCoding coding, uint32_t piece_elements, PlainReader& reader)
      : coding_(static_cast<int>(coding)) {
    if (coding_ < 3) return;
    bits_ = static_cast<uint32_t>(reader.Bits(4));
    sides_ = 1 + reader.Bits(1);
    EXPECT_EQ(reader.Bits(3), 0u);
    const uint64_t bucket_log2 = reader.Bits(8);
    bucket_ = bucket_log2 == 0 ? piece_elements : uint64_t{1} << bucket_log2;
    const uint64_t buckets = (piece_elements + bucket_ - 1) / bucket_;
    for (uint64_t i = 0; i < buckets * sides_; ++i) scales_.push_back(reader.Float(32));
  }

  // A value, or its code.
  float Next(PlainReader& reader) const {
    if (coding_ < 3) return reader.Float(coding_ == 1 ? 32 : 16);
    return static_cast<float>(reader.Bits(bits_));
  }
  float Value(float value_or_code, uint64_t element) const {
    if (coding_ < 3) return value_or_code;
    const auto code = static_cast<int>(value_or_code);
    const bool minus = code % 2 == 1;
    const int rest = code / 2;
    const float scale = scales_[element / bucket_ * sides_ + (minus && sides_ == 2 ? 1 : 0)];
    const float unit =
        coding_ == 3 ? static_cast<float>(rest + 1) : std::exp2(-static_cast<float>(rest));
    return minus ? -unit * scale : unit * scale;
  }

 private:
  int coding_;
  uint32_t bits_ = 0;
  uint64_t sides_ = 1, bucket_ = 1;
  std::vector<float> scales_;
};

Elements PlainDecode(const FrameView& frame, uint32_t piece_elements) {
  Elements elements;
  PlainReader reader(frame.payload);
  const PlainValues plain(frame.header.coding, piece_elements, reader);
  while (!reader.done()) {
    const uint64_t coding = reader.Bits(2);
    auto parameter = static_cast<uint32_t>(reader.Bits(6));
    const auto stripe = static_cast<uint32_t>(reader.Varint());
    const uint32_t stripe_elements = StripeElements(stripe, piece_elements);
    std::vector<float> values(coding == 0 ? stripe_elements : reader.Varint());
    for (float& value : values) value = plain.Next(reader);
    reader.EndByte();
    std::vector<uint64_t> offsets;
    for (uint32_t i = 0; i < stripe_elements && coding < 2; ++i) {
      if (coding == 0 || reader.Bits(1) == 1) offsets.push_back(i);
    }
    uint64_t next = 0;
    for (size_t i = 0; i < values.size() && coding == 2; ++i) {
      if (i > 0 && i % 16 == 0) parameter += reader.Change();
      EXPECT_LE(parameter, 15u);
      offsets.push_back(next + reader.Rice(parameter));
      next = offsets.back() + 1;
    }
    reader.EndByte();
    EXPECT_EQ(offsets.size(), values.size());
    for (size_t i = 0; i < values.size(); ++i) {
      const uint64_t element = uint64_t{stripe} * kMaxStripeElements + offsets[i];
      EXPECT_TRUE(elements.emplace(element, plain.Value(values[i], element)).second);
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

Bytes Encode(PieceFrameWriter& writer, const std::vector<Selected>& selection,
             const ValueFormat& format) {
  Bytes bytes;
  writer.Open(&bytes, FrameKind::kGradient, 1, 0, format);
  for (const Selected& s : selection) {
    writer.Append(s.stripe, s.stripe_elements, s.indexes, s.values);
  }
  writer.Finish();
  return bytes;
}

// The bytes of a stripe in a block of its own, if all its groups had one parameter.
size_t AloneBytes(const Selected& s, const ValueFormat& format) {
  if (s.indexes.empty()) return 0;
  const auto varint = [](uint64_t x) { return x < 128 ? 1u : x < 16384 ? 2u : 3u; };
  const size_t head = 1 + varint(s.stripe), value_bytes = ValueBytes(format, s.values.size());
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
                 const ValueFormat& format) {
  static PieceFrameWriter writer;  // kept, as their users keep them
  static PieceFrameReader reader;
  Elements expected;
  size_t alone_bytes = IsScaled(format.coding) ? 2 + 4 * format.scales.size() : 0;
  for (const Selected& s : selection) {
    alone_bytes += AloneBytes(s, format);
    for (size_t i = 0; i < s.indexes.size(); ++i) {
      expected[uint64_t{s.stripe} * kMaxStripeElements + s.indexes[i]] = s.values[i];
    }
  }
  const Bytes bytes = Encode(writer, selection, format);
  ASSERT_EQ(Encode(writer, selection, format), bytes) << "the same, whatever came before";
  PieceFrameWriter fresh;
  ASSERT_EQ(Encode(fresh, selection, format), bytes);
  const FrameView frame = OnlyFrame(bytes);
  ASSERT_EQ(frame.header.count, expected.size());
  ASSERT_EQ(PlainDecode(frame, piece_elements), expected);
  ASSERT_EQ(Decode(reader, frame, piece_elements), expected);
  // A block that stripes joined may need three bytes more for its count, and one for its last bits;
  // groups tell parameters.
  const size_t changes = expected.size() / kRiceGroup * 2 / 8;
  ASSERT_LE(frame.payload.size(), alone_bytes + changes + 4 * selection.size());
}

std::vector<float> FittingValues(RandomStream& random, uint32_t stripe, const Indexes& indexes,
                                 const ValueFormat& format) {
  std::vector<float> values = RandomValues(random, indexes.size());
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] =
        IsScaled(format.coding)
            ? RandomScaledValue(random, format, int64_t{stripe} * kMaxStripeElements + indexes[i])
            : Round(values[i], format.coding);
  }
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
    std::vector<float> scales;
    ValueFormat format = random.NextUnit() < 0.5 ? ValueCoding::kF32 : ValueCoding::kBf16;
    if (random.NextUnit() < 0.5) format = RandomScaledFormat(random, piece_elements, &scales);
    const bool even = random.NextUnit() < 0.5;
    double density = NextDensity(random);
    std::vector<Selected> selection;
    for (uint32_t stripe = 0; stripe < stripe_count; ++stripe) {
      Selected& s = selection.emplace_back();
      s.stripe = stripe;
      s.stripe_elements = StripeElements(stripe, piece_elements);
      s.indexes = RandomIndexes(random, s.stripe_elements, density);
      s.values = FittingValues(random, stripe, s.indexes, format);
      if (!even) density = NextDensity(random);
    }
    // As threads take stripes: in order, some of them later.
    for (uint64_t swaps = random.NextBelow(4); swaps > 0; --swaps) {
      std::swap(selection[random.NextBelow(stripe_count)],
                selection[random.NextBelow(stripe_count)]);
    }
    ASSERT_NO_FATAL_FAILURE(ExpectSound(selection, piece_elements, format)) << "case " << repeat;
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
    const FrameView frame = OnlyFrame(bytes);
    const size_t count = frame.header.count;
    const auto bits = static_cast<double>(8 * (frame.payload.size() - 2 * count));
    const double entropy = -density * std::log2(density) - (1 - density) * std::log2(1 - density);
    const double bound = entropy * kStripes * kMaxStripeElements;
    EXPECT_LT(bits, 1.03 * bound) << "density " << density;
    RecordProperty("percent_of_bound_at_" + std::to_string(density),
                   std::to_string(100 * bits / bound));
  }
}

// A weight with rows of 1000 elements, some of which send much and others little, as the outputs of
// a layer do.
TEST(PieceFrameProperty, CodesFollowTheDensityOfRows) {
  constexpr double kDensities[] = {0.2, 0.02};
  constexpr uint32_t kRow = 1000, kStripes = 64;
  RandomStream random(4);
  std::vector<Selected> selection;
  for (uint32_t stripe = 0; stripe < kStripes; ++stripe) {
    Selected& s = selection.emplace_back();
    s.stripe = stripe;
    s.stripe_elements = kMaxStripeElements;
    for (uint32_t i = 0; i < kMaxStripeElements; ++i) {
      const uint32_t row = (stripe * kMaxStripeElements + i) / kRow;
      if (random.NextUnit() < kDensities[row % 2]) s.indexes.push_back(static_cast<uint16_t>(i));
    }
    s.values.resize(s.indexes.size());
  }
  PieceFrameWriter writer;
  const Bytes bytes = Encode(writer, selection, ValueCoding::kBf16);
  const FrameView frame = OnlyFrame(bytes);
  const size_t count = frame.header.count;
  const auto bits = static_cast<double>(8 * (frame.payload.size() - 2 * count));
  const auto entropy = [](double d) { return -d * std::log2(d) - (1 - d) * std::log2(1 - d); };
  const double elements = kStripes * kMaxStripeElements;
  EXPECT_LT(bits, 1.1 * elements * (entropy(kDensities[0]) + entropy(kDensities[1])) / 2);
  EXPECT_LT(bits, 0.93 * elements * entropy((kDensities[0] + kDensities[1]) / 2));
}

}  // namespace
}  // namespace weir::wire
