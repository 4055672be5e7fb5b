// weir-worker: trains; with --servers as part of a run, without them embedded, in this process
// alone.
#include <gflags/gflags.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <utility>

#include "common/base/check.h"
#include "common/base/heap.h"
#include "common/base/interrupt_target.h"
#include "common/base/mutex.h"
#include "common/base/signal_watcher.h"
#include "common/base/strings.h"
#include "common/config/load_config.h"
#include "common/config/validate_config.h"
#include "common/config/validate_consistency.h"
#include "common/config/warnings.h"
#include "common/device/device_name.h"
#include "common/keys/key_folder.h"
#include "common/keys/run_keys.h"
#include "common/layout/message_bound.h"
#include "common/program/build_commit.h"
#include "common/program/program.h"
#include "common/saved_model/checkpoint_choice.h"
#include "common/saved_model/checkpoint_folder.h"
#include "common/saved_model/places.h"
#include "common/saved_model/policy_states.h"
#include "common/saved_model/warm_start.h"
#include "common/saved_model/writer.h"
#include "common/transport/tcp_address.h"
#include "common/transport/zmq_transport.h"
#include "gpu/open_device.h"
#include "worker/client/server_client.h"
#include "worker/data/data_warnings.h"
#include "worker/data/input_files.h"
#include "worker/data/reader.h"
#include "worker/data/train_rows.h"
#include "worker/embedded/embedded_client.h"
#include "worker/link/replica.h"
#include "worker/model/kernels_for.h"
#include "worker/out_folder.h"
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
DEFINE_string(device, "cpu", "where to compute: cpu, or a card: cuda:0");
DEFINE_string(device_memory, "",
              "of a card, how much of its memory is used: 24GiB, 800MiB; not given: what is free");
DEFINE_string(out, "", "directory for summary.json, metrics.jsonl and config.textproto");
DEFINE_string(save, "", "folder to save the model in when the run is over; of one trainer");
DEFINE_string(save_residuals, "",
              "folder for what this worker's policies have not sent when the run is over; put it "
              "into the saved model as `residuals`. Servers then wait for a worker with --save");
DEFINE_string(checkpoints, "",
              "folder of the run's checkpoints; the same as the servers' when there are any");
DEFINE_string(resume, "",
              "folder of a checkpoint, or of several, to go on from; the same as the servers' when "
              "there are any: then of several it is the one with which these have begun. That of "
              "--checkpoints may be empty: the run begins");
DEFINE_string(keys, "",
              "folder of weir-keygen: this process's key, and the list of whom it speaks to; of "
              "all processes, or none. SIGHUP has the list read again");
DEFINE_bool(insecure, false,
            "without --keys, speak with other machines all the same: whoever reaches a port can "
            "take part in the run, read it and change it");
DEFINE_string(warm_start, "",
              "folder of a saved model to go on from; the same as the servers' when there are any");

