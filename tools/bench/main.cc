// weir-bench: how fast Weir is, with a peer or a limit of the machine beside each number.
//
//   weir-bench all|gpu|SECTION... [--json=FILE] [--peers=DIR] [--repeats=N] [--quick]
//              [--device=cuda:0]
//
// Exit codes: 0 done, 1 failed while running or a result was wrong, 2 wrong flags, 130 interrupted.

#include <gflags/gflags.h>

#include <algorithm>
#include <exception>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "common/base/check.h"
#include "common/base/clock.h"
#include "common/base/heap.h"
#include "common/base/signal_watcher.h"
#include "common/base/strings.h"
#include "common/device/device_name.h"
#include "common/program/program.h"
#include "gpu/open_device.h"
#include "tools/bench/card.h"
#include "tools/bench/json_file.h"
#include "tools/bench/machine.h"
#include "tools/bench/openblas_settings.h"
#include "tools/bench/peer_script.h"
#include "tools/bench/processors.h"
#include "tools/bench/program.h"
#include "tools/bench/report.h"
#include "tools/bench/section.h"
#include "tools/bench/temporary_folder.h"

DEFINE_string(json, "", "also write the lines to this file, as JSON");
DEFINE_int32(repeats, 5,
             "how often each measurement is made, the median counts; no more than three "
             "times what trains in other processes or beside PyTorch, once what takes minutes; "
             "durability, security and flood train as often as is said");
DEFINE_string(
    peers, "",
    "run the peers in Python (of step, train, select, policies and split) with the interpreter of "
    "this folder, which tools/install_peers makes; else with Debian's, whose PyTorch is "
    "python3-torch");
DEFINE_string(device, "cuda:0", "the card that the sections of gpu measure");
DEFINE_bool(quick, false, "smallest sizes, once: verifies the results, the times mean nothing");

