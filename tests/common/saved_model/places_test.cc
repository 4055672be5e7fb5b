#include "common/saved_model/places.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "common/base/strings.h"
#include "common/saved_model/writer.h"

namespace weir::saved_model {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class Places : public testing::Test {
 protected:
  Places() {
    fs::remove_all(folder_);
    fs::create_directories(model_ + "/residuals");
    std::ofstream(model_ + "/" + kManifestFile) << "any";
    fs::create_directory_symlink(model_, folder_ + "/link");
  }
  ~Places() override { fs::remove_all(folder_); }

  const std::string folder_ = fs::canonical(testing::TempDir()).string() +
                              StrCat("/places_test_", static_cast<int64_t>(getpid()));
  const std::string model_ = folder_ + "/model";
};

TEST_F(Places, WhatLiesInAModelIsKnownByItsFolder) {
  for (const char* inside : {"", "/", "/residuals", "/not/there/yet", "/../model/x"}) {
    EXPECT_EQ(ModelAround(model_ + inside), model_) << inside;
  }
  EXPECT_EQ(ModelAround(folder_ + "/link/x"), model_) << "behind a link";
  for (const char* outside : {"/..", "/../beside", ".partial-1", "/../model2/x"}) {
    EXPECT_EQ(ModelAround(model_ + outside), "") << outside;
  }
}

TEST_F(Places, AFolderHoldsItselfAndWhatIsBelow) {
  EXPECT_TRUE(LiesIn(folder_ + "/a/b", folder_ + "/a/"));
  EXPECT_TRUE(LiesIn(folder_ + "/a/", folder_ + "/a"));
  EXPECT_TRUE(LiesIn(folder_ + "/link/x", model_));
  EXPECT_FALSE(LiesIn(folder_ + "/ab", folder_ + "/a"));
  EXPECT_FALSE(LiesIn(folder_ + "/a", folder_ + "/a/b"));
}

TEST_F(Places, NoModelIsWrittenIntoAnother) {
  const auto writer = Writer::Create(model_ + "/residuals/x");
  ASSERT_FALSE(writer.ok());
  EXPECT_THAT(writer.status().message(), HasSubstr("lies in the saved model " + model_));
  EXPECT_FALSE(fs::exists(model_ + "/residuals/x"));
}

}  // namespace
}  // namespace weir::saved_model