namespace weir::worker {
namespace {

// That an interrupted worker has to tell others and to end by itself.
constexpr std::chrono::seconds kGrace{5};

// And before that, where a SIGTERM has a checkpoint written: whoever sends one waits half a minute,
// as a rule, before it kills.
constexpr std::chrono::seconds kCheckpointGrace{20};

struct Setup {
  v1::Config config;
  std::vector<std::string> addresses;
  gpu::OpenedDevice device;
  keys::RunKeys keys;
};

using Problems = std::vector<std::string>;

void CheckLinkFlags(Problems& problems) {
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
  transport::CheckAddressFlag("--link_listen", FLAGS_link_listen, &problems);
}

void CheckResidualsFlag(Problems& problems) {
  if (FLAGS_save_residuals.empty()) return;
  if (FLAGS_servers.empty()) {
    problems.push_back("--save_residuals: without --servers nothing is kept back; leave it out");
  }
  const bool is_in_save =
      !FLAGS_save.empty() && saved_model::LiesIn(FLAGS_save_residuals, FLAGS_save);
  if (is_in_save || !saved_model::ModelAround(FLAGS_save_residuals).empty()) {
    problems.push_back(StrCat(
        "--save_residuals: ", FLAGS_save_residuals,
        " lies in a saved model, which is replaced whole when a run saves to it; name a folder "
        "elsewhere, and put it into the model as `residuals` when the run is over"));
  }
}

void CheckCheckpointFlags(Problems& problems) {
  if (!FLAGS_resume.empty() && !FLAGS_warm_start.empty()) {
    problems.push_back("--resume, --warm_start: a run goes on from one of them");
  }
}

void CheckDeviceFlags(Problems& problems) {
  const auto name = device::ParseDeviceName(FLAGS_device);
  if (!name.ok()) problems.push_back(StrCat("--device: ", name.status().message()));
  const auto memory = device::ParseMemorySize(FLAGS_device_memory);
  if (!memory.ok()) problems.push_back(StrCat("--device_memory: ", memory.status().message()));
  if (name.ok() && !name->is_cuda && !FLAGS_device_memory.empty()) {
    problems.push_back("--device_memory: of a card; leave it out with --device=cpu");
  }
}

Problems CheckFlags(const Arguments& arguments) {
  Problems problems = UnexpectedArguments(arguments);
  if (FLAGS_config.empty()) problems.push_back("--config: name at least one file");
  if (FLAGS_trainer < 0) problems.push_back("--trainer: must not be negative");
  if (FLAGS_stage < -1) problems.push_back("--stage: must not be negative");
  if (FLAGS_stage >= 0 && FLAGS_servers.empty()) {
    problems.push_back("--stage: without --servers all stages are in this process; leave it out");
  }
  if (!FLAGS_keys.empty() && FLAGS_servers.empty()) {
    problems.push_back("--keys: without --servers nobody is spoken to; leave it out");
  }
  CheckLinkFlags(problems);
  if (FLAGS_stage > 0 && !FLAGS_save.empty()) {
    problems.push_back("--save: of the first stage; servers give it the whole model");
  }
  CheckResidualsFlag(problems);
  CheckCheckpointFlags(problems);
  if (FLAGS_threads < 1 || FLAGS_threads > 1024) problems.push_back("--threads: 1 to 1024");
  CheckDeviceFlags(problems);
  return problems;
}

// Of a config that is sound for some run: what makes it none for this one.
Problems RunProblems(const v1::Config& config) {
  Problems problems = FLAGS_servers.empty() ? config::ValidateEmbedded(config) : Problems();
  for (std::string& problem : config::ValidateStage(config, FLAGS_stage)) {
    problems.push_back(std::move(problem));
  }
  for (std::string& problem : config::ValidateThreads(config, FLAGS_threads)) {
    problems.push_back(std::move(problem));
  }
  if (FLAGS_checkpoints.empty() && config::HasCheckpoints(config.run())) {
    problems.emplace_back(config::kCheckpointsWantFolder);
  }
  return problems;
}

// Counting may take long, and is for a run that begins.
v1::Config CountRows(const v1::Config& config) {
  return RunProblems(config).empty() ? data::FindTrainRows(config) : v1::Config();
}

// counts_rows: not for a run with servers, which may not have the files, and must have the same
// config.
Result<v1::Config> Load(bool counts_rows) {
  const SignalWatcher signals(EndInterrupted);  // counting rows may take long
  return config::LoadConfig(StrSplit(FLAGS_config, ','), FLAGS_override,
                            counts_rows ? CountRows : nullptr);
}

// The flags are sound.
Status OpenDevice(Setup* setup) {
  WEIR_ASSIGN_OR_RETURN(const device::DeviceName name, device::ParseDeviceName(FLAGS_device));
  WEIR_ASSIGN_OR_RETURN(const size_t memory, device::ParseMemorySize(FLAGS_device_memory));
  WEIR_ASSIGN_OR_RETURN(setup->device,
                        gpu::OpenDevice(name, memory, model::PrecisionOf(setup->config.model()),
                                        setup->config.data().batch_size()));
  return OkStatus();
}

keys::RunKeys ReadKeys(const std::vector<std::string>& servers, Problems* problems) {
  keys::KeyFlags flags{FLAGS_keys, FLAGS_insecure, servers};
  if (FLAGS_stage > 0) {
    flags.sockets.push_back(FLAGS_link_listen.empty() ? FLAGS_link : FLAGS_link_listen);
  }
  flags.server_count = servers.size();
  const transport::PeerName name = keys::WorkerName(
      static_cast<uint32_t>(FLAGS_trainer), static_cast<uint32_t>(std::max(FLAGS_stage, 0)));
  return keys::RunKeys::Read(flags, name, problems);
}

Status ReadFlags(const Arguments& arguments, Setup* read) {
  Problems problems = CheckFlags(arguments);
  Setup& setup = *read;
  setup.addresses = StrSplit(FLAGS_servers, ',');
  transport::CheckPeerListFlag("--servers", setup.addresses, &problems);
  if (problems.empty()) setup.keys = ReadKeys(setup.addresses, &problems);
  Result<v1::Config> config = Load(setup.addresses.empty() && problems.empty());
  if (config.ok()) {
    setup.config = *std::move(config);
    for (std::string& problem : RunProblems(setup.config)) problems.push_back(std::move(problem));
  } else if (!FLAGS_config.empty()) {
    problems.push_back(config.status().message());
  }
  if (problems.empty()) {
    if (Status status = OpenDevice(&setup); !status.ok()) {
      problems.push_back(StrCat("--device: ", status.message()));
    }
  }
  return problems.empty() ? OkStatus() : InvalidConfig(StrJoin(problems, "\n"));
}

// What a worker is made of, in the order in which it comes to be.
struct Parts {
  std::unique_ptr<OutFolder> out;             // null: it writes nothing
  std::unique_ptr<saved_model::Writer> save;  // null: it saves nothing
  v1::Config found;                           // the config, with the files that its patterns match
  std::unique_ptr<saved_model::SavedModel> warm_start;
  v1::LearnedColumns learned;
  std::vector<std::string> notices;  // for whoever started the run
  std::unique_ptr<data::Reader> reader;
  std::optional<ModelLayout> layout;
  std::unique_ptr<EmbeddedClient> embedded;  // or, of a run with servers:
  PipelineViews views;                       // of one stage
  std::unique_ptr<StageLinks> links;         // of one stage
  std::unique_ptr<ServerClient> remote;
  CheckpointWishes wishes;
  std::optional<uint64_t> begun_with;  // what the run has, as the servers say once it is other here
};

// Who has not answered a hello has nothing larger to say than why it refuses.
constexpr int64_t kMaxStrangerBytes = int64_t{1} << 20;

transport::Limits ServerLimits(const Setup& setup) {
  transport::Limits limits;
  limits.max_message_bytes = setup.config.cluster().max_message_bytes();
  limits.max_stranger_bytes = kMaxStrangerBytes;
  return limits;
}

// More than the header of a message between stages takes.
constexpr int64_t kHeaderBytes = int64_t{1} << 16;

// Between stages nobody says hello.
transport::Limits StageLimits(const Setup& setup, const ModelLayout& layout) {
  transport::Limits limits;
  limits.max_message_bytes = std::min(setup.config.cluster().max_message_bytes(),
                                      LargestLinkMessage(setup.config, layout) + kHeaderBytes);
  limits.max_stranger_bytes = limits.max_message_bytes;
  return limits;
}

// What cannot be written is said first.
Status ClaimOutputs(Parts* parts) {
  if (!FLAGS_out.empty()) {
    WEIR_ASSIGN_OR_RETURN(parts->out, OutFolder::Claim(FLAGS_out));
  }
  if (!FLAGS_save.empty()) {
    WEIR_ASSIGN_OR_RETURN(parts->save, saved_model::Writer::Create(FLAGS_save));
  }
  if (FLAGS_save_residuals.empty()) return OkStatus();
  return saved_model::PrepareStatesFolder(FLAGS_save_residuals);
}

LinkOptions ServerLinkOptions(const Setup& setup, const Parts& parts) {
  LinkOptions options;
  options.server_addresses = setup.addresses;
  options.trainer = static_cast<uint32_t>(FLAGS_trainer);
  options.compute = setup.device.compute;
  options.saves = !FLAGS_save.empty();
  options.stays = options.awaits_model = !FLAGS_save_residuals.empty();
  options.learned = parts.learned;
  options.file_bytes = data::FileBytes(parts.found.data());
  if (!options.file_bytes.empty()) {
    options.train_files = static_cast<uint32_t>(parts.found.data().train_size());
  }
  if (parts.warm_start) options.warm_start = parts.warm_start->manifest().id();
  return options;
}

Status MakeClient(const Setup& setup, LinkOptions options, Parts* parts) {
  parts->remote = std::make_unique<ServerClient>(
      setup.config, *parts->layout, std::move(options),
      transport::MakeZmqClientTransport(ServerLimits(setup), setup.keys.security()));
  return parts->warm_start ? parts->remote->ReadPolicyStates(*parts->warm_start) : OkStatus();
}

Status MakeStageClient(const Setup& setup, Parts* parts) {
  WEIR_RETURN_IF_ERROR(CheckLinkMessageBound(setup.config, *parts->layout));
  const auto stage = static_cast<uint32_t>(FLAGS_stage);
  const auto stage_count = static_cast<uint32_t>(parts->layout->stages().size());
  const transport::Limits limits = StageLimits(setup, *parts->layout);
  const auto security = setup.keys.security();
  StageLinkOptions link{
      .trainer = static_cast<uint32_t>(FLAGS_trainer),
      .stage = stage,
      .stage_count = stage_count,
      .listen_address = FLAGS_link_listen.empty() ? FLAGS_link : FLAGS_link_listen,
      .advertised_address = FLAGS_link};
  parts->links = std::make_unique<StageLinks>(
      std::move(link), stage == 0 ? nullptr : transport::MakeZmqServerTransport(limits, security),
      stage + 1 == stage_count ? nullptr : transport::MakeZmqClientTransport(limits, security));
  WEIR_RETURN_IF_ERROR(parts->links->Listen());
  LinkOptions options = ServerLinkOptions(setup, *parts);
  options.stage = stage;
  options.stage_count = stage_count;
  options.link_address = parts->links->address();
  // The servers stay until its threads are over, and their last pushes taken.
  options.stays |= stage > 0;
  options.on_pipeline = [parts](const v1::PipelineView& view) { parts->views.Set(view); };
  return MakeClient(setup, std::move(options), parts);
}

void SetStage(const Setup& setup, Parts* parts, WorkerOptions* options) {
  options->stage = static_cast<uint32_t>(FLAGS_stage);
  options->show_progress = FLAGS_stage == 0;
  ServerClient* const client = parts->remote.get();
  StageParts stage{.trainer = static_cast<uint32_t>(FLAGS_trainer),
                   .stage = *options->stage,
                   .client = client,
                   .links = parts->links.get(),
                   .views = &parts->views,
                   .reader = parts->reader.get(),
                   .tell_adopted =
                       [client](uint64_t generation, bool awaited_next) {
                         client->TellAdopted(generation, awaited_next);
                       },
                   .tell_lost = [client](uint64_t generation) { client->TellLost(generation); },
                   .clock = &client->clock()};
  options->make_trainer = [parts, stage, compute = setup.device.compute](
                              std::function<void(const Status&)> on_failure) {
    return std::make_unique<StageTrainer>(parts->found, *parts->layout, compute, FLAGS_threads,
                                          stage, std::move(on_failure));
  };
}

saved_model::CheckpointChoice ChoiceOf(const Parts& parts) {
  return {.path = FLAGS_resume,
          .may_be_none = saved_model::IsSameFolder(FLAGS_resume, FLAGS_checkpoints),
          .begun_with = parts.begun_with};
}

// What the columns mean must not change when a run goes on.
Status ReadData(const Setup& setup, Parts* parts) {
  parts->found = setup.config;
  WEIR_ASSIGN_OR_RETURN(*parts->found.mutable_data(), data::FindFiles(setup.config.data()));
  std::string begins_with = FLAGS_warm_start;
  if (!FLAGS_resume.empty()) {
    WEIR_ASSIGN_OR_RETURN(begins_with, saved_model::ChooseCheckpoint(ChoiceOf(*parts)));
  }
  parts->warm_start.reset();
  if (!begins_with.empty()) {
    WEIR_ASSIGN_OR_RETURN(parts->warm_start, saved_model::SavedModel::Open(begins_with));
    parts->learned = parts->warm_start->manifest().learned();
  } else {
    WEIR_ASSIGN_OR_RETURN(parts->learned, data::LearnFromData(parts->found));
  }
  WEIR_ASSIGN_OR_RETURN(parts->reader, data::MakeReader(parts->found, parts->learned));
  return OkStatus();
}

void Notice(const Setup& setup, Parts* parts) {
  parts->notices = config::Warnings(setup.config);
  const auto add = [&](const std::vector<std::string>& more) {
    parts->notices.insert(parts->notices.end(), more.begin(), more.end());
  };
  add(data::Warnings(parts->found.data(), parts->learned));
  if (parts->warm_start) add(saved_model::Warnings(*parts->warm_start, setup.config.update()));
}

// Of an embedded run; and goes on from one.
Status KeepCheckpoints(const Setup& setup, Parts* parts) {
  EmbeddedCheckpoints::Options options{.folder = FLAGS_checkpoints};
  options.least_bytes = static_cast<uint64_t>(parts->layout->flat_element_count()) * sizeof(float);
  *options.manifest.mutable_learned() = parts->learned;
  if (const auto* const begun_with = parts->warm_start.get()) {
    *options.manifest.mutable_rule_starts() =
        saved_model::StartsOfRules(*begun_with, setup.config.update());
    options.begun_with = begun_with->manifest().id();
    if (!FLAGS_resume.empty()) {
      WEIR_ASSIGN_OR_RETURN(const auto run,
                            saved_model::ReadProgressFor(setup.config, *begun_with));
      WEIR_RETURN_IF_ERROR(parts->embedded->Resume(run));
      options.lineage = begun_with->manifest().checkpoint().lineage();
      if (begun_with->manifest().checkpoint().residuals_size() > 0) {
        LOG(WARNING) << "what trainers of the run before had not sent is lost: embedded training "
                        "sends nothing";
      }
    }
  }
  if (FLAGS_checkpoints.empty()) return OkStatus();
  return parts->embedded->KeepCheckpoints(std::move(options));
}

Status MakeEmbedded(const Setup& setup, Parts* parts) {
  parts->embedded =
      std::make_unique<EmbeddedClient>(setup.config, *parts->layout, setup.device.compute);
  if (parts->warm_start) WEIR_RETURN_IF_ERROR(parts->embedded->Load(*parts->warm_start));
  WEIR_RETURN_IF_ERROR(KeepCheckpoints(setup, parts));
  const v1::DataConfig& files = parts->found.data();
  const auto train = static_cast<uint32_t>(files.train_size());
  const auto test = static_cast<uint32_t>(files.test_size());
  if (files.has_synthetic() || parts->embedded->SetFileCounts(train, test)) return OkStatus();
  return FailedPrecondition(StrCat("there are ", train, " files to train on and ", test,
                                   " to test on, which are not as many as the run has begun with"));
}

// All that there is to do before others hear of this process.
Status Prepare(const Setup& setup, Parts* parts) {
  WEIR_RETURN_IF_ERROR(ReadData(setup, parts));
  Notice(setup, parts);
  const auto server_count = std::max<size_t>(1, setup.addresses.size());
  parts->layout.emplace(setup.config, static_cast<uint32_t>(server_count));
  if (setup.addresses.empty()) return MakeEmbedded(setup, parts);
  WEIR_RETURN_IF_ERROR(CheckReplica(*parts->layout, setup.device.compute));
  WEIR_RETURN_IF_ERROR(CheckMessageBound(setup.config, *parts->layout));
  if (FLAGS_stage >= 0) return MakeStageClient(setup, parts);
  return MakeClient(setup, ServerLinkOptions(setup, *parts), parts);
}

// From here on others wait for what this worker does, and hear why it ends.
Result<std::unique_ptr<metrics::MetricsLog>> Join(const Setup& setup, InterruptTarget* interrupt,
                                                  Parts* parts) {
  uint64_t run = 0;
  if (parts->remote) {
    const InterruptScope scope(interrupt,
                               [&] { parts->remote->Stop(Interrupted("interrupted"), true); });
    WEIR_RETURN_IF_ERROR(parts->remote->Connect());
    run = parts->remote->run();
  }
  if (!parts->out) return std::unique_ptr<metrics::MetricsLog>();
  auto log = parts->out->Begin(setup.config, run);
  if (!log.ok() && parts->remote) parts->remote->Stop(log.status(), true);
  return log;
}

WorkerOptions OptionsOf(const Setup& setup, Parts* parts) {
  WorkerOptions options;
  if (parts->remote) options.run = parts->remote->run();
  options.threads = FLAGS_threads;
  options.compute = setup.device.compute;
  options.out_directory = FLAGS_out;
  options.commit = BuildCommit();
  options.show_progress = true;
  options.save = parts->save.get();
  options.checkpoints = FLAGS_checkpoints;
  options.checkpoint_wishes = &parts->wishes;
  options.learned = parts->learned;
  options.notices = parts->notices;
  if (parts->warm_start) {
    options.rule_starts = saved_model::StartsOfRules(*parts->warm_start, setup.config.update());
  }
  if (parts->links) SetStage(setup, parts, &options);
  return options;
}

Status Train(const Setup& setup, std::unique_ptr<metrics::MetricsLog> log,
             InterruptTarget* interrupt, Parts* parts) {
  WorkerOptions options = OptionsOf(setup, parts);
  options.log = std::move(log);
  ParameterClient* client = parts->embedded.get();
  if (parts->remote) client = parts->remote.get();
  Worker worker(parts->found, *parts->layout, std::move(options), parts->reader.get(), client);
  Status ran;
  {
    const InterruptScope scope(interrupt, [&] { worker.Interrupt(); });
    ran = worker.Run().status();
  }
  // Either is worth having without the other.
  const bool was_interrupted = ran.code() == StatusCode::kInterrupted;
  if (FLAGS_save_residuals.empty() || !worker.has_concluded() || was_interrupted) return ran;
  const Status saved = parts->remote->SavePolicyStates(FLAGS_save_residuals);
  return ran.ok() ? saved : ran;
}

// Whether a worker that was interrupted has come to its end.
class Ending {
 public:
  void Reached() {
    MutexLock lock(mutex_);
    is_reached_ = true;
    changed_.NotifyAll();
  }
  bool Await(std::chrono::milliseconds patience) {
    MutexLock lock(mutex_);
    const Condition::Time end = Condition::After(patience.count());
    while (!is_reached_ && changed_.WaitUntil(lock, end)) continue;
    return is_reached_;
  }

