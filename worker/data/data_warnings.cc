#include "worker/data/data_warnings.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <string_view>

#include "common/base/strings.h"

namespace weir::data {
namespace {

// Of files that are named again: how many, and one of them.
struct Repeats {
  int count = 0;
  std::string first;

  void Add(const std::string& path) {
    if (count++ == 0) first = path;
  }
  std::string Which(const std::string& where) const {
    if (count == 1) return StrCat(first, " is ", where);
    return StrCat(count, " files, ", first, " for one, are ", where);
  }
};

// Wanted seldom: a pattern may match what another has named.
void CheckRepeats(const v1::DataConfig& data, std::vector<std::string>* warnings) {
  std::set<std::string> train, test;
  Repeats train_twice, test_twice, in_both;
  const auto path_of = [&](const std::string& name) {
    return (std::filesystem::path(data.root()) / name).lexically_normal().string();
  };
  for (const std::string& name : data.train()) {
    if (!train.insert(path_of(name)).second) train_twice.Add(path_of(name));
  }
  for (const std::string& name : data.test()) {
    if (train.contains(path_of(name))) in_both.Add(path_of(name));
    if (!test.insert(path_of(name)).second) test_twice.Add(path_of(name));
  }
  constexpr const char* kCount = ": their rows count twice";
  if (train_twice.count > 0) warnings->push_back(train_twice.Which("twice in data.train") + kCount);
  if (test_twice.count > 0) warnings->push_back(test_twice.Which("twice in data.test") + kCount);
  if (in_both.count > 0) {
    warnings->push_back(in_both.Which("in data.train and in data.test") +
                        ": the test is of rows trained on");
  }
}

// What is learned from a chunk that lacks a column's usual values is wrong for the whole run.
void CheckLearned(const v1::CsvConfig& csv, const v1::LearnedColumns& learned,
                  std::vector<std::string>* warnings) {
  // A saved model may have learned of other columns; whoever takes it over refuses it.
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
