// Coding: gradient frames of one large piece, written by the class that workers write with, read by
// the one that servers read with, checksums included, and applied. Positions are random, so H(d)/d
// bits an index are the bound at density d.
//
// What the machine could do is memcpy of the selected elements as 6 bytes each, index and value.

#include <cmath>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "common/base/random.h"
#include "common/base/strings.h"
#include "common/layout/model_layout.h"
#include "common/store/piece.h"
#include "common/wire/piece_frame.h"
#include "server/gradient_applier.h"
#include "tools/bench/measure.h"
#include "tools/bench/sections.h"

namespace weir::bench {
namespace {

constexpr auto kStripe = static_cast<uint32_t>(kStripeElements);
constexpr uint32_t kSide = 1024;  // of the square tensor that holds the piece
constexpr uint32_t kElements = kSide * kSide, kQuickElements = kElements / 8;
constexpr uint32_t kSquareTensor = 2;  // behind a layer of kSide outputs and its bias
constexpr double kGoalMillions = 100;
constexpr double kGoalOverBound = 1.03;
constexpr auto kCoding = wire::ValueCoding::kBf16;
constexpr float kLearningRate = 0.01f, kEpsilon = 1e-8f;

// Selected elements that one timing handles at least.
constexpr size_t kElementsPerTiming = 1'000'000;

struct Density {
  double fraction;
  const char* name;
};
constexpr Density kRiceDensities[] = {{0.1, "10%"}, {0.05, "5%"}, {0.01, "1%"}, {0.001, "0.1%"}};
constexpr Density kGoalDensity = kRiceDensities[2];
constexpr Density kBitmapDensity = {0.6, "60%"};

struct SelectedStripe {
  std::vector<uint16_t> indexes;
  std::vector<float> values;
};

// What a policy would select of a piece.
struct Selection {
  Selection(uint32_t element_count_in, double density) : element_count(element_count_in) {
    RandomStream random(1, element_count_in, static_cast<uint64_t>(1e6 * density));
    for (uint32_t begin = 0; begin < element_count; begin += kStripe) {
      SelectedStripe& stripe = stripes.emplace_back();
      for (uint32_t i = 0; i < kStripe; ++i) {
        if (random.NextUnit() >= density) continue;
        stripe.indexes.push_back(static_cast<uint16_t>(i));
        stripe.values.push_back(wire::Round(static_cast<float>(random.NextNormal()), kCoding));
      }
      count += stripe.indexes.size();
    }
  }

  int rounds() const { return static_cast<int>(kElementsPerTiming / count) + 1; }

  uint32_t element_count;
  size_t count = 0;
  std::vector<SelectedStripe> stripes;
};

class Coder {
 public:
  explicit Coder(const Selection& selection) : selection_(selection) {}

  void Encode() {
    bytes_.clear();
    writer_.Open(&bytes_, wire::FrameKind::kGradient, kSquareTensor, 0, kCoding);
    for (uint32_t i = 0; i < selection_.stripes.size(); ++i) {
      writer_.Append(i, kStripe, selection_.stripes[i].indexes, selection_.stripes[i].values);
    }
    writer_.Finish();
  }

  Status Decode() {
    wire::FrameCursor cursor(bytes_);
    WEIR_ASSIGN_OR_RETURN(const wire::FrameView frame, cursor.Next());
    return reader_.Read(frame, selection_.element_count);
  }

  Status Verify() {
    Encode();
    WEIR_RETURN_IF_ERROR(Decode());
    std::vector<SelectedStripe> decoded(selection_.stripes.size());
    for (const wire::StripeUpdate& update : reader_.stripes()) {
      decoded[update.stripe] = {{update.indexes.begin(), update.indexes.end()},
                                {update.values.begin(), update.values.end()}};
    }
    for (size_t i = 0; i < decoded.size(); ++i) {
      if (decoded[i].indexes != selection_.stripes[i].indexes ||
          decoded[i].values != selection_.stripes[i].values) {
        return Internal(StrCat("stripe ", i, " is not what was encoded"));
      }
    }
    return OkStatus();
  }

