#include "common/session/run_identity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/strings.h"
#include "common/config/defaults.h"
#include "common/session/client_session.h"

namespace weir::session {
namespace {

using testing::HasSubstr;

v1::Config Config() {
  v1::Config config;
  config.mutable_data()->mutable_synthetic();
  config::FillDefaults(&config);
  return config;
}

TEST(RunIdentity, OfOneConfigAgrees) {
  EXPECT_EQ(DescribeMismatch(MakeRunIdentity(Config(), 2), MakeRunIdentity(Config(), 2)), "");
}

TEST(RunIdentity, DoesNotDependOnHowTheWorkIsDone) {
  v1::Config other = Config();
  other.mutable_cluster()->set_window(1);
  other.mutable_compression()->mutable_default_()->mutable_dct()->set_sparsity(0.9);
  EXPECT_EQ(DescribeMismatch(MakeRunIdentity(Config(), 2), MakeRunIdentity(other, 2)), "");
}

TEST(RunIdentity, MismatchNamesWhatDiffers) {
  const v1::RunIdentity ours = MakeRunIdentity(Config(), 2);
  v1::Config other = Config();
  other.mutable_model()->set_bottom_widths(0, 300);
  EXPECT_THAT(DescribeMismatch(ours, MakeRunIdentity(other, 2)), HasSubstr("model"));
  other = Config();
  other.mutable_data()->mutable_synthetic()->set_seed(9);
  EXPECT_THAT(DescribeMismatch(ours, MakeRunIdentity(other, 2)), HasSubstr("reader"));
  other = Config();
  other.mutable_data()->mutable_csv()->set_header(true);
  const v1::RunIdentity csv = MakeRunIdentity(other, 2);
  other.mutable_data()->mutable_csv()->set_header(false);
  EXPECT_THAT(DescribeMismatch(csv, MakeRunIdentity(other, 2)), HasSubstr("reader"));
  other = Config();
  other.mutable_update()->mutable_dense()->mutable_adagrad()->set_learning_rate(0.5);
  EXPECT_THAT(DescribeMismatch(ours, MakeRunIdentity(other, 2)), HasSubstr("update"));
  other = Config();
  other.mutable_data()->set_epochs(3);
  EXPECT_THAT(DescribeMismatch(ours, MakeRunIdentity(other, 2)), HasSubstr("data.epochs"));
}

TEST(RunIdentity, MismatchNamesBothServerCountsAsTheRefusedOneSeesThem) {
  const std::string text =
      DescribeMismatch(MakeRunIdentity(Config(), 2), MakeRunIdentity(Config(), 3));
  EXPECT_THAT(text, HasSubstr("3 servers here and 2 at the process that refuses"));
}

TEST(RunIdentity, AllGoOnFromOneSavedModel) {
  EXPECT_EQ(DescribeMismatch(MakeRunIdentity(Config(), 2, 5), MakeRunIdentity(Config(), 2, 5)), "");
  EXPECT_THAT(DescribeMismatch(MakeRunIdentity(Config(), 2, 5), MakeRunIdentity(Config(), 2)),
              HasSubstr("--warm_start"));
}

TEST(RunIdentity, OneThatWasDamagedIsNoOtherReleaseNorConfig) {
  const v1::RunIdentity ours = MakeRunIdentity(Config(), 2);
  EXPECT_FALSE(IsDamaged(ours));
  EXPECT_FALSE(IsDamaged(v1::RunIdentity())) << "of a release that says nothing";
  const auto* reflection = v1::RunIdentity::GetReflection();
  for (int i = 0; i < v1::RunIdentity::descriptor()->field_count(); ++i) {
    const auto* field = v1::RunIdentity::descriptor()->field(i);
    v1::RunIdentity theirs = ours;
    if (field->cpp_type() == google::protobuf::FieldDescriptor::CPPTYPE_UINT32) {
      reflection->SetUInt32(&theirs, field, reflection->GetUInt32(ours, field) ^ 1);
    } else {
      reflection->SetUInt64(&theirs, field, reflection->GetUInt64(ours, field) ^ 1);
    }
    EXPECT_TRUE(IsDamaged(theirs)) << field->name();
    EXPECT_THAT(DescribeMismatch(ours, theirs), HasSubstr("damaged on the way"));
  }
}

TEST(RunIdentity, AnotherProtocolVersionIsSaidFirst) {
  v1::RunIdentity theirs = MakeRunIdentity(Config(), 3);
  theirs.set_protocol_version(kProtocolVersion + 1);
  theirs.set_model(1);
  theirs.clear_checksum();
  EXPECT_THAT(
      DescribeMismatch(MakeRunIdentity(Config(), 2), theirs),
      HasSubstr(StrCat("protocol version ", kProtocolVersion + 1, " meets ", kProtocolVersion)));
}

}  // namespace
}  // namespace weir::session
