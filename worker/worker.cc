#include "worker/worker.h"

#include <algorithm>
#include <chrono>
#include <iostream>
#include <thread>
#include <utility>

#include "common/base/check.h"
#include "common/base/clock.h"
#include "common/base/out_of_memory.h"
#include "common/base/strings.h"
#include "common/base/utf8.h"
#include "common/metrics/summary.h"
#include "common/metrics/warnings.h"
#include "common/session/score_message.h"
#include "worker/data/synthetic.h"
#include "worker/model/kernels_for.h"
#include "worker/trainer.h"

namespace weir::worker {
namespace {

// Chunks in hand: one at work, one read ahead.
constexpr size_t kChunksInHand = 2;

// Between two reports, which a process that is killed takes with it.
constexpr int64_t kReportMs = 500;

// Whatever a coordinator says: a worker that sleeps hears no signal.
constexpr uint32_t kLongestWaitMs = 1000;

// So many malformed lines of a split never end a run, however short the file is so far; in each
// pass over it they are the same ones.
constexpr uint64_t kToleratedLines = 1;

// So few that nobody wonders why nothing happens.
constexpr int64_t kManyTestRows = 5'000'000;

void PrintTrain(double seconds, const v1::WorkerReport& merged) {
  const auto samples = static_cast<double>(merged.samples());
  // Training so short that its time rounds to nothing has no rate.
  const std::string rate = seconds > 0 ? Format("%.0f", samples / seconds) : "-";
  std::cout << merged.samples() << " samples  " << rate << " samples/s  logloss "
            << Format("%.5f", merged.logloss_sum() / samples) << std::endl;
}

void PrintTest(const v1::EvaluationReport& test) {
  if (test.samples() == 0) {
    std::cout << "test after " << test.at_samples() << " samples: data.test has no usable row"
              << std::endl;
    return;
  }
  std::cout << "test after " << test.at_samples() << " samples: logloss "
            << Format("%.5f", test.logloss()) << "  auc " << Format("%.5f", test.auc())
            << std::endl;
}

data::Split SplitOf(v1::InputSplit split) {
  return split == v1::TEST ? data::Split::kTest : data::Split::kTrain;
}

data::ChunkId ChunkOf(const v1::ChunkLease& lease) {
  data::ChunkId id{SplitOf(lease.split()), static_cast<int32_t>(lease.epoch()),
                   static_cast<int32_t>(lease.file()), static_cast<int64_t>(lease.chunk())};
  if (lease.has_place()) id.place = lease.place();
  return id;
}

// As every request tells them: few, short and in UTF-8. The log has all of them, whole.
std::vector<std::string> Brief(const std::vector<std::string>& notices) {
  constexpr size_t kMost = 20, kBytes = 500;
  std::vector<std::string> brief;
  for (const std::string& notice : notices) {
    if (brief.size() + 1 == kMost && notices.size() > kMost) {
      brief.push_back(StrCat(notices.size() - brief.size(), " more are in the workers' logs"));
      break;
    }
    std::string text = ToUtf8(notice);
    size_t end = std::min(text.size(), kBytes);
    while (end < text.size() && (text[end] & 0xc0) == 0x80) --end;  // within a character
    brief.push_back(text.substr(0, end));
  }
  return brief;
}

}  // namespace

Worker::Worker(const v1::Config& config, const ModelLayout& layout, WorkerOptions options,
               data::Reader* reader, ParameterClient* client)
    : config_(config),
      layout_(layout),
      options_(std::move(options)),
      reader_(reader),
      client_(client),
      compute_(options_.compute ? *options_.compute : model::CpuComputeFor(config.model())),
      row_watch_(config.data()),
      notices_(Brief(options_.notices)),
      checkpoint_(options_.checkpoints,
                  {.trainer = client->trainer(), .stage = options_.stage, .run = options_.run},
                  options_.checkpoint_wishes) {
  if (options_.log) known_evaluations_ = options_.log->evaluations();
}

Worker::~Worker() = default;

Result<v1::RunReport> Worker::Run() {
  for (const std::string& notice : options_.notices) Warn(notice);
  for (const std::string& notice : notices_) told_warnings_.insert(notice);  // they come back
  Result<v1::RunReport> report = TrainOrRunOut();
  if (!report.ok()) Fail(report.status());
  StopTrainer();
  MutexLock lock(mutex_);
  if (!failure_.ok()) return failure_;  // the first one explains the others
  return report;
}

// Others hear why this worker ends, as they would of any failure.
Result<v1::RunReport> Worker::TrainOrRunOut() {
  try {
    return Train();
  } catch (const std::bad_alloc& error) {
    return ShortOfMemory(
        error,
        "no memory for what is read, sent or saved; use fewer --threads, a smaller data.batch_size "
        "or data.chunk_batches");
  }
}

Result<v1::RunReport> Worker::Train() {
  const auto fail = [this](const Status& status) { Fail(status); };
  auto trainer = options_.make_trainer ? options_.make_trainer(fail)
                                       : std::make_unique<Trainer>(config_, layout_, compute_,
                                                                   options_.threads, client_, fail);
  {
    MutexLock lock(mutex_);
    trainer_ = std::move(trainer);
  }
  // First, because it takes seconds when there are many rows, and at the end of the run a trainer
  // that does not leave soon is taken for one that came too late. Not of each of many trainers: who
  // writes the summary tells it.
  const bool tells = options_.run == 0 || !options_.out_directory.empty();
  if (tells && config_.data().has_synthetic() && options_.stage.value_or(0) == 0) {
    const int64_t rows = config_.data().synthetic().test_rows();
    if (rows > kManyTestRows) {
      LOG(INFO) << "first, the best possible logloss of " << rows
                << " test rows: some seconds for each million";
    }
    bayes_logloss_ = data::BayesLogloss(config_.data().synthetic(), data::Split::kTest, rows,
                                        [this] { return HasFailed(); });
  }
  return RunLoop();
}

// Threads that end may still say why, and that takes the lock.
void Worker::StopTrainer() {
  std::unique_ptr<BatchTrainer> trainer;
  {
    MutexLock lock(mutex_);
    trainer = std::move(trainer_);
  }
}

bool Worker::HasFailed() const {
  MutexLock lock(mutex_);
  return !failure_.ok();
}

void Worker::Interrupt() { Fail(Interrupted("interrupted")); }

void Worker::Fail(const Status& status) {
  {
    MutexLock lock(mutex_);
    if (!failure_.ok()) return;
    failure_ = status;
  }
  client_->Stop(status, true);
  // Wakes the input thread if it waits for a chunk.
  MutexLock lock(mutex_);
  if (trainer_) trainer_->Abandon();
}

Result<v1::RunReport> Worker::RunLoop() {
  while (true) {
    if (IsReportDue()) WEIR_RETURN_IF_ERROR(Report());
    std::vector<Bytes> scores;
    v1::WorkRequest request = MakeRequest(&scores);
    WEIR_ASSIGN_OR_RETURN(v1::WorkReply reply,
                          client_->RequestWork(std::move(request), std::move(scores)));
    if (reply.has_finished()) return Conclude(reply.progress());
    ShowEvaluations(reply.progress());
    if (reply.has_failed()) return FailedPrecondition(reply.failed());
    TakePlace(reply);
    if (reply.checkpoint() > 0) {
      WEIR_RETURN_IF_ERROR(TakeCheckpoint(reply.checkpoint()));
    } else if (reply.has_chunk()) {
      WEIR_RETURN_IF_ERROR(TakeLease(reply.chunk()));
      TellStop(reply.progress());
      while (at_work_.size() >= kChunksInHand) WEIR_RETURN_IF_ERROR(FinishOldest());
    } else if (!at_work_.empty()) {
      WEIR_RETURN_IF_ERROR(FinishOldest());  // nothing more to lend until this is done
    } else {
      std::this_thread::sleep_for(
          std::chrono::milliseconds(std::min(reply.wait_ms(), kLongestWaitMs)));
    }
  }
}

// What was counted so far is of it, too.
Status Worker::TakeCheckpoint(uint64_t number) {
  WEIR_RETURN_IF_ERROR(Report());
  return checkpoint_.Take(number, client_);
}

// With the first chunk behind a checkpoint.
void Worker::TellStop(const v1::RunProgress& progress) {
  const auto stop = checkpoint_.GoOn();
  if (!stop) return;
  Log([&](metrics::MetricsLog* log) {
    return log->WriteCheckpoint(progress.train_seconds(), {.number = stop->number,
                                                           .samples = progress.samples(),
                                                           .stood_still_seconds = stop->seconds});
  });
}

void Worker::TakePlace(const v1::WorkReply& reply) {
  if (reply.concurrency() > 0) TakeConcurrency(reply.concurrency());
  if (reply.rank() < reply.trainer_count()) client_->SetPlace(reply.rank(), reply.trainer_count());
}

// Batches of a stage are many at a time in any case: that there are fewer trainers has to do there.
void Worker::TakeConcurrency(uint32_t concurrency) {
  if (options_.stage) return;
  const StepLimits limits = LimitsFor(concurrency, options_.threads, config_.cluster().window());
  client_->SetWindow(limits.window, limits.awaits_answers);
  trainer_->SetLimits(limits);
}

Status Worker::TakeLease(const v1::ChunkLease& lease) {
  const data::ChunkId id = ChunkOf(lease);
  WEIR_RETURN_IF_ERROR(Refresh(lease));
  if (lease.wants_next()) WEIR_RETURN_IF_ERROR(TellNext(lease));

  data::RowBlock rows;
  WEIR_ASSIGN_OR_RETURN(const data::ChunkResult result,
                        reader_->ReadColumns(id, {.hash = options_.stage.has_value()}, &rows));
  SplitLines& lines = LinesOf(id.split);
  lines.count += static_cast<uint64_t>(result.line_count + result.hidden_line_count);
  lines.malformed += rows.malformed.size() + static_cast<size_t>(result.hidden_line_count);
  lines.TakePass(id.split == data::Split::kTrain ? lease.epoch() : lease.evaluation());
  for (const std::string& problem : result.problems) LOG(WARNING) << "malformed: " << problem;
  if (lines.first_problem.empty() && !result.problems.empty()) {
    lines.first_problem = result.problems[0];
  }
  WEIR_RETURN_IF_ERROR(CheckMalformed(id.split));
  if (result.end_of_file) {
    v1::FileEnd end;
    end.set_split(lease.split());
    end.set_file(lease.file());
    end.set_chunk_count(lease.chunk() + (result.line_count > 0 ? 1 : 0));
    file_ends_.push_back(std::move(end));
  }
  if (options_.stage) {
    const StageSpec& stage = layout_.stages()[*options_.stage];
    data::KeepColumns(stage.reads_dense(), stage.has_interaction, &rows);
  }
  if (id.split == data::Split::kTrain) {
    for (const auto& column : row_watch_.Take(lease, rows)) Warn(metrics::Describe(column));
  }
  auto chunk = std::make_shared<ChunkWork>(lease, std::move(rows), config_.data().batch_size());
  at_work_.push_back(chunk);
  trainer_->Add(std::move(chunk));
  return OkStatus();
}

// At once, and if there is nothing to tell: others wait to be lent the chunk behind this one.
Status Worker::TellNext(const v1::ChunkLease& lease) {
  WEIR_ASSIGN_OR_RETURN(auto place, reader_->FindNext(ChunkOf(lease)));
  v1::WorkRequest request;
  if (place) {
    v1::FoundPlace& found = *request.add_places();
    found.set_split(lease.split());
    found.set_file(lease.file());
    *found.mutable_place() = *std::move(place);
  }
  request.set_known_evaluations(known_evaluations_);
  request.set_wants_nothing(true);
  return client_->RequestWork(std::move(request), {}).status();
}

// The replica changes by answers to pushes. Of others it learns nothing while this worker waits,
// and for an evaluation it has to have all that they trained.
Status Worker::Refresh(const v1::ChunkLease& lease) {
  const bool is_test = lease.split() == v1::TEST;
  const bool is_old = is_test ? refreshed_for_ != known_evaluations_ : lease.begins();
  if (!is_old) return OkStatus();
  if (is_test) refreshed_for_ = known_evaluations_;
  return client_->Refresh();
}

void Worker::SplitLines::TakePass(uint32_t pass) {
  if (!first_pass) first_pass = pass;
  if (pass >= *first_pass) passes = std::max<uint64_t>(passes, pass - *first_pass + 1);
}

// Each split by itself: a small one to test on would be lost in a large one to train on.
Status Worker::CheckMalformed(data::Split split) {
  const SplitLines& lines = LinesOf(split);
  const double share = config_.data().max_malformed_share();
  if (share > 0 && lines.malformed <= kToleratedLines * lines.passes) return OkStatus();
  if (static_cast<double>(lines.malformed) <= share * static_cast<double>(lines.count)) {
    return OkStatus();
  }
  return InvalidData(StrCat(lines.malformed, " of ", lines.count, " lines to ",
                            split == data::Split::kTrain ? "train" : "test",
                            " on are malformed, more than data.max_malformed_share (", share,
                            ") allows; the first is ", lines.first_problem));
}

Status Worker::FinishOldest() {
  const std::shared_ptr<ChunkWork> chunk = at_work_.front();
  const auto sequence = chunk->AwaitFinished();
  if (at_work_.size() == 1) checkpoint_.Rest();
  if (chunk->is_revoked()) {
    at_work_.pop_front();
    return OkStatus();
  }
  if (!sequence) return Internal("a chunk was abandoned");
  WEIR_RETURN_IF_ERROR(client_->AwaitDurable(*sequence));
  at_work_.pop_front();
  if (chunk->is_test()) WEIR_RETURN_IF_ERROR(CheckScores(*chunk));
  finished_.push_back(chunk);
  return OkStatus();
}

// A row that the model cannot score, because its values are too large, is one more that is
// malformed. When training has diverged all rows are.
Status Worker::CheckScores(const ChunkWork& chunk) {
  const std::vector<int64_t> rows = chunk.RowsWithoutScore();
  if (rows.empty()) return OkStatus();
  const std::string problem = StrCat(
      PlaceOf(config_.data(), chunk, static_cast<size_t>(rows.front())),
      ": the model's score of it is not a number: either its values are too large, or "
      "training has diverged, and wants lower learning rates, or a transform for a column of "
      "large values");
  LOG(WARNING) << problem << "; " << rows.size() << " such rows of " << chunk.row_count()
               << " have no part in the evaluation";
  if (test_lines_.first_problem.empty()) test_lines_.first_problem = problem;
  test_lines_.malformed += rows.size();
  return CheckMalformed(data::Split::kTest);
}

void Worker::AddCompletion(const ChunkWork& chunk, v1::WorkRequest* request,
                           std::vector<Bytes>* scores) {
  v1::Completion& completion = *request->add_completions();
  completion.set_lease(chunk.lease().lease());
  if (!chunk.is_test()) {
    completion.set_row_count(static_cast<uint64_t>(chunk.row_count()));
    return;
  }
  const eval::Scores rows = chunk.scores();
  completion.set_row_count(rows.labels.size());
  scores->push_back(session::WriteScores(rows, &completion));
}

v1::WorkRequest Worker::MakeRequest(std::vector<Bytes>* scores) {
  v1::WorkRequest request;
  request.set_is_busy(trainer_->is_busy() || client_->has_volatile());
  for (const auto& chunk : finished_) AddCompletion(*chunk, &request, scores);
  finished_.clear();
  for (v1::FileEnd& end : file_ends_) *request.add_file_ends() = std::move(end);
  file_ends_.clear();
  request.set_known_evaluations(known_evaluations_);
  checkpoint_.AddWord(&request);
  request.set_may_wait(at_work_.empty() && !checkpoint_.has_news());
  return request;
}

// A stage counts what chunks of the first one make it do.
bool Worker::IsReportDue() const {
  const bool has_more = !finished_.empty() || options_.stage.value_or(0) > 0;
  return has_more && Clock::Real().NowMs() >= next_report_ms_;
}

v1::Report Worker::MakeReport() {
  v1::Report report;
  v1::WorkerReport& counted = *report.mutable_counted();
  client_->FillReport(&counted);
  trainer_->FillReport(&counted);
  FillInputReport(&counted);
  return report;
}

Status Worker::Report() {
  const int64_t now_ms = Clock::Real().NowMs();
  next_report_ms_ = now_ms + kReportMs;
  v1::Report report = MakeReport();
  const bool shows = options_.log != nullptr || options_.show_progress;
  report.set_wants_sum(shows && now_ms >= next_line_ms_);
  WEIR_ASSIGN_OR_RETURN(const v1::ReportReply reply, client_->SendReport(std::move(report)));
  if (reply.has_sum()) ShowTraining(reply.train_seconds(), reply.sum(), reply.total_samples());
  return OkStatus();
}

Result<v1::RunReport> Worker::ReportLast() {
  v1::Report report = MakeReport();
  report.set_is_last(true);
  WEIR_ASSIGN_OR_RETURN(v1::ReportReply reply, client_->SendReport(std::move(report)));
  if (!reply.has_run()) return InvalidData("the coordinator tells of an end, and of no report");
  ShowTraining(reply.train_seconds(), reply.run().total(), reply.total_samples());
  return std::move(*reply.mutable_run());
}

void Worker::FillInputReport(v1::WorkerReport* report) const {
  row_watch_.FillReport(report);
  report->mutable_notices()->Assign(notices_.begin(), notices_.end());
  report->set_lines(train_lines_.count);
  report->set_malformed_lines(train_lines_.malformed);
  report->set_first_malformed(ToUtf8(train_lines_.first_problem));
  report->set_test_lines(test_lines_.count);
  report->set_malformed_test_lines(test_lines_.malformed);
  report->set_first_malformed_test(ToUtf8(test_lines_.first_problem));
}

void Worker::ShowTraining(double seconds, const v1::WorkerReport& sum, uint64_t total_samples) {
  if (sum.samples() <= last_shown_samples_) return;
  last_shown_samples_ = sum.samples();
  next_line_ms_ = Clock::Real().NowMs() + config_.run().report_interval_ms();
  Log([&](metrics::MetricsLog* log) { return log->WriteTrain(seconds, sum, total_samples); });
  if (options_.show_progress) PrintTrain(seconds, sum);
}

void Worker::ShowEvaluations(const v1::RunProgress& progress) {
  const double seconds = progress.train_seconds();
  for (const v1::EvaluationReport& test : progress.evaluations()) {
    ++known_evaluations_;
    Log([&](metrics::MetricsLog* log) { return log->WriteTest(seconds, test); });
    if (options_.show_progress) PrintTest(test);
  }
}

// What is learned is worth more than its log: a full disk there ends neither the run nor the saving
// of its model, and is this worker's failure in the end.
void Worker::Log(const std::function<Status(metrics::MetricsLog*)>& write) {
  if (!options_.log || !log_failure_.ok()) return;
  log_failure_ = write(options_.log.get());
  if (!log_failure_.ok()) LOG(WARNING) << log_failure_.message() << "; the run goes on without it";
}

void Worker::Warn(const std::string& warning) {
  if (told_warnings_.insert(warning).second) LOG(WARNING) << warning;
}

Status Worker::Save() {
  v1::SavedModelManifest manifest;
  *manifest.mutable_config() = config_;
  *manifest.mutable_learned() = options_.learned;
  *manifest.mutable_rule_starts() = options_.rule_starts;
  manifest.set_run(options_.run);
  // Of rows, and what update rules keep, only the servers know how many there are.
  const auto dense_bytes = static_cast<uint64_t>(layout_.flat_element_count()) * sizeof(float);
  WEIR_RETURN_IF_ERROR(options_.save->CheckRoom(dense_bytes));
  WEIR_ASSIGN_OR_RETURN(const SavedSteps steps, client_->Save([this](ByteSpan frames) {
    return options_.save->Append(frames);
  }));
  manifest.set_steps(steps.all);
  manifest.set_row_steps(steps.rows);
  WEIR_RETURN_IF_ERROR(options_.save->Finish(std::move(manifest)));
  if (options_.run != 0) TellSaved();  // else there is nobody
  return OkStatus();
}

// A request, which is repeated until it is answered: servers wait for a saver that has not said so.
void Worker::TellSaved() {
  v1::WorkRequest request;
  request.set_known_evaluations(known_evaluations_);
  request.set_model_saved(true);
  const auto reply = client_->RequestWork(std::move(request), {});
  if (!reply.ok()) {
    LOG(WARNING) << "the model is saved, and the servers do not know: " << reply.status().message();
  }
}

Result<v1::RunReport> Worker::Conclude(const v1::RunProgress& progress) {
  WEIR_ASSIGN_OR_RETURN(v1::RunReport report, ReportLast());
  ShowEvaluations(progress);
  has_concluded_ = true;
  for (const std::string& warning : report.warnings()) Warn(warning);
  // Each is worth having without the others.
  const Status saved = options_.save == nullptr ? OkStatus() : Save();
  report.set_threads(static_cast<uint32_t>(options_.threads));
  report.set_device(compute_.device->name());
  if (bayes_logloss_ && report.has_test()) report.set_bayes_logloss(*bayes_logloss_);
  if (!options_.out_directory.empty()) {
    const Status written = metrics::WriteSummary(options_.out_directory, report, options_.commit);
    if (log_failure_.ok()) log_failure_ = written;
  }
  WEIR_RETURN_IF_ERROR(saved);
  WEIR_RETURN_IF_ERROR(log_failure_);
  return report;
}

}  // namespace weir::worker