  // All of the blocks but the values.
  double IndexBits() const {
    const size_t value_bytes = selection_.count * wire::ValueBytes(kCoding);
    return static_cast<double>(8 * (bytes_.size() - wire::kFrameHeaderBytes - value_bytes));
  }

  const Bytes& bytes() const { return bytes_; }

 private:
  const Selection& selection_;
  Bytes bytes_;
  wire::PieceFrameWriter writer_;
  wire::PieceFrameReader reader_;
};

// Millions of selected elements a second.
double Millions(const Selection& selection, double seconds) {
  return static_cast<double>(selection.count) * selection.rounds() / seconds / 1e6;
}

std::vector<double> MedianMillions(const Options& options, const Selection& selection,
                                   const std::vector<std::function<void()>>& works) {
  std::vector<std::function<void()>> repeated;
  for (const auto& work : works) {
    repeated.push_back([&] {
      for (int i = 0; i < selection.rounds(); ++i) work();
    });
  }
  std::vector<double> medians = MedianSeconds(options.repeats, repeated);
  for (double& median : medians) median = Millions(selection, median);
  return medians;
}

Line RateLine(const std::string& name, double millions, double memcpy_millions) {
  return {.name = "code/" + name,
          .value = millions,
          .unit = "M elements/s",
          .peer = "memcpy, 6 bytes an element",
          .peer_value = memcpy_millions};
}

Line GoalLine(const std::string& name, double millions) {
  return {.name = "code/" + name,
          .value = millions,
          .unit = "M elements/s",
          .peer = "the goal, 100 M elements/s",
          .peer_value = kGoalMillions,
          .goal = 1};
}

Line IndexBitsLine(const Density& density, const Selection& selection, const Coder& coder) {
  const double d = density.fraction;
  return {.name = StrCat("code/index_bits/", density.name),
          .value = coder.IndexBits() / static_cast<double>(selection.count),
          .unit = "bits/index",
          .peer = "H(d)/d",
          .peer_value = (-d * std::log2(d) - (1 - d) * std::log2(1 - d)) / d,
          .goal = 1 / kGoalOverBound,
          .better = Better::kLess};
}

Status AddCodingLines(const Options& options, const Density& density, const std::string& coding,
                      const Selection& selection, Lines* lines) {
  Coder coder(selection);
  WEIR_RETURN_IF_ERROR(coder.Verify());
  Bytes pairs(6 * selection.count, 1), copy(pairs.size());
  const auto rates = MedianMillions(
      options, selection,
      {[&] { coder.Encode(); }, [&] { KeepAlive(coder.Decode().ok() ? &coder : nullptr); },
       [&] {
         std::memcpy(copy.data(), pairs.data(), pairs.size());
         KeepAlive(copy.data());
       }});
  const bool goal = density.fraction == kGoalDensity.fraction;
  for (const auto& [name, rate] :
       {std::pair("encode_", rates[0]), std::pair("decode_", rates[1])}) {
    const std::string line = StrCat(name, coding, "_bf16/", density.name);
    lines->push_back(goal ? GoalLine(line, rate) : RateLine(line, rate, rates[2]));
    if (goal) lines->push_back(RateLine(line + "/of_memcpy", rate, rates[2]));
  }
  if (coding == "rice") lines->push_back(IndexBitsLine(density, selection, coder));
  return OkStatus();
}

// Decoding and applying, as a server does it.
struct Target {
  Target(const ModelLayout& layout, uint32_t element_count, const v1::UpdateRule& config)
      : rule(store::MakeUpdateRule(config)),
        piece(layout,
              {.id = 0,
               .tensor = kSquareTensor,
               .begin = 0,
               .element_count = element_count,
               .server = 0},
              *rule) {}

  Status Apply(const Bytes& bytes) {
    wire::FrameCursor cursor(bytes);
    WEIR_ASSIGN_OR_RETURN(const wire::FrameView frame, cursor.Next());
    return applier.Apply(frame, ++version, "the piece", &piece);
  }

