// What is said of a card that is not there, or cannot be used.
#include "gpu/device/find_card.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "gpu/device/cuda_device.h"
#include "gpu/open_device.h"

namespace weir::gpu {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class FindCardTest : public testing::Test {
 protected:
  ~FindCardTest() override { emulator::ResetDevice(); }

  // Said before it is opened, too.
  static std::string WhyNot(int number) {
    const Status opened = CudaDevice::Open(number).status();
    const Status checked = CheckDevice({.is_cuda = true, .number = number});
    EXPECT_EQ(checked.code(), StatusCode::kFailedPrecondition);
    EXPECT_EQ(checked.ToString(), opened.ToString());
    return opened.message();
  }
};

TEST_F(FindCardTest, SaysWhatThereIsOfAnother) {
  emulator::faults().cards = 1;
  EXPECT_THAT(WhyNot(7), HasSubstr("there is no cuda:7: this machine has 1 card, cuda:0"));
  emulator::faults().cards = 3;
  EXPECT_THAT(WhyNot(7), HasSubstr("this machine has 3 cards, cuda:0 to cuda:2"));
  emulator::faults().cards = 0;
  EXPECT_THAT(WhyNot(0), AllOf(HasSubstr("there is no card"), HasSubstr("CUDA_VISIBLE_DEVICES")));
  emulator::faults().driver_version = 11080;
  EXPECT_THAT(WhyNot(0), HasSubstr("too old: it knows CUDA 11.8, and this build needs 12.0"));
  emulator::faults().driver_version = 0;
  EXPECT_THAT(WhyNot(0), HasSubstr("there is no NVIDIA driver"));
}

TEST_F(FindCardTest, ACardWithoutWhatKernelsNeedIsNotOpened) {
  emulator::faults().capability = 75;
  EXPECT_THAT(WhyNot(0),
              HasSubstr("cuda:0 is too old: an emulated card has compute capability 7.5, and "
                        "kernels need 8.0"));
  emulator::faults().capability = 80;
  EXPECT_TRUE(CudaDevice::Open(0).ok());
}

// A thread's card stays the one that it was: nothing was opened.
TEST_F(FindCardTest, IsCheckedWithoutBeingTaken) {
  int before = -1, after = -1;
  cudaGetDevice(&before);
  EXPECT_TRUE(CheckDevice({.is_cuda = true, .number = 1 - before}).ok());
  cudaGetDevice(&after);
  EXPECT_EQ(after, before);
  EXPECT_TRUE(CheckDevice({}).ok());
}

}  // namespace
}  // namespace weir::gpu
