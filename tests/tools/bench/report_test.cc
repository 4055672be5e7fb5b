#include "tools/bench/report.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tools/bench/measure.h"

namespace weir::bench {
namespace {

const Line rate{.name = "select/1M",
                .value = 30,
                .unit = "GB/s",
                .peer = "memcpy",
                .peer_value = 40,
                .goal = 0.4};
const Line latency{.name = "round_trip",
                   .value = 50,
                   .unit = "us",
                   .peer = "raw libzmq",
                   .peer_value = 40,
                   .goal = 0.714,
                   .better = Better::kLess};
const Line alone{.name = "train", .value = 20000, .unit = "samples/s", .peer = "PyTorch"};

TEST(Line, RatioIsMoreIsBetter) {
  EXPECT_DOUBLE_EQ(rate.Ratio(), 0.75);
  EXPECT_DOUBLE_EQ(latency.Ratio(), 0.8);
  EXPECT_DOUBLE_EQ(alone.Ratio(), 0);
}

TEST(BenchReport, JsonHasEveryFieldAndNullForWhatIsNotThere) {
  const Machine machine{.processor = "p",
                        .simd = "AVX2",
                        .core_count = 2,
                        .memory_gib = 4,
                        .compiler = "c",
                        .commit = "abc"};
  const auto json = nlohmann::json::parse(ToJson({rate, alone}, machine));
  EXPECT_EQ(json["lines"][0], (nlohmann::json{{"name", "select/1M"},
                                              {"value", 30.0},
                                              {"unit", "GB/s"},
                                              {"peer", "memcpy"},
                                              {"peer_value", 40.0},
                                              {"ratio", 0.75},
                                              {"goal", 0.4}}));
  for (const char* field : {"peer_value", "ratio", "goal"}) {
    EXPECT_TRUE(json["lines"][1][field].is_null()) << field;
  }
  EXPECT_EQ(json["machine"]["cores"], 2);
  EXPECT_EQ(json["machine"]["commit"], "abc");
}

TEST(BenchReport, TheTableHasALineForEach) {
  std::ostringstream out;
  PrintTable({rate, latency, alone}, out);
  const std::string text = out.str();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 4);
  EXPECT_NE(text.find("0.7500"), std::string::npos) << text;
  EXPECT_NE(text.find("raw libzmq"), std::string::npos) << text;
}

TEST(BenchReport, ALineIsWholeHoweverLongItsPeerIs) {
  Line line = alone;
  line.peer = std::string(2000, 'p');
  std::ostringstream out;
  PrintTable({line, rate}, out);
  EXPECT_NE(out.str().find(line.peer + "\n"), std::string::npos);
  EXPECT_NE(out.str().find("memcpy\n"), std::string::npos);
}

TEST(Measure, MedianIsTheMiddle) {
  EXPECT_EQ(Median({3}), 3);
  EXPECT_EQ(Median({5, 1, 3}), 3);
  EXPECT_EQ(Median({4, 1, 3, 2}), 2.5);
}

TEST(Measure, WorksTakeTurnsAfterOneUnmeasuredCall) {
  std::string order;
  const auto medians = MedianSeconds(2, {[&] { order += 'a'; }, [&] { order += 'b'; }});
  EXPECT_EQ(order, "ababab");
  EXPECT_EQ(medians.size(), 2u);
}

}  // namespace
}  // namespace weir::bench
