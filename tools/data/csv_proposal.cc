#include "tools/data/csv_proposal.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "common/base/strings.h"
#include "tools/data/column_plan.h"
#include "worker/data/csv_columns.h"
#include "worker/data/dense_column.h"

namespace weir::tools {
namespace {

using Kind = ColumnPlan::Kind;

std::string Described(const ColumnSample& column) {
  std::string text =
      StrCat(column.values.size(), column.more_values ? " values or more" : " values");
  if (column.is_number()) {
    text += StrCat(", numbers from ", Format("%.12g", column.smallest), " to ",
                   Format("%.12g", column.largest));
  }
  if (column.missing_count > 0) text += StrCat(", ", column.missing_count, " missing");
  return text;
}

void SetDialect(const CsvSample& sample, v1::CsvConfig* csv) {
  const char delimiter = sample.dialect.delimiter;
  if (delimiter != ',') {
    csv->set_delimiter(delimiter == '\t' ? "\\t" : std::string(1, delimiter));
  }
  if (!sample.has_header) csv->set_header(false);
  if (!sample.dialect.has_quotes) csv->set_quotes(v1::CsvConfig::NONE);
}

void AddDense(const std::string& name, Kind kind, v1::CsvConfig* csv) {
  v1::DenseColumn& dense = *csv->add_dense();
  dense.set_column(name);
  if (kind == Kind::kCount) dense.mutable_log1p();
  dense.mutable_standardise();
}

void AddTable(const std::string& name, const ColumnPlan& plan, v1::CsvConfig* csv) {
  v1::CategoricalColumn& table = *csv->add_categorical();
  table.set_column(name);
  table.set_rows(plan.rows);
  if (plan.kind == Kind::kInteger || plan.kind == Kind::kHour) table.mutable_integer();
  if (!plan.separator.empty()) table.set_separator(plan.separator);
}

const char* KindName(const ColumnPlan& plan) {
  switch (plan.kind) {
    case Kind::kLeftOut:
      return "";
    case Kind::kNumber:
    case Kind::kCount:
      return plan.rows == 0 ? "dense" : "dense, and categorical beside it";
    default:
      return "categorical";
  }
}

void TellColumn(const ColumnSample& column, const ColumnPlan& plan, std::ostream& out) {
  const std::string parts[] = {Described(column), KindName(plan), plan.reason};
  std::vector<std::string> told;
  for (const std::string& part : parts) {
    if (!part.empty()) told.push_back(part);
  }
  out << "  " << column.name << ": " << StrJoin(told, "; ") << "\n";
}

class Proposer {
 public:
  Proposer(Proposal* proposal, std::ostream& out)
      : proposal_(*proposal), csv_(*proposal->config.mutable_data()->mutable_csv()), out_(out) {}

  void AddColumn(const ColumnSample& column) {
    if (column.name.empty()) {
      out_ << "  (no name, so no config can use it): " << Described(column) << "\n";
      return;
    }
    const ColumnPlan plan = PlanColumn(column);
    TellColumn(column, plan, out_);
    if (plan.kind == Kind::kLeftOut) return;
    if (!plan.is_table()) {
      AddDense(column.name, plan.kind, &csv_);
      proposal_.size.has_numbers = true;
    }
    if (plan.rows > 0) {
      AddTable(column.name, plan, &csv_);
      proposal_.size.value_count += std::ssize(column.values);
    }
    const bool is_known = std::ranges::find(csv_.missing(), plan.missing) != csv_.missing().end();
    if (!plan.missing.empty() && !is_known) csv_.add_missing(plan.missing);
    proposal_.comments[column.name] = Described(column);
  }

 private:
  Proposal& proposal_;
  v1::CsvConfig& csv_;
  std::ostream& out_;
};

// By trailing dots, as the test file of Adult has them, or as numbers.
bool MeanTheSame(std::string_view a, std::string_view b) {
  const auto without_dot = [](std::string_view text) {
    return text.ends_with('.') ? text.substr(0, text.size() - 1) : text;
  };
  if (without_dot(a) == without_dot(b)) return true;
  double first = 0, second = 0;
  return data::ParseNumber(a, &first) && data::ParseNumber(b, &second) && first == second;
}

bool AddIfKnown(const std::string& value, google::protobuf::RepeatedPtrField<std::string>* side) {
  const auto means = [&](const std::string& known) { return MeanTheSame(known, value); };
  if (std::ranges::none_of(*side, means)) return false;
  if (std::ranges::find(*side, value) == side->end()) *side->Add() = value;
  return true;
}

}  // namespace

Status ProposeCsv(const std::string& path, const CsvSample& sample, const std::string& label_name,
                  Proposal* proposal, std::ostream& out) {
  v1::CsvConfig& csv = *proposal->config.mutable_data()->mutable_csv();
  SetDialect(sample, &csv);
  for (const std::string& marker : sample.missing) csv.add_missing(marker);
  const auto found = FindLabel(path, sample, label_name);
  Proposer proposer(proposal, out);
  for (size_t i = 0; i < sample.columns.size(); ++i) {
    if (!found.ok() || i != found->column) proposer.AddColumn(sample.columns[i]);
  }
  WEIR_RETURN_IF_ERROR(found.status());
  const ColumnSample& label = sample.columns[found->column];
  WEIR_ASSIGN_OR_RETURN(const LabelSides sides,
                        DivideLabels(StrCat(path, ": column ", label.name), label.values));
  csv.mutable_label()->set_column(label.name);
  for (const std::string& value : sides.positive) csv.mutable_label()->add_positive(value);
  for (const std::string& value : sides.negative) csv.mutable_label()->add_negative(value);
  out << "label       " << label.name << ": " << found->reason << "; positive is "
      << StrJoin(sides.positive, ", ") << ", " << sides.reason << "\n";
  if (csv.dense_size() + csv.categorical_size() > 0) return OkStatus();
  return InvalidData(StrCat(path, " has no column to learn from beside the label ", label.name));
}

void AddLabelsOf(const CsvSample& sample, v1::CsvLabel* label) {
  const size_t column = sample.Find(label->column());
  if (column == sample.columns.size()) return;
  for (const auto& [value, count] : sample.columns[column].values) {
    if (!AddIfKnown(value, label->mutable_positive())) {
      AddIfKnown(value, label->mutable_negative());
    }
  }
}

}  // namespace weir::tools
