// kith devices: the usable backends, why others are missing, versions and file formats.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include <algorithm>

#include "app/cli/common_options.h"
#include "app/cli/layout.h"
#include "app/cli/terminal.h"
#include "app/commands.h"
#include "app/version.h"
#include "core/error.h"
#include "core/points/backend.h"
#include "core/runtime/threads.h"
#include "data/arrow/arrow_table.h"
#include "data/io/zstd_bytes.h"
#include "kernels/backends.h"
#include "kernels/cpu/instructions/instructions.h"

namespace kith::app {
namespace {

/// A backend on one device, or the reason why it cannot be used.
struct DeviceEntry {
  std::string backend;
  std::string summary;
  int number = 0;
  std::string device;   // empty when missing
  std::string missing;  // the reason with its remedy
  std::vector<std::string> screens = {};
  bool has_own_memory = false;
};

DeviceEntry open_device(const BackendEntry& entry, int number) {
  BackendOptions options;
  options.device = number;
  DeviceEntry result{entry.name, entry.summary, number, "", entry.missing(options)};
  if (!result.missing.empty()) return result;
  try {
    const Device device = entry.open(options, {})->device();
    result.device = fmt::format("{}, {}", device.name, device.description);
    result.screens = device.screens;
    result.has_own_memory = device.has_own_memory;
  } catch (const Error& error) {  // a GPU that exists but cannot be used
    result.missing = error.what();
  }
  return result;
}

/// All backends; those with devices of their own for each device.
std::vector<DeviceEntry> list_devices() {
  constexpr int kMostDevices = 64;
  std::vector<DeviceEntry> all;
  for (const BackendEntry& entry : backends()) {
    for (int number = 0; number < kMostDevices; ++number) {
      DeviceEntry result = open_device(entry, number);
      if (number > 0 && result.device.empty()) break;  // one past the last device
      all.push_back(std::move(result));
      if (!all.back().has_own_memory) break;
    }
  }
  return all;
}

/// Names of the instruction sets that run here, best first.
std::vector<std::string> usable_instructions() {
  std::vector<std::string> names;
  for (const cpu::Instructions* set : cpu::instruction_sets()) {
    if (set->supported()) names.emplace_back(set->name);
  }
  return names;
}

/// The GPUs that can be used.
int count_gpus(const std::vector<DeviceEntry>& all) {
  return static_cast<int>(std::ranges::count_if(all, [](const DeviceEntry& entry) { return entry.has_own_memory; }));
}

std::string as_text(const std::vector<DeviceEntry>& all) {
  const std::string cuda = cuda_version().empty() ? "built without CUDA" : "CUDA " + cuda_version();
  std::string out = fmt::format("kith {}, HDF5 {}, {}\n\n", KITH_VERSION, hdf5_version(), cuda);
  const auto line = [&out](const std::string& lead, const std::string& text) {
    out += hang(lead, wrap(text, prose_width(Stream::output) - lead.size()));
  };
  out += "backends, best first\n";
  for (const DeviceEntry& entry : all) {
    line(fmt::format("  {:<6}", entry.backend),
         fmt::format("{}{}", entry.device.empty() ? "missing: " + entry.missing : entry.device,
                     entry.number > 0 ? fmt::format(" (--device {})", entry.number) : ""));
    if (!entry.screens.empty()) line("        ", fmt::format("--screen {}", fmt::join(entry.screens, ", ")));
  }
  if (const int gpus = count_gpus(all); gpus > 1) {
    line("  links ", cuda::gpus_reach_each_other(gpus) ? "each GPU reaches the memory of the others"
                                                       : "some GPUs exchange through the memory of the host");
  }
  out += "\nprocessor\n";
  line("  instructions ", fmt::format("{}: {}", cpu::instructions().name, cpu::instructions().summary));
  line("  KITH_CPU     ", fmt::format("{}", fmt::join(usable_instructions(), ", ")));
  line("  threads      ", std::to_string(usable_threads()));
  out += "\nformats\n";
  for (const data::FormatEntry& format : data::formats()) {
    line(fmt::format("  {:<13}", format.name), format.extensions);
    line("               ", format.summary);
  }
  if (!data::has_arrow()) {
    line("  Arrow        ",
         "the program kith-arrow was found neither beside kith nor on PATH: Parquet and Arrow files are refused "
         "with the command that converts them. To have it: pip install pyarrow, then ./dev build");
  }
  line("  zstd         ", data::has_zstd()
                              ? "text, arrays and HDF5 chunks, as with gzip"
                              : "not in this build, since libzstd was not found; zstd -dc FILE | kith COMMAND -");
  return out;
}

std::string as_json(const std::vector<DeviceEntry>& all) {
  using Json = nlohmann::ordered_json;
  Json object{{"command", "devices"}, {"version", KITH_VERSION}, {"hdf5", hdf5_version()}};
  object["cuda"] = cuda_version().empty() ? Json(nullptr) : Json(cuda_version());
  object["backends"] = Json::array();
  for (const DeviceEntry& entry : all) {
    Json backend{{"name", entry.backend}, {"summary", entry.summary}, {"usable", entry.missing.empty()}};
    if (entry.missing.empty()) {
      backend["number"] = entry.number;
      backend["device"] = entry.device;
      backend["screens"] = entry.screens;
    } else {
      backend["missing"] = entry.missing;
    }
    object["backends"].push_back(backend);
  }
  if (const int gpus = count_gpus(all); gpus > 1) object["gpus_linked"] = cuda::gpus_reach_each_other(gpus);
  object["instructions"] = cpu::instructions().name;
  object["instruction_sets"] = usable_instructions();
  object["threads"] = usable_threads();
  object["formats"] = Json::array();
  for (const data::FormatEntry& format : data::formats()) {
    object["formats"].push_back(
        {{"name", format.name}, {"extensions", format.extensions}, {"summary", format.summary}});
  }
  object["zstd"] = data::has_zstd();
  object["arrow"] = data::has_arrow();
  return object.dump(2) + "\n";
}

}  // namespace

int run_devices(const Arguments& arguments) {
  bool json = false, dry_run = false;
  OptionSet set(
      {.command = "devices",
       .summary = "the processors and GPUs that kith can use here; what is missing, and why; versions and formats.",
       .usage = "[--json]",
       .examples = {"kith devices", "kith devices --json"}});
  set.begin_common();
  set.flag({.names = "--json", .help = "Print one JSON object.", .section = Section::messages}, json);
  set.flag({.names = "--dry-run", .help = "Check the options, and exit.", .section = Section::messages}, dry_run);
  if (!set.parse(arguments) || dry_run) return 0;
  const std::vector<DeviceEntry> all = list_devices();
  print_out(json ? as_json(all) : as_text(all));
  return 0;
}

}  // namespace kith::app
