#include "common/config/validate_config.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include "common/config/defaults.h"

namespace weir::config {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

v1::Config Parse(const std::string& text) {
  v1::Config config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config)) << text;
  FillDefaults(&config);
  return config;
}

// Violations of a valid config with a synthetic reader to which `text` is added.
std::vector<std::string> Violations(const std::string& text) {
  v1::Config config = Parse("data { synthetic { tables: 2 } }");
  v1::Config changes;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &changes)) << text;
  if (changes.has_compression()) config.clear_compression();
  if (changes.model().bottom_widths_size() > 0) config.mutable_model()->clear_bottom_widths();
  if (changes.model().top_widths_size() > 0) config.mutable_model()->clear_top_widths();
  config.MergeFrom(changes);
  FillDefaults(&config);
  return ValidateConfig(config);
}

struct BrokenRule {
  const char* text;
  const char* path;  // what the only violation starts with
};

class ValidateConfigRules : public testing::TestWithParam<BrokenRule> {};

TEST_P(ValidateConfigRules, AreEachReportedAlone) {
  EXPECT_THAT(Violations(GetParam().text), ElementsAre(StartsWith(GetParam().path)))
      << GetParam().text;
}

INSTANTIATE_TEST_SUITE_P(
    All, ValidateConfigRules,
    testing::Values(
        BrokenRule{"model { bottom_widths: [0, 16] }", "model.bottom_widths[0]: 0 "},
        BrokenRule{"model { bottom_widths: [-1, 16] }", "model.bottom_widths[0]: -1 "},
        BrokenRule{"model { top_widths: [70000, 1] }", "model.top_widths[0]: "},
        BrokenRule{"model { top_widths: [8, 2] }", "model.top_widths: the last width is 2;"},
        BrokenRule{"model { bottom_widths: 5000 embedding_dimension: 5000 }",
                   "model.embedding_dimension: "},
        BrokenRule{"pipeline { in_flight: 0 }", "pipeline.in_flight: 0 is out of range"},
        BrokenRule{"pipeline { split {} }", "pipeline.split[0].after: is not set"},
        BrokenRule{"pipeline { split { after: 'middle/0' } }",
                   "pipeline.split[0].after: 'middle/0' is no layer"},
        BrokenRule{"pipeline { split { after: 'bottom/1/weight' } }",
                   "pipeline.split[0].after: 'bottom/1/weight' is no layer"},
        BrokenRule{"pipeline { split { after: 'top/00' } }",
                   "pipeline.split[0].after: 'top/00' is no layer"},
        BrokenRule{"pipeline { split { after: 'bottom/' } }",
                   "pipeline.split[0].after: 'bottom/' "},
        BrokenRule{"pipeline { split { after: 'bottom/-1' } }",
                   "pipeline.split[0].after: 'bottom/-1' "},
        BrokenRule{"pipeline { split { after: 'bottom/4' } }",
                   "pipeline.split[0].after: there is no layer bottom/4: the bottom MLP has 4"},
        BrokenRule{"pipeline { split { after: 'top/3' } }",
                   "pipeline.split[0].after: top/3 is the last layer"},
        BrokenRule{"pipeline { split { after: 'top/1' } split { after: 'top/1' } }",
                   "pipeline.split[1].after: there is a split after top/1 already"},
        BrokenRule{"pipeline { split { after: 'top/1' } split { after: 'bottom/1' } }",
                   "pipeline.split[1].after: bottom/1 comes before top/1"},
        BrokenRule{"pipeline { split { after: 'top/1' dct_mp {} } }",
                   "pipeline.split[0].dct_mp.sparsity: is not set"},
        BrokenRule{"pipeline { split { after: 'top/1' dct_mp { sparsity: 1 } } }",
                   "pipeline.split[0].dct_mp.sparsity: 1 is out of range"},
        BrokenRule{"pipeline { split { after: 'top/1' random_k { sparsity: nan } } }",
                   "pipeline.split[0].random_k.sparsity: nan is out of range"},
        BrokenRule{"pipeline { split { after: 'top/1' top_k_gradient { sparsity: -1 } } }",
                   "pipeline.split[0].top_k_gradient.sparsity: -1 is out of range"},
        BrokenRule{"pipeline { split { after: 'top/1' gaussian_sketch { compression: 2 } } }",
                   "pipeline.split[0].gaussian_sketch.compression: 2 is out of range"},
        BrokenRule{"data { batch_size: 129 } pipeline { split { after: 'top/1' "
                   "top_k_gradient { sparsity: 0.9 whole_batch: true } } }",
                   "pipeline.split[0].top_k_gradient.whole_batch: a batch of 129 crosses in frames "
                   "of 128 samples"},
        BrokenRule{"pipeline { split { after: 'top/1' quantize { bits: 1 } } }",
                   "pipeline.split[0].quantize.bits: 1 is out of range"},
        BrokenRule{"pipeline { split { after: 'top/1' quantize {} values: BF16 } }",
                   "pipeline.split[0].values: quantize sends codes"},
        BrokenRule{"pipeline { split { after: 'top/1' values: 7 } }",
                   "pipeline.split[0].values: unknown value 7"},
        BrokenRule{"model { precision: 9 }", "model.precision: unknown value 9"},
        BrokenRule{"data { criteo_tsv {} }", "data.train: "},
        BrokenRule{R"(data { train: "a" criteo_tsv { rows_per_table: 0 } })",
                   "data.criteo_tsv.rows_per_table: 0 "},
        BrokenRule{R"(data { train: "a" csv { label { column: "y" }
                      dense { column: "y" } categorical { column: "z" rows: 9 } } })",
                   "data.csv.dense[0].column: 'y' is the label's"},
        BrokenRule{
            R"(data { train: "a" csv { quotes: 7 label { column: "y" } dense { column: "x" } } })",
            "data.csv.quotes: unknown value 7; choose DOUBLE or NONE"},
        BrokenRule{R"(data { train: "a" csv { delimiter: "\n" label { column: "y" }
                      dense { column: "x" } } })",
                   "data.csv.delimiter: '\n' is not one character that can stand between fields"},
        BrokenRule{R"(data { train: "a" csv { delimiter: "::" label { column: "y" }
                      dense { column: "x" } } })",
                   "data.csv.delimiter: '::' is not one character"},
        BrokenRule{R"(data { train: "a" csv { label { column: "y" }
                      dense { column: "x" } categorical { column: "y" rows: 9 } } })",
                   "data.csv.categorical[0].column: 'y' is the label's"},
        BrokenRule{R"(data { test: "" })", "data.test[0]: "},
        BrokenRule{"data { synthetic { rows: 0 } }", "data.synthetic.rows: "},
        BrokenRule{"data { synthetic { test_rows: -1 } }", "data.synthetic.test_rows: "},
        BrokenRule{"data { synthetic { tables: -1 } }", "data.synthetic.tables: "},
        BrokenRule{"data { synthetic { dense_features: 0 } }", "data.synthetic.dense_features: "},
        BrokenRule{"data { synthetic { rows_per_table: 2000000000000 } }",
                   "data.synthetic.rows_per_table: "},
        BrokenRule{"data { synthetic { teacher { linear: -0.1 } } }",
                   "data.synthetic.teacher.linear: -0.1 is out of range"},
        BrokenRule{"data { synthetic { teacher { pairwise: 1001 } } }",
                   "data.synthetic.teacher.pairwise: "},
        BrokenRule{"data { synthetic { teacher { waves: nan } } }",
                   "data.synthetic.teacher.waves: nan "},
        BrokenRule{"data { synthetic { teacher { gated: -1 } } }",
                   "data.synthetic.teacher.gated: "},
        BrokenRule{"data { synthetic { teacher { linear: 0 pairwise: 0 waves: 0 gated: 0 } } }",
                   "data.synthetic.teacher: all shares are 0"},
        BrokenRule{"data { synthetic { tables: 1 teacher { linear: 0 waves: 0 gated: 0 } } }",
                   "data.synthetic.teacher: of so few features"},
        BrokenRule{"data { batch_size: 0 }", "data.batch_size: "},
        BrokenRule{"data { batch_size: 65537 }", "data.batch_size: "},
        BrokenRule{"data { epochs: 0 }", "data.epochs: "},
        BrokenRule{"data { chunk_batches: 0 }", "data.chunk_batches: "},
        BrokenRule{"data { batch_size: 65536 chunk_batches: 257 }", "data.chunk_batches: "},
        BrokenRule{"data { batch_size: 65536 chunk_batches: 256 synthetic { tables: 100 } }",
                   "data.chunk_batches: a chunk of 256 batches of 65536 has 14361296896 bytes"},
        BrokenRule{"data { max_malformed_share: 1.5 }", "data.max_malformed_share: "},
        BrokenRule{"data { max_malformed_share: nan }", "data.max_malformed_share: nan "},
        BrokenRule{"data { train_rows: -1 }", "data.train_rows: -1 "},
        BrokenRule{"update { dense { sgd {} } }", "update.dense.sgd.learning_rate: is not set"},
        BrokenRule{"update { dense {adagrad { learning_rate: 0 }} }",
                   "update.dense.adagrad.learning_rate: 0 "},
        BrokenRule{"update { rows { sgd { learning_rate: inf } } }",
                   "update.rows.sgd.learning_rate: inf "},
        BrokenRule{"update { rows { sgd { learning_rate: 1e-60 } } }",
                   "update.rows.sgd.learning_rate: "},
        BrokenRule{"update { rows { rowwise_adagrad { initial_accumulator: -1 } } }",
                   "update.rows.rowwise_adagrad.initial_accumulator: "},
        BrokenRule{"update { rows { rowwise_adagrad { epsilon: nan } } }",
                   "update.rows.rowwise_adagrad.epsilon: "},
        BrokenRule{"update { dense { adagrad { epsilon: 0 } } }", "update.dense.adagrad: epsilon"},
        BrokenRule{"update { dense { rowwise_adagrad { learning_rate: 1 } } }", "update.dense: "},
        BrokenRule{"update { dense { momentum { learning_rate: 1 momentum: 1 } } }",
                   "update.dense.momentum.momentum: 1 "},
        BrokenRule{"update { rows { momentum {} } }",
                   "update.rows.momentum.learning_rate: is not set"},
        BrokenRule{"update { dense { adam { learning_rate: 1 beta2: 0 } } }",
                   "update.dense.adam.beta2: 0 "},
        BrokenRule{"update { dense { adam { learning_rate: 1 beta2: 1 } } }",
                   "update.dense.adam.beta2: 1 is out of range; choose from 1e-06 to 1 - 1e-09"},
        BrokenRule{"update { dense { adam { learning_rate: 1 epsilon: 0 } } }",
                   "update.dense.adam.epsilon: 0 "},
        BrokenRule{"update { rows { adam { learning_rate: 1 beta1: 0.9 beta2: 0.81 } } }",
                   "update.rows.adam: beta1"},
        BrokenRule{"update { dense { weight_decay: -1 } }", "update.dense.weight_decay: -1 "},
        BrokenRule{"update { dense { sgd { learning_rate: 0.5 } weight_decay: 2 } }",
                   "update.dense.weight_decay: 2 times the learning rate"},
        BrokenRule{"update { rows { clip_norm: nan } }", "update.rows.clip_norm: "},
        BrokenRule{"update { dense { max_push_norm: -1 } }", "update.dense.max_push_norm: -1 "},
        BrokenRule{"update { rows { max_push_norm: nan } }", "update.rows.max_push_norm: "},
        BrokenRule{"update { rows { max_push_norm: inf } }", "update.rows.max_push_norm: "},
        BrokenRule{"update { rows { dense_semantics: true } }", "update.rows.dense_semantics: "},
        BrokenRule{"update { dense { schedule { warmup_steps: -1 } } }",
                   "update.dense.schedule.warmup_steps: -1 "},
        BrokenRule{"update { dense { schedule { warmup_steps: 9 decay_start: 8 } } }",
                   "update.dense.schedule.decay_start: 8 "},
        BrokenRule{"update { dense { schedule { step {} } } }",
                   "update.dense.schedule.step.every: is not set"},
        BrokenRule{"update { dense { schedule { step { every: 1 factor: 2 } } } }",
                   "update.dense.schedule.step.factor: 2 "},
        BrokenRule{"update { rows { schedule { polynomial { steps: 0 } } } }",
                   "update.rows.schedule.polynomial.steps: 0 "},
        BrokenRule{"update { rows { schedule { polynomial { steps: 1 power: 0 } } } }",
                   "update.rows.schedule.polynomial.power: 0 "},
        BrokenRule{"update { dense { schedule { cosine { end: 0 } } } }",
                   "update.dense.schedule.cosine.steps: is not set"},
        BrokenRule{"update { dense { schedule { cosine { steps: 1 end: 2 } } } }",
                   "update.dense.schedule.cosine.end: 2 "},
        BrokenRule{"cluster { window: 0 }", "cluster.window: "},
        BrokenRule{"cluster { concurrency_warmup_steps: -1 }",
                   "cluster.concurrency_warmup_steps: "},
        BrokenRule{"cluster { max_concurrency: -1 }", "cluster.max_concurrency: "},
        BrokenRule{"cluster { prefetch_batches: 17 }", "cluster.prefetch_batches: "},
        BrokenRule{"cluster { answer_values: 9 }", "cluster.answer_values: unknown value 9"},
        BrokenRule{"cluster { server_threads: 65 }", "cluster.server_threads: "},
        BrokenRule{"cluster { row_partitions: 0 }", "cluster.row_partitions: "},
        BrokenRule{"cluster { connect_timeout_ms: 0 }", "cluster.connect_timeout_ms: "},
        BrokenRule{"cluster { answer_timeout_ms: 0 }", "cluster.answer_timeout_ms: "},
        BrokenRule{"cluster { join_timeout_ms: 0 }", "cluster.join_timeout_ms: "},
        BrokenRule{"cluster { member_timeout_ms: 2999 }", "cluster.member_timeout_ms: 2999 "},
        BrokenRule{"cluster { max_message_bytes: 1048575 }", "cluster.max_message_bytes: "},
        BrokenRule{"cluster { max_message_bytes: 1099511627777 }", "cluster.max_message_bytes: "},
        BrokenRule{"cluster { max_unacknowledged_bytes: 0 }", "cluster.max_unacknowledged_bytes: "},
        BrokenRule{"run { evaluate_every_samples: -1 }", "run.evaluate_every_samples: "},
        BrokenRule{"run { report_interval_ms: 0 }", "run.report_interval_ms: "}));