 private:
  Mutex mutex_;
  Condition changed_;
  bool is_reached_ WEIR_GUARDED_BY(mutex_) = false;
};

// Who reads does not hear anything; others have been told by then.
void EndInGoodOrderOrAtOnce(InterruptTarget* interrupt, Ending* ending, Parts* parts) {
  interrupt->Fire();
  if (ending->Await(kGrace)) return;
  if (parts->save) parts->save->Discard();
  EndInterrupted();
}

// The same, once what this worker has not sent is in a checkpoint, if there are any.
void EndBehindCheckpoint(InterruptTarget* interrupt, Ending* ending, Parts* parts) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + (FLAGS_checkpoints.empty() ? kGrace * 0 : kCheckpointGrace);
  const uint64_t before = parts->wishes.written;
  parts->wishes.wants_one = true;
  while (Clock::now() < end && parts->wishes.written == before) {
    if (ending->Await(std::chrono::milliseconds(50))) return;
  }
  EndInGoodOrderOrAtOnce(interrupt, ending, parts);
}

// Reading may take long, and nobody waits for this process yet.
Status PrepareUnlessInterrupted(const Setup& setup, InterruptTarget* interrupt, Parts* parts) {
  const InterruptScope scope(interrupt, [&] {
    parts->save.reset();
    EndInterrupted();
  });
  return Prepare(setup, parts);
}

// Of a run that has begun with an earlier checkpoint than the newest that there is by now. Whether
// that one is there.
bool FindsWhatTheRunBeganWith(Parts* parts) {
  const auto begun_with = parts->remote ? parts->remote->begun_with() : std::nullopt;
  if (FLAGS_resume.empty() || !begun_with) return false;
  parts->begun_with = begun_with;
  const auto chosen = saved_model::ChooseCheckpoint(ChoiceOf(*parts));
  if (!chosen.ok() || (*begun_with == 0) != chosen->empty()) return false;
  if (*begun_with != 0) {
    const auto model = saved_model::SavedModel::Open(*chosen);
    if (!model.ok() || model.value()->manifest().id() != *begun_with) return false;
  }
  LOG(INFO) << "the run has begun with " << (chosen->empty() ? "nothing" : *chosen)
            << ", and this process does, too";
  return true;
}

Status PrepareAndTrain(const Setup& setup, InterruptTarget* interrupt, Parts* parts) {
  WEIR_RETURN_IF_ERROR(ClaimOutputs(parts));
  WEIR_RETURN_IF_ERROR(PrepareUnlessInterrupted(setup, interrupt, parts));
  auto log = Join(setup, interrupt, parts);
  if (!log.ok() && FindsWhatTheRunBeganWith(parts)) {
    parts->remote.reset();
    parts->links.reset();
    WEIR_RETURN_IF_ERROR(PrepareUnlessInterrupted(setup, interrupt, parts));
    log = Join(setup, interrupt, parts);
  }
  WEIR_RETURN_IF_ERROR(log.status());
  return Train(setup, *std::move(log), interrupt, parts);
}

Status RunWorker(const Setup& setup) {
  setup.keys.WarnIfInsecure();
  InterruptTarget interrupt;
  Ending ending;
  Parts parts;
  const SignalWatcher signals(
      {.on_signal = [&] { EndInGoodOrderOrAtOnce(&interrupt, &ending, &parts); },
       .on_terminate = [&] { EndBehindCheckpoint(&interrupt, &ending, &parts); },
       .on_user = [&] { parts.wishes.wants_one = true; },
       .on_hangup = setup.keys.reader()});
  Status status = PrepareAndTrain(setup, &interrupt, &parts);
  ending.Reached();
  return status;
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
