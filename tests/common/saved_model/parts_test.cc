// Models of several files, as servers save them.
#include "common/saved_model/parts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "common/saved_model/manifest.h"
#include "tests/common/saved_model/parts_support.h"

namespace weir::saved_model {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

struct Counts {
  int64_t elements = 0, wrong = 0;
  uint64_t rows = 0;
};

class PartsTest : public PartsFixture {
 protected:
  static Visitor CountingVisitor(float shift, Counts* counts) {
    const auto count_piece = [=](const SavedPiece& piece) {
      counts->elements += static_cast<int64_t>(piece.values.size());
      const float value = shift + static_cast<float>(piece.tensor);
      for (const auto numbers : {piece.values, piece.state}) {
        counts->wrong += std::ranges::count_if(numbers, [&](float x) { return x != value; });
      }
    };
    const auto count_rows = [=](const SavedRows& saved) {
      counts->rows += saved.ids.size();
      std::vector<float> row(saved.row_floats);
      for (size_t i = 0; i < saved.ids.size(); ++i) {
        saved.CopyRow(i, row);
        counts->wrong += row[0] != shift + static_cast<float>(saved.ids[i]);
      }
    };
    return {.piece = count_piece, .rows = count_rows};
  }

  // Why it cannot be read; else what it holds is as saved.
  std::string Problem(float shift = 0) const {
    const auto model = SavedModel::Open(Folder());
    if (!model.ok()) return model.status().message();
    Counts counts;
    const Status status = (*model)->Visit(CountingVisitor(shift, &counts));
    if (!status.ok()) return status.message();
    EXPECT_EQ(counts.elements, layout_.dense_element_count());
    EXPECT_EQ(counts.rows, kRowsOfTable);
    EXPECT_EQ(counts.wrong, 0);
    return "";
  }
};

TEST_F(PartsTest, AModelOfAnyNumberOfPartsIsReadWhole) {
  for (const uint32_t count : {1u, 2u, 3u, 5u, 40u}) {  // of many servers some have next to nothing
    ASSERT_TRUE(Save(count, static_cast<float>(count)).ok());
    EXPECT_EQ(Problem(static_cast<float>(count)), "") << count;
    const auto model = SavedModel::Open(Folder());
    EXPECT_EQ((*model)->manifest().format(), 3u);
    EXPECT_EQ(std::distance(fs::directory_iterator(Folder()), {}), count + 1)
        << "nothing of the model before is left";
    EXPECT_EQ(std::distance(fs::directory_iterator(folder_.path()), {}), 1)
        << "nothing is left aside";
  }
}

TEST_F(PartsTest, AFileOfOneReplacesPartsAndPartsReplaceIt) {
  ASSERT_TRUE(Save(2).ok());
  {
    const auto writer = Writer::Create(Folder());
    ASSERT_TRUE(writer.ok()) << writer.status();
    ASSERT_TRUE((*writer)->Append(FramesOf(0, 1, 9)).ok());
    v1::SavedModelManifest manifest;
    *manifest.mutable_config() = config_;
    ASSERT_TRUE((*writer)->Finish(manifest).ok());
  }
  EXPECT_EQ(Problem(9), "");
  EXPECT_EQ((*SavedModel::Open(Folder()))->manifest().format(), 2u);
  ASSERT_TRUE(Save(3).ok());
  EXPECT_EQ(Problem(), "");
}

TEST_F(PartsTest, APartThatIsMissingOrCutShortIsNamed) {
  ASSERT_TRUE(Save(3).ok());
  const std::string path = PathOf(1, 3), whole = ContentOf(path);
  const auto names_it = AllOf(HasSubstr(path), HasSubstr("copy the whole folder again"));
  fs::remove(path);
  EXPECT_THAT(Problem(), names_it);
  for (const size_t size : {size_t{0}, whole.size() / 2, whole.size() - 1}) {
    Put(path, whole.substr(0, size));
    EXPECT_THAT(Problem(), names_it) << size;
  }
  Put(path, whole + "x");
  EXPECT_THAT(Problem(), names_it);
  Put(path, whole);
  EXPECT_EQ(Problem(), "");
}

TEST_F(PartsTest, APartOfAnotherPlaceRunOrNumberOfServersIsNamed) {
  const std::string path = PathOf(0, 2);
  ASSERT_TRUE(Save(2, 5).ok());
  const std::string of_other_run = ContentOf(path);
  ASSERT_TRUE(Save(3).ok());
  const std::string of_three = ContentOf(PathOf(0, 3));
  ASSERT_TRUE(Save(2).ok());
  const std::string mine = ContentOf(path), other = ContentOf(PathOf(1, 2));
  for (const std::string& foreign : {of_other_run, of_three, other}) {
    Put(path, foreign);
    EXPECT_THAT(Problem(), AllOf(HasSubstr(path), HasSubstr("copy the whole folder again")));
  }
  Put(path, other);
  Put(PathOf(1, 2), mine);
  EXPECT_THAT(Problem(), HasSubstr(path)) << "swapped";
}

TEST_F(PartsTest, EveryDamagedByteOfAPartIsFound) {
  ASSERT_TRUE(Save(2).ok());
  const std::string path = PathOf(1, 2), whole = ContentOf(path);
  for (size_t at = 0; at < whole.size(); at += 1 + whole.size() / 200) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    Put(path, damaged);
    const auto model = SavedModel::Open(Folder());
    ASSERT_TRUE(model.ok()) << model.status();
    const Status status =
        (*model)->Visit({.piece = [](const SavedPiece&) {}, .rows = [](const SavedRows&) {}});
    EXPECT_THAT(status.message(), HasSubstr(path)) << at;
  }
}

