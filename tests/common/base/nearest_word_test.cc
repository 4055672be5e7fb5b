#include "common/base/nearest_word.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

const std::vector<std::string> kFields = {"batch_size", "epochs", "chunk_batches", "train", "test"};

TEST(DidYouMean, IsTheWordThatIsLeastFar) {
  EXPECT_EQ(DidYouMean("batchsize", kFields), "; did you mean batch_size?");
  EXPECT_EQ(DidYouMean("batch-size", kFields), "; did you mean batch_size?");
  EXPECT_EQ(DidYouMean("epoch", kFields), "; did you mean epochs?");
  EXPECT_EQ(DidYouMean("tests", kFields), "; did you mean test?");
  EXPECT_EQ(DidYouMean("chunkbatch", kFields), "; did you mean chunk_batches?");
}

TEST(DidYouMean, IsNothingWhereAllAreFar) {
  EXPECT_EQ(DidYouMean("colour", kFields), "");
  EXPECT_EQ(DidYouMean("x", kFields), "");
  EXPECT_EQ(DidYouMean("", kFields), "");
  EXPECT_EQ(DidYouMean("epochs", {}), "");
}

}  // namespace
}  // namespace weir
