#include "common/device/cpu_device.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "common/device/buffers.h"

namespace weir::device {
namespace {

TEST(CpuDevice, MemoryIsZeroAlignedAndTheHosts) {
  EXPECT_TRUE(CpuDevice().is_host());
  const Buffer<float> buffer(CpuDevice(), 1000, "a test");
  const std::span<float> values = OnHost(buffer.span());
  ASSERT_EQ(values.size(), 1000u);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(values.data()) % 64, 0u);
  EXPECT_TRUE(std::ranges::all_of(values, [](float value) { return value == 0; }));
}

TEST(CpuDevice, BothSidesOfAMirrorAreOne) {
  const Mirror<double> mirror(CpuDevice(), 3, "a test");
  mirror.host()[1] = 5;
  mirror.Upload(CpuStream(), 3);
  EXPECT_EQ(OnHost(mirror.device())[1], 5);
  OnHost(mirror.device())[1] = 7;
  mirror.Download(CpuStream(), 3);
  EXPECT_EQ(mirror.host()[1], 7);
}

TEST(CpuDevice, NothingIsNoMemory) {
  const Buffer<float> none(CpuDevice(), 0, "a test");
  EXPECT_TRUE(none.empty());
  EXPECT_EQ(none.data(), Pointer<float>());
  const Mirror<float> empty;
  EXPECT_TRUE(empty.host().empty());
}

TEST(CpuStream, CopiesAndZeroesAtOnce) {
  const std::vector<uint8_t> from = {1, 2, 3};
  const Buffer<uint8_t> on_device(CpuDevice(), 4, "a test");
  std::vector<uint8_t> back(3);
  CpuStream().CopyToDevice<uint8_t>(from, on_device.span().first(3));
  CpuStream().CopyToHost<uint8_t>(on_device.span().first(3), back);
  EXPECT_EQ(back, from);
  CpuStream().Zero(on_device.span().subspan(1, 1));
  EXPECT_EQ(OnHost(on_device.span())[0], 1);
  EXPECT_EQ(OnHost(on_device.span())[1], 0);
  EXPECT_EQ(OnHost(on_device.span())[2], 3);
  const Buffer<uint8_t> copy(CpuDevice(), 4, "a test");
  CpuStream().CopyOnDevice<uint8_t>(on_device.span(), copy.span());
  EXPECT_EQ(OnHost(copy.span())[2], 3);
  EXPECT_TRUE(CpuStream().Synchronize().ok());
}

TEST(Buffers, WhatWasMovedFromIsEmpty) {
  Mirror<float> mirror(CpuDevice(), 2, "a test");
  mirror.host()[0] = 4;
  Mirror<float> other = std::move(mirror);
  EXPECT_EQ(mirror.size(), 0u);  // NOLINT: that is what is tested
  EXPECT_EQ(other.host()[0], 4);
}

}  // namespace
}  // namespace weir::device