  std::unique_ptr<const store::UpdateRule> rule;
  store::Piece piece;
  server::GradientApplier applier;
  uint64_t version = 0;
};

ModelLayout SquareLayout() {
  v1::Config config;
  for (const int32_t width : {int32_t{kSide}, int32_t{kSide}}) {
    config.mutable_model()->add_bottom_widths(width);
  }
  config.mutable_model()->add_top_widths(1);
  config.mutable_model()->set_embedding_dimension(kSide);
  config.mutable_data()->mutable_synthetic()->set_dense_features(1);
  config.mutable_data()->mutable_synthetic()->set_tables(1);
  return ModelLayout(config, 1);
}

// One push, element by element. step: what an element with that gradient loses.
template <typename Step>
Status VerifyApply(const Selection& selection, const Bytes& bytes, Target& target, Step&& step) {
  const std::vector<float> before(target.piece.values().begin(), target.piece.values().end());
  std::vector<float> expected = before;
  for (size_t stripe = 0; stripe < selection.stripes.size(); ++stripe) {
    const SelectedStripe& selected = selection.stripes[stripe];
    for (size_t i = 0; i < selected.indexes.size(); ++i) {
      expected[stripe * kStripe + selected.indexes[i]] -= step(selected.values[i]);
    }
  }
  WEIR_RETURN_IF_ERROR(target.Apply(bytes));
  for (size_t i = 0; i < expected.size(); ++i) {
    const bool untouched = expected[i] == before[i];
    const float error = std::abs(target.piece.values()[i] - expected[i]);
    if (untouched ? error != 0 : error > 1e-5f * (1 + std::abs(expected[i]))) {
      return Internal(StrCat("element ", i, " was not updated as its rule says"));
    }
  }
  return OkStatus();
}

Status AddApplyLines(const Options& options, const Selection& selection, Lines* lines) {
  Coder coder(selection);
  coder.Encode();
  const ModelLayout layout = SquareLayout();
  v1::UpdateRule sgd_config, adagrad_config;
  sgd_config.mutable_sgd()->set_learning_rate(kLearningRate);
  adagrad_config.mutable_adagrad()->set_learning_rate(kLearningRate);
  adagrad_config.mutable_adagrad()->set_epsilon(kEpsilon);
  Target sgd(layout, selection.element_count, sgd_config);
  Target adagrad(layout, selection.element_count, adagrad_config);
  WEIR_RETURN_IF_ERROR(VerifyApply(selection, coder.bytes(), sgd,
                                   [](float gradient) { return kLearningRate * gradient; }));
  WEIR_RETURN_IF_ERROR(VerifyApply(selection, coder.bytes(), adagrad, [](float gradient) {
    return kLearningRate * gradient / (std::sqrt(gradient * gradient) + kEpsilon);
  }));
  const auto apply = [&](Target& target) {
    KeepAlive(target.Apply(coder.bytes()).ok() ? &target : nullptr);
  };
  const auto rates = MedianMillions(options, selection,
                                    {[&] { apply(sgd); }, [&] { apply(adagrad); },
                                     [&] { KeepAlive(coder.Decode().ok() ? &coder : nullptr); }});
  const char* const names[] = {"sgd", "adagrad"};
  for (size_t i = 0; i < 2; ++i) {
    lines->push_back({.name = StrCat("code/apply_", names[i], "/", kGoalDensity.name),
                      .value = rates[i],
                      .unit = "M elements/s",
                      .peer = "decoding alone",
                      .peer_value = rates[2]});
  }
  return OkStatus();
}

}  // namespace

Result<Lines> BenchCode(const Options& options) {
  const uint32_t elements = options.quick ? kQuickElements : kElements;
  Lines lines;
  for (const Density& density : kRiceDensities) {
    const Selection selection(elements, density.fraction);
    WEIR_RETURN_IF_ERROR(AddCodingLines(options, density, "rice", selection, &lines));
  }
  const Selection bitmap(elements, kBitmapDensity.fraction);
  WEIR_RETURN_IF_ERROR(AddCodingLines(options, kBitmapDensity, "bitmap", bitmap, &lines));
  WEIR_RETURN_IF_ERROR(AddApplyLines(options, Selection(elements, kGoalDensity.fraction), &lines));
  return lines;
}

}  // namespace weir::bench
