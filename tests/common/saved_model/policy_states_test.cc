// Files of what policies remember: what was written comes back, and nothing else passes for it.
#include "common/saved_model/policy_states.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "common/base/strings.h"

namespace weir::saved_model {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr uint64_t kRun = 77;

using States = std::vector<std::pair<std::string, Bytes>>;

class PolicyStatesTest : public testing::Test {
 protected:
  PolicyStatesTest() { fs::remove_all(folder_); }
  ~PolicyStatesTest() override { fs::remove_all(folder_); }

  Status Write(uint32_t trainer, std::optional<uint32_t> stage, const States& states) const {
    const StatesOwner owner{.trainer = trainer, .stage = stage, .run = kRun};
    return WritePolicyStates(folder_, owner, [&](const TakeState& take) {
      for (const auto& [name, state] : states) {
        v1::PolicyStateHeader header;
        header.set_name(name);
        header.mutable_rule()->mutable_dct()->set_sparsity(0.5);
        WEIR_RETURN_IF_ERROR(take(header, state));
      }
      return OkStatus();
    });
  }

  Result<States> Read(uint32_t trainer, uint64_t run = kRun) const {
    States states;
    WEIR_RETURN_IF_ERROR(VisitPolicyStates(
        folder_, trainer, run, [&](const v1::PolicyStateHeader& header, ByteSpan state) {
          EXPECT_EQ(header.rule().dct().sparsity(), 0.5);
          states.emplace_back(header.name(), Bytes(state.begin(), state.end()));
          return OkStatus();
        }));
    return states;
  }

  std::string PathOf(const std::string& name) const { return StrCat(folder_, "/", name); }

  const std::string folder_ =
      StrCat(testing::TempDir(), "/policy_states_test_", static_cast<int64_t>(getpid()));
};

const States kStates = {{"bottom/0/weight", {1, 2, 3}}, {"bottom/0/bias", {}}, {"table/C1", {9}}};

TEST_F(PolicyStatesTest, GivesBackWhatWasWrittenOfATrainer) {
  EXPECT_THAT(Read(0).value(), IsEmpty()) << "there is no folder";
  ASSERT_TRUE(Write(0, std::nullopt, kStates).ok());
  ASSERT_TRUE(Write(1, 0, {{"a", {4}}}).ok());
  ASSERT_TRUE(Write(1, 2, {{"b", {5}}}).ok());
  ASSERT_TRUE(Write(10, std::nullopt, {{"c", {6}}}).ok());
  std::ofstream(PathOf("trainer-1.weir.partial")) << "not finished";
  EXPECT_TRUE(HoldsStatesAlone(folder_));
  for (const char* name :
       {"trainer-x.weir", "trainer-2-stage-.weir", "trainer-99999999999.weir", "trainer-3"}) {
    std::ofstream(PathOf(name)) << "not ours";
    EXPECT_FALSE(HoldsStatesAlone(folder_)) << name;
  }
  EXPECT_EQ(Read(0).value(), kStates);
  EXPECT_EQ(Read(1).value(), (States{{"a", {4}}, {"b", {5}}}));
  EXPECT_THAT(Read(2).value(), IsEmpty());
  EXPECT_THAT(TrainersWithStates(folder_).value(), ElementsAre(0, 1, 10));
  ASSERT_TRUE(Write(0, std::nullopt, {{"a", {7}}}).ok());
  EXPECT_EQ(Read(0).value(), (States{{"a", {7}}})) << "replaced";
}

TEST_F(PolicyStatesTest, RefusesWhatIsOfAnotherRun) {
  ASSERT_TRUE(Write(0, std::nullopt, kStates).ok());
  EXPECT_THAT(Read(0, kRun + 1).status().message(),
              HasSubstr("trainer-0.weir: is of another run than the model; remove it"));
  EXPECT_TRUE(Read(1, kRun + 1).ok()) << "not its own";
}

TEST_F(PolicyStatesTest, SaysWhatItCannotRead) {
  EXPECT_THAT(TrainersWithStates(folder_).value(), IsEmpty());
  std::ofstream(folder_) << "a file";
  EXPECT_THAT(Read(0).status().message(), HasSubstr("cannot be read"));
  EXPECT_FALSE(TrainersWithStates(folder_).ok());
  EXPECT_FALSE(HoldsStatesAlone(folder_));
  EXPECT_FALSE(PrepareStatesFolder(folder_).ok());
  fs::remove(folder_);
  fs::create_directories(PathOf("trainer-0.weir"));
  EXPECT_THAT(Read(0).status().message(), HasSubstr("trainer-0.weir cannot be read"));
}

TEST_F(PolicyStatesTest, LargeStatesTakeSeveralFrames) {
  const States states = {{"top/0/weight", Bytes((size_t{1} << 25) + 77, 3)}, {"top/1/weight", {1}}};
  ASSERT_TRUE(Write(0, std::nullopt, states).ok());
  EXPECT_EQ(Read(0).value(), states);
}

TEST_F(PolicyStatesTest, RefusesEveryDamagedByteAndEveryTruncation) {
  ASSERT_TRUE(Write(0, std::nullopt, kStates).ok());
  const std::string path = PathOf("trainer-0.weir");
  std::ifstream file(path, std::ios::binary);
  const std::string whole((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const auto read = [&](const std::string& bytes) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
    return Read(0).status();
  };
  for (size_t i = 0; i < whole.size(); ++i) {
    EXPECT_THAT(read(whole.substr(0, i)).message(), HasSubstr("trainer-0.weir")) << i;
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    EXPECT_EQ(read(damaged).code(), StatusCode::kInvalidData) << i;
  }
  EXPECT_TRUE(read(whole).ok());
  EXPECT_FALSE(read(whole + whole).ok());
}

TEST_F(PolicyStatesTest, LeavesNothingOfWhatCouldNotBeWritten) {
  const Status failed =
      WritePolicyStates(folder_, StatesOwner{}, [](const TakeState&) { return Internal("no"); });
  EXPECT_EQ(failed.message(), "no");
  EXPECT_TRUE(fs::is_empty(folder_));
  fs::create_directories(PathOf("trainer-0.weir/in the way"));
  EXPECT_THAT(Write(0, std::nullopt, kStates).message(), HasSubstr("cannot write "));
  EXPECT_FALSE(fs::exists(PathOf("trainer-0.weir.partial")));
}

}  // namespace
}  // namespace weir::saved_model