INSTANTIATE_TEST_SUITE_P(
    Compression, ValidateConfigRules,
    testing::Values(
        BrokenRule{"compression { default { values: BF16 } }",
                   "compression.default: has no policy; write none {}"},
        BrokenRule{R"(compression { default { match: "top/*" none {} } })",
                   "compression.default.match: "},
        BrokenRule{"compression { default { dct {} } }",
                   "compression.default.dct.sparsity: is not set"},
        BrokenRule{"compression { default { dct { sparsity: 1 } } }",
                   "compression.default.dct.sparsity: 1 "},
        BrokenRule{"compression { default { dct { sparsity: nan } } }",
                   "compression.default.dct.sparsity: nan "},
        BrokenRule{"compression { default { top_k {} } }",
                   "compression.default.top_k.sparsity: is not set"},
        BrokenRule{"compression { default { deft {} } }",
                   "compression.default.deft.sparsity: is not set"},
        BrokenRule{"compression { default { deft { sparsity: 0.9 dealing: 3 } } }",
                   "compression.default.deft.dealing: unknown value 3"},
        BrokenRule{"compression { default { deft { sparsity: 0.9 cost: 3 } } }",
                   "compression.default.deft.cost: unknown value 3"},
        BrokenRule{"compression { default { exdyna { sparsity: 1 } } }",
                   "compression.default.exdyna.sparsity: 1 "},
        BrokenRule{"compression { default { exdyna { sparsity: 0.9 blocks: 0 } } }",
                   "compression.default.exdyna.blocks: 0 "},
        BrokenRule{"compression { default { exdyna { sparsity: 0.9 band: 3 } } }",
                   "compression.default.exdyna.band: unknown value 3"},
        BrokenRule{"compression { default { exdyna { sparsity: 0.9 start: 3 } } }",
                   "compression.default.exdyna.start: unknown value 3"},
        BrokenRule{"compression { default { clt_k { sparsity: nan } } }",
                   "compression.default.clt_k.sparsity: nan "},
        BrokenRule{"compression { default { union_hard_threshold {} } }",
                   "compression.default.union_hard_threshold.threshold: is not set"},
        BrokenRule{"compression { default { union_top_k {} } }",
                   "compression.default.union_top_k.sparsity: is not set"},
        BrokenRule{R"(compression { layer { match: "table/*" union_top_k { sparsity: 0.9 } } })",
                   "compression.layer[0]: union_top_k cannot serve \"table/*\""},
        BrokenRule{"compression { default { random_k { sparsity: -0.1 } } }",
                   "compression.default.random_k.sparsity: -0.1 "},
        BrokenRule{"update { dense { sgd { learning_rate: 0.1 } l2_penalty: -1 } }",
                   "update.dense.l2_penalty: -1 is out of range"},
        BrokenRule{"update { rows { sgd { learning_rate: 0.1 } l2_penalty: 1.5 } }",
                   "update.rows.l2_penalty: 1.5 is out of range"},
        BrokenRule{"compression { default { hard_threshold {} } }",
                   "compression.default.hard_threshold.threshold: is not set"},
        BrokenRule{"compression { default { hard_threshold { threshold: 0 } } }",
                   "compression.default.hard_threshold.threshold: 0 "},
        BrokenRule{"compression { default { sidco { sparsity: 1 } } }",
                   "compression.default.sidco.sparsity: 1 "},
        BrokenRule{"compression { default { sidco { sparsity: 0.9 stages: -1 } } }",
                   "compression.default.sidco.stages: -1 "},
        BrokenRule{"compression { default { sidco { sparsity: 0.9 distribution: 9 } } }",
                   "compression.default.sidco.distribution: unknown value 9"},
        BrokenRule{"compression { default { strom { threshold: inf } } }",
                   "compression.default.strom.threshold: inf "},
        BrokenRule{"compression { default { strom { threshold: 0.1 } values: BF16 } }",
                   "compression.default.values: BF16 is nothing to strom"},
        BrokenRule{"compression { default { lazy_rows {} } }",
                   "compression.default: lazy_rows cannot serve the layers of MLPs"},
        BrokenRule{R"(compression { layer { match: "table/*" lazy_rows { max_age: 0 } } })",
                   "compression.layer[0].lazy_rows.max_age: 0 "},
        BrokenRule{R"(compression { layer { match: "table/*" lazy_rows { threshold: -1 } } })",
                   "compression.layer[0].lazy_rows.threshold: -1 "},
        BrokenRule{R"(compression { layer { match: "table/*" lazy_rows { decay: 0 } } })",
                   "compression.layer[0].lazy_rows.decay: 0 "},
        BrokenRule{"compression { row_cache { rows: -1 } }", "compression.row_cache.rows: -1 "},
        BrokenRule{"compression { row_cache { max_age: 1 } }", "compression.row_cache.max_age: 1 "},
        BrokenRule{R"(compression { layer { match: "tabel/*" lazy_rows {} } })",
                   "compression.layer[0].match: \"tabel/*\" matches no layer"},
        BrokenRule{R"(compression { layer { match: "*" none {} }
                                    layer { match: "top/0/*" dct { sparsity: 0.9 } } })",
                   "compression.layer[1].match: \"top/0/*\" matches only layers that earlier rules "
                   "serve; put it before them"},
        BrokenRule{"run { evaluate_every_samples: 5 } data { synthetic { test_rows: 0 } }",
                   "run.evaluate_every_samples: there are no test rows"},
        BrokenRule{"cluster { row_values: 7 }", "cluster.row_values: unknown value 7"},
        BrokenRule{"compression { default { one_bit {} values: BF16 } }",
                   "compression.default.values: BF16 is nothing to one_bit"},
        BrokenRule{"compression { default { variance { alpha: 0 } } }",
                   "compression.default.variance.alpha: 0 "},
        BrokenRule{"compression { default { variance { decay: 1.5 } } }",
                   "compression.default.variance.decay: 1.5 "},
        BrokenRule{"compression { default { hybrid { alpha: 1 } } }",
                   "compression.default.hybrid.threshold: is not set"},
        BrokenRule{"compression { default { hybrid { threshold: 1 correction: 7 } } }",
                   "compression.default.hybrid.correction: unknown value 7"},
        BrokenRule{"compression { default { qsgd { bits: 9 } } }",
                   "compression.default.qsgd.bits: 9 "},
        BrokenRule{"compression { default { qsgd { bucket: 100 } } }",
                   "compression.default.qsgd.bucket: 100 is no power of two"},
        BrokenRule{"compression { default { one_bit { bucket: 8192 } } }",
                   "compression.default.one_bit.bucket: 8192 is no power of two"},
        BrokenRule{"compression { default { terngrad { clip: -1 } } }",
                   "compression.default.terngrad.clip: -1 "},
        BrokenRule{R"(compression { layer { match: "table/*" strom { threshold: 0.1 } } })",
                   "compression.layer[0]: strom cannot serve \"table/*\""},
        BrokenRule{"compression { default { dct { sparsity: 0.9 lifespan: 0 } } }",
                   "compression.default.dct.lifespan: "},
        BrokenRule{"compression { default { dct { sparsity: 0.9 drain_period: 0 } } }",
                   "compression.default.dct.drain_period: "},
        BrokenRule{"compression { default { dct { sparsity: 0.9 quantile: 3 } } }",
                   "compression.default.dct.quantile: unknown value 3; choose SAMPLED or SORTED"},
        BrokenRule{"compression { default { dct { sparsity: 0.9 start: 9 drain: FLUSH } } }",
                   "compression.default.dct.start: unknown value 9"},
        BrokenRule{
            "compression { default { dct { sparsity: 0.9 drain: DECAY drain_factor: 1.1 } } }",
            "compression.default.dct.drain_factor: "},
        BrokenRule{"compression { default { dct { sparsity: 0.9 drain: 9 } } }",
                   "compression.default.dct.drain: unknown value 9"},
        BrokenRule{"compression { default { none {} values: 9 } }",
                   "compression.default.values: unknown value 9"},
        BrokenRule{"compression { layer { none {} } }", "compression.layer[0].match: is empty"},
        BrokenRule{
            R"(compression { layer { match: "top/*" none {} } layer { match: "t" none {} } })",
            "compression.layer[1].match: \"t\" matches no layer; layers are named "
            "bottom/0/weight, bottom/0/bias, top/3/bias, table/C2"},
        BrokenRule{"compression { default { hybrid { threshold: 0.1 alpha: 0 } } }",
                   "compression.default.hybrid.alpha: 0 "},
        BrokenRule{"compression { default { hybrid { threshold: 0.1 decay: 0 } } }",
                   "compression.default.hybrid.decay: 0 "},
        BrokenRule{"compression { default { hybrid { threshold: 0.1 } values: BF16 } }",
                   "compression.default.values: BF16 is nothing to hybrid"},
        BrokenRule{"compression { default { variance {} values: BF16 } }",
                   "compression.default.values: BF16 is nothing to variance"},
        BrokenRule{"compression { default { qsgd {} values: BF16 } }",
                   "compression.default.values: BF16 is nothing to qsgd"},
        BrokenRule{"compression { default { terngrad {} values: BF16 } }",
                   "compression.default.values: BF16 is nothing to terngrad"},
        BrokenRule{R"(compression { layer { match: "table/*" lazy_rows { alpha: 0 } } })",
                   "compression.layer[0].lazy_rows.alpha: 0 "},
        BrokenRule{R"(compression { layer { match: "table/*" lazy_rows { max_rows: 0 } } })",
                   "compression.layer[0].lazy_rows.max_rows: 0 "},
        BrokenRule{R"(compression { layer { match: "top/*" lazy_rows {} } })",
                   "compression.layer[0]: lazy_rows cannot serve"},
        BrokenRule{R"(compression { layer { match: "table/C3" none {} } })",
                   "compression.layer[0].match: "},
        BrokenRule{R"(compression { layer { match: "table/*" dct { sparsity: 0.9 } } })",
                   "compression.layer[0]: dct cannot serve \"table/*\""}));

TEST(ValidateConfig, AcceptsTheEdgesOfItsRanges) {
  EXPECT_THAT(Violations(R"(
      model { bottom_widths: 1 top_widths: 1 embedding_dimension: 1 }
      data { synthetic { tables: 0 test_rows: 0 rows_per_table: 1 } batch_size: 65536
             chunk_batches: 256 max_malformed_share: 0 }
      update { dense { adagrad { epsilon: 0 initial_accumulator: 0.5 } } }
      compression { default { dct { sparsity: 0 lifespan: 1 drain_period: 1 } values: BF16 } }
      cluster { window: 64 prefetch_batches: 0 max_message_bytes: 1048576
                member_timeout_ms: 3000 })"),
              IsEmpty());
}

TEST(ValidateConfig, DemandsAReader) {
  EXPECT_THAT(ValidateConfig(Parse("")), ElementsAre(StartsWith("data: no reader is chosen")));
}

TEST(ValidateConfig, NamesBothWidthsThatMustBeEqual) {
  EXPECT_THAT(
      Violations("model { embedding_dimension: 24 }"),
      ElementsAre(AllOf(StartsWith("model.bottom_widths: "), HasSubstr("16"), HasSubstr("24"))));
}

TEST(ValidateConfig, NoTensorHasMoreElementsThanAFrameCanName) {
  EXPECT_THAT(Violations("model { bottom_widths: [65536, 65535, 16] }"), IsEmpty());
  EXPECT_THAT(Violations("model { bottom_widths: [2, 65536, 65536, 16] }"),
              ElementsAre(AllOf(StartsWith("model.bottom_widths[2]: bottom/2/weight"),
                                HasSubstr("65536 x 65536"), HasSubstr("4294967295"))));
  EXPECT_THAT(Violations("data { synthetic { dense_features: 65536 } } "
                         "model { bottom_widths: [65536, 16] }"),
              ElementsAre(StartsWith("model.bottom_widths[0]: bottom/0/weight")));
  // 1024 tables and the bottom output of 16 make an input of 524,816.
  EXPECT_THAT(
      Violations("data { synthetic { tables: 1024 } } model { top_widths: [8183, 65536, 1] }"),
      IsEmpty());
  EXPECT_THAT(
      Violations("data { synthetic { tables: 1024 } } model { top_widths: [8184, 65536, 1] }"),
      ElementsAre(StartsWith("model.top_widths[0]: top/0/weight")));
}

TEST(ValidateConfig, ListsAllViolationsAtOnce) {
  EXPECT_THAT(Violations("model { top_widths: 2 } data { epochs: 0 } cluster { window: 0 }"),
              ElementsAre(StartsWith("model.top_widths"), StartsWith("data.epochs"),
                          StartsWith("cluster.window")));
}

TEST(ValidateConfig, DoesNotLookForLayersOfAModelThatIsWrong) {
  EXPECT_THAT(Violations(R"(data { synthetic { tables: -5 } }
                            compression { layer { match: "nothing" none {} } })"),
              ElementsAre(StartsWith("data.synthetic.tables")));
}

TEST(ValidateEmbedded, RefusesPoliciesThatNeedServers) {
  const auto violations = ValidateEmbedded(Parse(R"(data { synthetic {} } compression {
      default { dct { sparsity: 0.9 } }
      layer { match: "top/*" none {} }
      layer { match: "bottom/*" dct { sparsity: 0.9 } } })"));
  EXPECT_THAT(violations, ElementsAre(StartsWith("compression.default: dct "),
                                      StartsWith("compression.layer[1]: dct ")));
  EXPECT_THAT(ValidateEmbedded(Parse("data { synthetic {} }")), IsEmpty());
  EXPECT_THAT(ValidateEmbedded(Parse(R"(data { synthetic {} } compression {
      layer { match: "table/*" none {} values: BF16 } })")),
              ElementsAre(StartsWith("compression.layer[0].values: BF16 ")));
  EXPECT_THAT(ValidateEmbedded(
                  Parse("data { synthetic {} } cluster { answer_values: BF16 row_values: BF16 }")),
              ElementsAre(StartsWith("cluster.answer_values: BF16 "),
                          StartsWith("cluster.row_values: BF16 ")));
  EXPECT_THAT(ValidateEmbedded(Parse("data { synthetic {} } update { dense { max_push_norm: 1 } "
                                     "rows { max_push_norm: 0.1 } }")),
              ElementsAre(StartsWith("update.dense.max_push_norm: bounds what servers take"),
                          StartsWith("update.rows.max_push_norm: bounds what servers take")));
}

TEST(ValidateConfig, AModelHasSixteenStagesAtMost) {
  std::string text = "model {";
  for (int i = 0; i < 20; ++i) text += " top_widths: 8";
  text += " top_widths: 1 } pipeline {";
  for (int i = 0; i < 15; ++i) text += " split { after: 'top/" + std::to_string(i) + "' }";
  EXPECT_THAT(Violations(text + " }"), IsEmpty());
  EXPECT_THAT(Violations(text + " split { after: 'top/15' } }"),
              ElementsAre(StartsWith("pipeline.split: there are 16; at most 15")));
}

}  // namespace
}  // namespace weir::config
