// weir-worker: trains; with --servers as part of a run, without them embedded, in this process
// alone.
#include <gflags/gflags.h>

#include <filesystem>
#include <fstream>
#include <memory>

#include "common/base/check.h"
#include "common/base/heap.h"
#include "common/base/interrupt_target.h"
#include "common/base/signal_watcher.h"
#include "common/base/strings.h"
#include "common/config/load_config.h"
#include "common/config/validate_config.h"
#include "common/layout/message_bound.h"
#include "common/program/build_commit.h"
#include "common/program/program.h"
#include "common/saved_model/places.h"
#include "common/saved_model/policy_states.h"
#include "common/saved_model/warm_start.h"
#include "common/transport/tcp_address.h"
#include "common/transport/zmq_transport.h"
#include "worker/client/embedded_client.h"
#include "worker/client/server_client.h"
#include "worker/data/reader.h"
#include "worker/data/train_rows.h"
#include "worker/pipeline/pipeline_views.h"
#include "worker/pipeline/stage_links.h"
#include "worker/pipeline/stage_trainer.h"
#include "worker/worker.h"

DEFINE_string(config, "", "config files, comma-separated; later ones overlay earlier ones");
DEFINE_string(override, "", "protobuf text merged over the config last");
DEFINE_string(servers, "", "advertised address of every shard, comma-separated; empty: embedded");
DEFINE_int32(trainer, 0, "which trainer this process is");
DEFINE_int32(stage, -1,
             "which stage of the model (pipeline.split) this process runs; not given: all");
DEFINE_string(
    link, "tcp://127.0.0.1:0",
    "of a stage but the first: its address for the stage before; port 0 takes a free one");
DEFINE_string(link_listen, "", "where it listens for that stage, if not at --link");
DEFINE_int32(threads, 1, "Hogwild threads");
DEFINE_string(device, "cpu", "where to compute: cpu");
DEFINE_string(out, "", "directory for summary.json, metrics.jsonl and config.textproto");
DEFINE_string(save, "", "folder to save the model in when the run is over; of one trainer");
DEFINE_string(save_residuals, "",
              "folder for what this worker's policies have not sent when the run is over; put it "
              "into the saved model as `residuals`. Servers then wait for a worker with --save");
DEFINE_string(warm_start, "",
              "folder of a saved model to go on from; the same as the servers' when there are any");

