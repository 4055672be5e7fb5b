// A folder of a test's own, which goes with it.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <string>

#include "common/base/check.h"

namespace weir::test {

class TempFolder {
 public:
  TempFolder() {
    std::string pattern = testing::TempDir() + "weir_test_XXXXXX";
    CHECK(mkdtemp(pattern.data()) != nullptr) << pattern;
    path_ = pattern;
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  ~TempFolder() { std::filesystem::remove_all(path_); }

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace weir::test