namespace weir::bench {
namespace {

std::string Usage() {
  std::string text =
      "measures Weir beside a peer or a limit of the machine\n"
      "  weir-bench all|gpu|SECTION... [--json=FILE] [--peers=DIR] [--repeats=N] [--quick]\n"
      "      [--device=cuda:0]\n"
      "gpu: all sections of a card; all leaves them out where there is none\n"
      "sections:";
  for (const Section& section : Sections())
    text += StrCat("\n  ", section.name, ": ", section.help);
  return text;
}

Result<Card> OpenCardOfFlags(kernels::Precision precision, int64_t batch_rows) {
  WEIR_ASSIGN_OR_RETURN(const device::DeviceName name, device::ParseDeviceName(FLAGS_device));
  WEIR_ASSIGN_OR_RETURN(gpu::OpenedDevice opened,
                        gpu::OpenDevice(name, /*memory_bytes=*/0, precision, batch_rows));
  return Card{std::move(opened.card), opened.compute};
}

Status CheckCard() { return OpenCardOfFlags(kernels::Precision::kF32, 1).status(); }

// Of all sections those that can run here.
void ChooseAll(std::vector<const Section*>* chosen) {
  const Status card = CheckCard();
  if (!card.ok()) std::cout << "left out: gpu: " << card.message() << "\n";
  for (const Section& section : Sections()) {
    if (card.ok() || !section.on_card) chosen->push_back(&section);
  }
}

std::vector<std::string> FlagMistakes() {
  std::vector<std::string> mistakes;
  if (FLAGS_repeats < 1) mistakes.push_back(StrCat("--repeats=", FLAGS_repeats, " is less than 1"));
  if (const Status peers = CheckPeers(FLAGS_peers); !FLAGS_peers.empty() && !peers.ok()) {
    mistakes.push_back(peers.message());
  }
  const auto device = device::ParseDeviceName(FLAGS_device);
  if (!device.ok()) {
    mistakes.push_back(StrCat("--device: ", device.status().message()));
  } else if (!device->is_cuda) {
    mistakes.push_back("--device=cpu is no card; all other sections measure the CPU");
  }
  return mistakes;
}

Result<std::vector<const Section*>> Choose(const std::vector<std::string>& names) {
  std::vector<std::string> mistakes = FlagMistakes();
  std::vector<const Section*> chosen;
  if (names.empty()) mistakes.push_back("say which section to measure, or all (see --help)");
  for (const std::string& name : names) {
    if (name == "all") {
      ChooseAll(&chosen);
    } else if (name == "gpu") {
      for (const Section& section : Sections()) {
        if (section.on_card) chosen.push_back(&section);
      }
    } else if (const Section* section = FindSection(name)) {
      chosen.push_back(section);
    } else {
      mistakes.push_back(StrCat("\"", name, "\" is no section (see --help)"));
    }
  }
  if (!mistakes.empty()) return InvalidConfig(StrJoin(mistakes, "\n"));
  // Before anything is measured.
  if (std::ranges::any_of(chosen, &Section::on_card)) WEIR_RETURN_IF_ERROR(CheckCard());
  return chosen;
}

// Its lines, or what went wrong, with its name.
Result<Lines> RunSection(const Section& section, const Options& options) {
  try {
    std::optional<OnProcessors> on;
    if (section.one_processor) on.emplace(std::vector<int>{QuieterProcessor()});
    Result<Lines> lines = section.run(options);
    if (lines.ok()) return lines;
    return Status(lines.status().code(), StrCat(section.name, ": ", lines.status().message()));
  } catch (const std::exception& exception) {  // memory, or a peer's result that is none
    return ResourceExhausted(StrCat(section.name, ": ", exception.what()));
  }
}

Status Measure(const std::vector<std::string>& names) {
  WEIR_ASSIGN_OR_RETURN(const std::vector<const Section*> sections, Choose(names));
  const Options options{.repeats = FLAGS_quick ? 1 : FLAGS_repeats,
                        .quick = FLAGS_quick,
                        .peers = FLAGS_peers,
                        .device = FLAGS_device,
                        .open_card = OpenCardOfFlags};
  const Machine machine = DescribeMachine();
  PrintMachine(machine, std::cout);
  WEIR_RETURN_IF_ERROR(CheckJson(FLAGS_json));
  Lines all;
  Status failures;  // of sections; the others are worth having
  for (const Section* section : sections) {
    std::cout << "\n" << section->name << ": " << section->help << std::endl;
    const double start = MonotonicSeconds();
    const Result<Lines> lines = RunSection(*section, options);
    if (lines.ok()) {
      PrintTable(*lines, std::cout);
      all.insert(all.end(), lines->begin(), lines->end());
      if (!lines->empty()) WEIR_RETURN_IF_ERROR(WriteJson(FLAGS_json, all, machine));
    } else {
      std::cout << "failed: " << lines.status().message() << "\n";
      failures = Joined(failures, lines.status());
    }
    std::cout << Format("took %.0f s\n", MonotonicSeconds() - start);
  }
  if (std::cout.flush()) return failures;
  return Unavailable("cannot write to standard output");
}

[[noreturn]] void CleanUpAndEnd() {
  KillProgramsForGood();
  RemoveTemporaryFoldersForGood();
  EndInterrupted();
}

Status Run(const Arguments& names) {
  AdoptPrograms();
  const SignalWatcher watcher(CleanUpAndEnd);
  return Measure(names);
}

}  // namespace
}  // namespace weir::bench

int main(int argc, char** argv) {
  weir::bench::LetOpenBlasDoItsBest(argv);
  weir::KeepFreedMemory();  // as server and worker do; peers in this process have the same heap
  FLAGS_minloglevel = google::GLOG_WARNING;
  return weir::RunProgram({.usage = weir::bench::Usage(),
                           .flags_in = "bench/main",
                           .short_of_memory = "this section",
                           .run = weir::bench::Run},
                          argc, argv);
}