TEST_F(PartsTest, PartsAndWhatTheManifestSaysOfThemGoTogether) {
  ASSERT_TRUE(Save(2).ok());
  const std::string path = FileIn(Folder(), kManifestFile);
  const v1::SavedModelManifest whole = (*SavedModel::Open(Folder()))->manifest();
  const auto problem_of = [&](const std::function<void(v1::SavedModelManifest*)>& change) {
    v1::SavedModelManifest changed = whole;
    change(&changed);
    Put(path, ManifestText(changed));
    return Problem();
  };
  EXPECT_EQ(problem_of([](auto*) {}), "");
  EXPECT_THAT(problem_of([](auto* manifest) { manifest->mutable_parts()->RemoveLast(); }),
              HasSubstr("its parts are not what its format and bytes say"));
  EXPECT_THAT(problem_of([](auto* manifest) { manifest->set_parameter_bytes(3); }),
              HasSubstr("its parts are not what"));
  EXPECT_THAT(problem_of([](auto* manifest) { manifest->add_parts(); }), HasSubstr(PartName(0, 3)))
      << "which is of three servers";
  std::string text = ManifestText(whole);
  text = text.substr(0, text.rfind("checksum: "));
  text.replace(text.find("format: 3"), 9, "format: 2");
  Put(path, WithChecksum(text));
  EXPECT_THAT(Problem(), HasSubstr("its parts are not what"));
}

// Another server's --save may lead to a folder of the same name on another disk.
TEST_F(PartsTest, APartThatIsNotInTheFolderIsFoundBeforeTheModelIsReplaced) {
  ASSERT_TRUE(Save(2, 1).ok());
  for (const bool is_there : {false, true}) {
    const Status status = Save(2, 0, [&](const std::string& folder) {
      const std::string part = FileIn(folder, PartName(1, 2));
      is_there ? fs::resize_file(part, 3) : void(fs::remove(part));
    });
    EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
    EXPECT_THAT(status.message(),
                AllOf(HasSubstr(PartName(1, 2)), HasSubstr("one folder, which all of them reach")));
  }
  EXPECT_EQ(Problem(1), "") << "the model before";
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_.path()), {}), 1)
      << "nothing is left aside";
}

TEST_F(PartsTest, NamesOfPartsAreKnown) {
  for (const char* name : {"parameters.weir", "parameters-0-of-1.weir", "parameters-12-of-40.weir"})
    EXPECT_TRUE(IsParametersName(name)) << name;
  for (const char* name :
       {"parameters", "parameters-.weir", "parameters-0-of-.weir", "parameters--of-1.weir",
        "parameters-0-of-1.weir.txt", "parameters-0-of-weir", "parameters-x-of-1.weir",
        "parameters-0-of-1-of-2.weir", "parameters-1111111111-of-1.weir", "notes.txt", ""})
    EXPECT_FALSE(IsParametersName(name)) << name;
}

}  // namespace
}  // namespace weir::saved_model
