#include "worker/data/data_warnings.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <string_view>

#include "common/base/strings.h"

namespace weir::data {
namespace {

// Wanted seldom: a pattern may match what another has named.
void CheckRepeats(const v1::DataConfig& data, std::vector<std::string>* warnings) {
  std::map<std::string, std::string_view> fields;  // by path
  const auto look = [&](std::string_view field, const auto& names) {
    for (const std::string& name : names) {
      const std::string path = (std::filesystem::path(data.root()) / name).lexically_normal();
      const auto [known, is_new] = fields.emplace(path, field);
      if (is_new) continue;
      warnings->push_back(
          known->second == field
              ? StrCat(path, " is twice in ", field, ": its rows count twice")
              : StrCat(path, " is in data.train and in data.test: the test is of rows trained on"));
    }
  };
  look("data.train", data.train());
  look("data.test", data.test());
}

// A saved model may have learned of other columns; whoever takes it over refuses it.
// What is learned from a chunk that lacks a column's usual values is wrong for the whole run.
void CheckLearned(const v1::CsvConfig& csv, const v1::LearnedColumns& learned,
                  std::vector<std::string>* warnings) {
  constexpr std::string_view kCure =
      "; let data.train begin with a file that is like the others, and long enough";
  for (int i = 0; i < std::min(csv.dense_size(), learned.dense_size()); ++i) {
    const v1::DenseColumn& column = csv.dense(i);
    if (!column.has_standardise() || learned.dense(i).deviation() > 0) continue;
    warnings->push_back(StrCat(
        "column ", column.column(),
        " does not change in the first chunk of the first training file, from which standardise "
        "learns: it is 0 in every row",
        kCure, ", or leave the column out"));
  }
  for (int i = 0; i < std::min(csv.categorical_size(), learned.categorical_size()); ++i) {
    const v1::CategoricalColumn& column = csv.categorical(i);
    if (column.minimum_frequency() == 0 || learned.categorical(i).frequent_size() > 0) continue;
    warnings->push_back(StrCat(
        "no value of column ", column.column(), " is ", column.minimum_frequency(),
        " times (minimum_frequency) in the first chunk of the first training file, from which that "
        "is learned: all its values are one, the rare value",
        kCure, ", or make minimum_frequency smaller"));
  }
}

}  // namespace

std::vector<std::string> Warnings(const v1::DataConfig& data, const v1::LearnedColumns& learned) {
  std::vector<std::string> warnings;
  if (data.has_synthetic()) return warnings;  // its files are not read
  CheckRepeats(data, &warnings);
  if (data.has_csv()) CheckLearned(data.csv(), learned, &warnings);
  return warnings;
}

}  // namespace weir::data