namespace weir::worker {
namespace {

struct Setup {
  v1::Config config;
  std::vector<std::string> addresses;
};

std::vector<std::string> CheckFlags(const Arguments& arguments) {
  std::vector<std::string> problems;
  for (const std::string& argument : arguments) {
    problems.push_back(StrCat("unexpected argument '", argument, "'"));
  }
  if (FLAGS_config.empty()) problems.push_back("--config: name at least one file");
  if (FLAGS_trainer < 0) problems.push_back("--trainer: must not be negative");
  if (FLAGS_stage < -1) problems.push_back("--stage: must not be negative");
  if (FLAGS_stage >= 0 && FLAGS_servers.empty()) {
    problems.push_back("--stage: without --servers all stages are in this process; leave it out");
  }
  const bool has_link = !gflags::GetCommandLineFlagInfoOrDie("link").is_default;
  if (FLAGS_stage < 0 && (has_link || !FLAGS_link_listen.empty())) {
    problems.push_back("--link, --link_listen: of a stage; leave them out, or name its --stage");
  }
  if (FLAGS_stage > 0 && has_link) {
    const auto address = transport::ParseTcpAddress(FLAGS_link);
    if (!address.ok()) {
      problems.push_back(StrCat("--link: ", address.status().message()));
    } else if (transport::IsEveryInterface(*address)) {
      problems.push_back(StrCat("--link: the stage before cannot connect to ", address->host,
                                "; name this host, and give * to --link_listen"));
    }
  }
  if (!FLAGS_link_listen.empty()) {
    const Status status = transport::ParseTcpAddress(FLAGS_link_listen).status();
    if (!status.ok()) problems.push_back(StrCat("--link_listen: ", status.message()));
  }
  if (FLAGS_stage > 0 && !FLAGS_save.empty()) {
    problems.push_back("--save: of the first stage; servers give it the whole model");
  }
  if (!FLAGS_save_residuals.empty() && FLAGS_servers.empty()) {
    problems.push_back("--save_residuals: without --servers nothing is kept back; leave it out");
  }
  const bool is_in_save =
      !FLAGS_save.empty() && saved_model::LiesIn(FLAGS_save_residuals, FLAGS_save);
  if (!FLAGS_save_residuals.empty() &&
      (is_in_save || !saved_model::ModelAround(FLAGS_save_residuals).empty())) {
    problems.push_back(StrCat(
        "--save_residuals: ", FLAGS_save_residuals,
        " lies in a saved model, which is replaced whole when a run saves to it; name a folder "
        "elsewhere, and put it into the model as `residuals` when the run is over"));
  }
  if (FLAGS_threads < 1 || FLAGS_threads > 1024) problems.push_back("--threads: 1 to 1024");
  if (FLAGS_device != "cpu") {
    problems.push_back(StrCat("--device: this build has no '", FLAGS_device, "'; it has cpu"));
  }
  return problems;
}

Status ReadFlags(const Arguments& arguments, Setup* read) {
  std::vector<std::string> problems = CheckFlags(arguments);
  Setup& setup = *read;
  setup.addresses = StrSplit(FLAGS_servers, ',');
  for (const std::string& mistake : transport::PeerListMistakes(setup.addresses)) {
    problems.push_back("--servers: " + mistake);
  }
  // Servers may not have the files, and must have the same config.
  const auto find = setup.addresses.empty() ? data::FindTrainRows : nullptr;
  auto config = config::LoadConfig(StrSplit(FLAGS_config, ','), FLAGS_override, find);
  if (config.ok()) {
    setup.config = *std::move(config);
    if (setup.addresses.empty()) {
      for (std::string& problem : config::ValidateEmbedded(setup.config)) {
        problems.push_back(std::move(problem));
      }
    }
    for (std::string& problem : config::ValidateStage(setup.config, FLAGS_stage)) {
      problems.push_back(std::move(problem));
    }
  } else if (!FLAGS_config.empty()) {
    problems.push_back(config.status().message());
  }
  return problems.empty() ? OkStatus() : InvalidConfig(StrJoin(problems, "\n"));
}

Result<std::unique_ptr<ParameterClient>> MakeEmbedded(const Setup& setup, const ModelLayout& layout,
                                                      const saved_model::SavedModel* warm_start) {
  auto client = std::make_unique<EmbeddedClient>(setup.config, layout);
  if (warm_start != nullptr) WEIR_RETURN_IF_ERROR(client->Load(*warm_start));
  return std::unique_ptr<ParameterClient>(std::move(client));
}

transport::Limits LimitsOf(const Setup& setup) {
  transport::Limits limits;
  limits.max_message_bytes = setup.config.cluster().max_message_bytes();
  return limits;
}

LinkOptions ServerLinkOptions(const Setup& setup, const saved_model::SavedModel* warm_start) {
  LinkOptions options;
  options.server_addresses = setup.addresses;
  options.trainer = static_cast<uint32_t>(FLAGS_trainer);
  options.saves = !FLAGS_save.empty();
  options.stays = options.awaits_model = !FLAGS_save_residuals.empty();
  options.file_bytes = data::FileBytes(setup.config.data());
  if (warm_start != nullptr) options.warm_start = warm_start->manifest().id();
  return options;
}

Result<std::unique_ptr<ServerClient>> ConnectToServers(const Setup& setup,
                                                       const ModelLayout& layout,
                                                       const saved_model::SavedModel* warm_start,
                                                       LinkOptions options,
                                                       InterruptTarget* interrupt) {
  auto client = std::make_unique<ServerClient>(setup.config, layout, std::move(options),
                                               transport::MakeZmqClientTransport(LimitsOf(setup)));
  if (warm_start != nullptr) WEIR_RETURN_IF_ERROR(client->ReadPolicyStates(*warm_start));
  const InterruptScope scope(
      interrupt, [link = client.get()] { link->Stop(Interrupted("interrupted"), true); });
  WEIR_RETURN_IF_ERROR(client->Connect());
  return client;
}

// What a worker of one stage has beside the others.
struct StageProcess {
  PipelineViews views;
  std::unique_ptr<StageLinks> links;
  std::unique_ptr<ServerClient> client;
};

Status StartStage(const Setup& setup, const ModelLayout& layout,
                  const saved_model::SavedModel* warm_start, InterruptTarget* interrupt,
                  StageProcess* process) {
  WEIR_RETURN_IF_ERROR(CheckLinkMessageBound(setup.config, layout));
  const auto stage = static_cast<uint32_t>(FLAGS_stage);
  const auto stage_count = static_cast<uint32_t>(layout.stages().size());
  StageLinkOptions link{
      .trainer = static_cast<uint32_t>(FLAGS_trainer),
      .stage = stage,
      .stage_count = stage_count,
      .listen_address = FLAGS_link_listen.empty() ? FLAGS_link : FLAGS_link_listen,
      .advertised_address = FLAGS_link};
  process->links = std::make_unique<StageLinks>(
      std::move(link), stage == 0 ? nullptr : transport::MakeZmqServerTransport(LimitsOf(setup)),
      stage + 1 == stage_count ? nullptr : transport::MakeZmqClientTransport(LimitsOf(setup)));
  WEIR_RETURN_IF_ERROR(process->links->Listen());
  LinkOptions options = ServerLinkOptions(setup, warm_start);
  options.stage = stage;
  options.stage_count = stage_count;
  options.link_address = process->links->address();
  // The servers stay until its threads are over, and their last pushes taken.
  options.stays |= stage > 0;
  options.on_pipeline = [process](const v1::PipelineView& view) { process->views.Set(view); };
  WEIR_ASSIGN_OR_RETURN(process->client,
                        ConnectToServers(setup, layout, warm_start, std::move(options), interrupt));
  return OkStatus();
}

void SetStage(const Setup& setup, const ModelLayout& layout, data::Reader* reader,
              StageProcess* process, WorkerOptions* options) {
  options->stage = static_cast<uint32_t>(FLAGS_stage);
  options->show_progress = FLAGS_stage == 0;
  StageParts parts{.trainer = static_cast<uint32_t>(FLAGS_trainer),
                   .stage = *options->stage,
                   .client = process->client.get(),
                   .links = process->links.get(),
                   .views = &process->views,
                   .reader = reader,
                   .tell_adopted =
                       [client = process->client.get()](uint64_t generation, bool awaited_next) {
                         client->TellAdopted(generation, awaited_next);
                       },
                   .tell_lost = [client = process->client.get()](
                                    uint64_t generation) { client->TellLost(generation); },
                   .clock = &process->client->clock()};
  options->make_trainer = [&setup, &layout, parts](std::function<void(const Status&)> on_failure) {
    return std::make_unique<StageTrainer>(setup.config, layout, FLAGS_threads, parts,
                                          std::move(on_failure));
  };
}

// Makes the directory, takes it for this run alone, and writes down what will have been run.
Result<std::unique_ptr<metrics::MetricsLog>> PrepareOut(const v1::Config& config) {
  std::error_code error;
  std::filesystem::create_directories(FLAGS_out, error);
  if (error) return Unavailable(StrCat("--out: cannot make ", FLAGS_out, ": ", error.message()));
  WEIR_ASSIGN_OR_RETURN(auto log, metrics::MetricsLog::Open(FLAGS_out));
  // The result of an earlier run must not be taken for this one's.
  std::filesystem::remove(std::filesystem::path(FLAGS_out) / "summary.json", error);
  if (error) return Unavailable(StrCat("--out: cannot replace summary.json: ", error.message()));
  const std::string path = StrCat(FLAGS_out, "/config.textproto");
  std::ofstream file(path, std::ios::binary);
  file << config::ToText(config);
  file.close();
  if (file) return log;
  return Unavailable(StrCat("--out: cannot write ", path, "; is the disk full?"));
}

// What the columns mean must not change when a run goes on.
Result<v1::LearnedColumns> Learned(const v1::Config& config,
                                   const saved_model::SavedModel* warm_start) {
  if (warm_start != nullptr) return warm_start->manifest().learned();
  return data::LearnFromData(config);
}

Status RunWorker(const Setup& setup) {
  WorkerOptions options;
  if (!FLAGS_out.empty()) {
    WEIR_ASSIGN_OR_RETURN(options.log, PrepareOut(setup.config));
  }
  std::unique_ptr<saved_model::SavedModel> warm_start;
  if (!FLAGS_warm_start.empty()) {
    WEIR_ASSIGN_OR_RETURN(warm_start, saved_model::SavedModel::Open(FLAGS_warm_start));
    saved_model::WarnOfSchedulesThatAreOver(*warm_start, setup.config.update());
  }
  // Before there is anything that an interrupted worker must take away.
  InterruptTarget interrupt;
  SignalWatcher signals([&] { interrupt.Fire(); });
  std::unique_ptr<saved_model::Writer> save;
  if (!FLAGS_save.empty()) {
    WEIR_ASSIGN_OR_RETURN(save, saved_model::Writer::Create(FLAGS_save));
  }
  if (!FLAGS_save_residuals.empty()) {
    WEIR_RETURN_IF_ERROR(saved_model::PrepareStatesFolder(FLAGS_save_residuals));
  }
  WEIR_ASSIGN_OR_RETURN(const v1::LearnedColumns learned, Learned(setup.config, warm_start.get()));
  WEIR_ASSIGN_OR_RETURN(const std::unique_ptr<data::Reader> reader,
                        data::MakeReader(setup.config, learned));
  const auto server_count = std::max<size_t>(1, setup.addresses.size());
  const ModelLayout layout(setup.config, static_cast<uint32_t>(server_count));
  if (!setup.addresses.empty()) WEIR_RETURN_IF_ERROR(CheckMessageBound(setup.config, layout));
  StageProcess stage;
  std::unique_ptr<ParameterClient> embedded;
  std::unique_ptr<ServerClient> whole;
  if (setup.addresses.empty()) {
    WEIR_ASSIGN_OR_RETURN(embedded, MakeEmbedded(setup, layout, warm_start.get()));
  } else if (FLAGS_stage < 0) {
    WEIR_ASSIGN_OR_RETURN(whole,
                          ConnectToServers(setup, layout, warm_start.get(),
                                           ServerLinkOptions(setup, warm_start.get()), &interrupt));
  } else {
    WEIR_RETURN_IF_ERROR(StartStage(setup, layout, warm_start.get(), &interrupt, &stage));
  }
  ServerClient* const remote = stage.client ? stage.client.get() : whole.get();
  ParameterClient* const client = remote != nullptr ? remote : embedded.get();
  if (remote != nullptr) options.run = remote->run();
  options.threads = FLAGS_threads;
  options.device = FLAGS_device;
  options.out_directory = FLAGS_out;
  options.commit = BuildCommit();
  options.show_progress = true;
  options.save = save.get();
  options.learned = learned;
  if (warm_start) {
    options.rule_starts = saved_model::StartsOfRules(*warm_start, setup.config.update());
  }
  if (stage.client) SetStage(setup, layout, reader.get(), &stage, &options);
  Worker worker(setup.config, layout, std::move(options), reader.get(), client);
  Status ran;
  {
    const InterruptScope scope(&interrupt, [&] { worker.Interrupt(); });
    ran = worker.Run().status();
  }
  // Either is worth having without the other.
  const bool was_interrupted = ran.code() == StatusCode::kInterrupted;
  if (FLAGS_save_residuals.empty() || !worker.has_concluded() || was_interrupted) return ran;
  const Status saved = remote->SavePolicyStates(FLAGS_save_residuals);
  return ran.ok() ? saved : ran;
}

}  // namespace
}  // namespace weir::worker

int main(int argc, char** argv) {
  weir::KeepFreedMemory();
  weir::worker::Setup setup;
  return weir::RunProgram(
      {.usage = "trains a model of a Weir run; see README.md",
       .flags_in = "worker/main",
       .short_of_memory = "the model and its data; see the model's widths, data.batch_size and "
                          "data.chunk_batches in the config",
       .ends_with_its_reader = false,
       .check = [&](const auto& arguments) { return weir::worker::ReadFlags(arguments, &setup); },
       .run = [&](const auto&) { return weir::worker::RunWorker(setup); }},
      argc, argv);
}
