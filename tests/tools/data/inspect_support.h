// What inspect says of small files that a test writes.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string>
#include <string_view>

#include "tests/worker/data/data_files.h"
#include "tools/data/inspect.h"

namespace weir::tools {

class InspectTest : public data::DataFilesTest {
 protected:
  // What inspect prints of a file for which it has a config.
  static std::string Inspected(const std::string& path, int64_t line_limit = 0) {
    std::ostringstream out;
    const Status status = Inspect({.path = path, .line_limit = line_limit}, out);
    EXPECT_TRUE(status.ok()) << status << "\n" << out.str();
    return out.str();
  }
  std::string InspectedText(const std::string& text) const { return Inspected(Write("f", text)); }

  // Why it has none.
  static std::string Refused(const std::string& path) {
    std::ostringstream out;
    const Status status = Inspect({.path = path}, out);
    EXPECT_EQ(status.code(), StatusCode::kInvalidData) << status << "\n" << out.str();
    return status.message();
  }
  std::string RefusedText(const std::string& text) const { return Refused(Write("f", text)); }

  // What inspect prints of the file that the command makes which the refusal of this one gives.
  static std::string InspectedOnceMended(const std::string& path) {
    constexpr std::string_view kBefore = "; to make a file that reads: ";
    const std::string message = Refused(path);
    const size_t at = message.find(kBefore);
    EXPECT_NE(at, std::string::npos) << message;
    if (at == std::string::npos) return "";
    const std::string command = message.substr(at + kBefore.size());
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
    std::string mended = command.substr(command.rfind("> ") + 2);
    std::erase(mended, '\'');
    return Inspected(mended);
  }
};

// `count` lines, made by line(i) for i from 0.
template <typename MakeLine>
std::string Lines(int count, const MakeLine& make_line) {
  std::string text;
  for (int i = 0; i < count; ++i) text += make_line(i) + "\n";
  return text;
}

}  // namespace weir::tools
