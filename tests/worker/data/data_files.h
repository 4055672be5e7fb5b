// Scratch files and small configs for the readers' tests.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>
#include <zlib.h>
#include <zstd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "common/base/strings.h"
#include "common/proto/config.pb.h"

namespace weir::data {

// Each test has an empty directory of its own.
class DataFilesTest : public testing::Test {
 protected:
  DataFilesTest() {
    std::string pattern = testing::TempDir() + "weir_data_XXXXXX";
    directory_ = mkdtemp(pattern.data());
  }
  ~DataFilesTest() override { std::filesystem::remove_all(directory_); }

  std::string Path(const std::string& name) const { return directory_ + "/" + name; }

  std::string Write(const std::string& name, const std::string& text) const {
    std::ofstream(Path(name), std::ios::binary) << text;
    return Path(name);
  }

  // Appends a gzip member.
  std::string WriteGzip(const std::string& name, const std::string& text) const {
    gzFile file = gzopen(Path(name).c_str(), "ab");
    EXPECT_EQ(gzwrite(file, text.data(), static_cast<unsigned>(text.size())),
              static_cast<int>(text.size()));
    EXPECT_EQ(gzclose(file), Z_OK);
    return Path(name);
  }

  // Appends a zstd frame.
  std::string WriteZstd(const std::string& name, const std::string& text) const {
    std::string packed(ZSTD_compressBound(text.size()), '\0');
    packed.resize(ZSTD_compress(packed.data(), packed.size(), text.data(), text.size(), 1));
    std::ofstream(Path(name), std::ios::app | std::ios::binary) << packed;
    return Path(name);
  }

  const std::string& directory() const { return directory_; }

 private:
  std::string directory_;
};

// A well-formed Criteo line whose every field is a function of number.
inline std::string CriteoLine(int number) {
  std::string line = number % 3 == 0 ? "1" : "0";
  for (int i = 0; i < 13; ++i) line += StrCat("\t", number + i);
  for (int i = 0; i < 26; ++i) line += StrCat("\t", std::hex, number * 100 + i);
  return line;
}

// Lines [begin, end), each with its line end.
inline std::string CriteoLines(int begin, int end) {
  std::string text;
  for (int i = begin; i < end; ++i) text += CriteoLine(i) + "\n";
  return text;
}

// Chunks of four rows.
inline v1::Config CriteoConfig(const std::vector<std::string>& train) {
  v1::Config config;
  v1::DataConfig& data = *config.mutable_data();
  for (const std::string& path : train) data.add_train(path);
  data.set_batch_size(2);
  data.set_chunk_batches(2);
  data.mutable_criteo_tsv()->set_rows_per_table(1000);
  return config;
}

// A label y, a standardised x, and a c of which values that are there once are rare.
inline v1::CsvConfig LearningColumns() {
  v1::CsvConfig csv;
  csv.mutable_label()->set_column("y");
  v1::DenseColumn& x = *csv.add_dense();
  x.set_column("x");
  x.mutable_standardise();
  v1::CategoricalColumn& c = *csv.add_categorical();
  c.set_column("c");
  c.set_rows(10);
  c.set_minimum_frequency(2);
  return csv;
}

inline v1::SyntheticConfig SyntheticShape(int64_t rows, int64_t test_rows) {
  v1::SyntheticConfig synthetic;
  synthetic.set_rows(rows);
  synthetic.set_test_rows(test_rows);
  synthetic.set_seed(1);
  synthetic.set_tables(26);
  synthetic.set_dense_features(13);
  synthetic.set_rows_per_table(100'000);
  synthetic.mutable_teacher()->set_linear(0.62);
  synthetic.mutable_teacher()->set_pairwise(0.15);
  synthetic.mutable_teacher()->set_waves(0.15);
  synthetic.mutable_teacher()->set_gated(0.08);
  return synthetic;
}

inline v1::Config SyntheticConfig(int64_t rows, int64_t test_rows) {
  v1::Config config;
  *config.mutable_data()->mutable_synthetic() = SyntheticShape(rows, test_rows);
  config.mutable_data()->set_batch_size(8);
  config.mutable_data()->set_chunk_batches(4);
  return config;
}

}  // namespace weir::data
