// Passes bytes to readers as files with the names that the formats need, and as words to the options.
#include "tests/fuzz/targets.h"

#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>

#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <string>
#include <vector>

#include "app/cli/common_options.h"
#include "app/cli/option_state.h"
#include "core/error.h"
#include "data/format/column_choice.h"
#include "data/io/memory_limit.h"
#include "data/io/utf8.h"
#include "data/labels.h"
#include "data/picture/picture.h"
#include "data/source.h"
#include "data/text/text_number.h"

namespace kith::fuzz {
namespace {

/// The folder of this process, in memory if possible.
std::string& folder() {
  static std::string name;
  return name;
}

void remove_folder() {
  std::error_code ignored;
  std::filesystem::remove_all(folder(), ignored);
}

std::string file_of(const std::string& name, std::string_view bytes) {
  std::string path = folder() + "/" + name;
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0 || write(file, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) std::abort();
  close(file);
  return path;
}

/// Runs an action whose refusal is a good answer. Its message must be fit to print.
template <class Action>
void try_to(const Action& action) {
  try {
    action();
  } catch (const Error& error) {
    if (quoted(error.what(), std::string_view(error.what()).size()).empty()) std::abort();
    if (error.code() == ExitCode::internal) std::abort();
  }
}

void read_everything(const std::string& file, const data::ReadOptions& options) {
  try_to([&] { data::list_datasets(data::Location{file, ""}, options); });
  try_to([&] {
    const auto source = data::open_points(file, options);
    data::read_all(*source);
    source->remarks();
    source->skipped_lines();
    for (const data::Kept which : {data::Kept::id, data::Kept::label, data::Kept::weight}) source->kept(which);
  });
}

/// The next byte, which chooses among options.
std::uint8_t take(std::string_view& bytes) {
  if (bytes.empty()) return 0;
  const auto byte = static_cast<std::uint8_t>(bytes[0]);
  bytes.remove_prefix(1);
  return byte;
}

data::ReadOptions options_from(std::uint8_t choice) {
  data::ReadOptions options;
  options.precision = choice % 2 == 1 ? data::Precision::f32 : data::Precision::automatic;
  options.missing = choice / 2 % 2 == 1 ? data::Missing::keep : data::Missing::offer;
  options.vector_as_column = choice / 4 % 2 == 1;
  options.keep_bytes = choice / 8 % 2 == 1;
  options.transpose = choice / 16 % 2 == 1;
  return options;
}

void read_text(std::string_view bytes) {
  const std::uint8_t choice = take(bytes), columns = take(bytes);
  data::ReadOptions options = options_from(choice);
  constexpr const char* kDelimiters[] = {"", ",", " ", "\t"};
  options.header = static_cast<data::Header>(choice / 32 % 3);
  options.delimiter = kDelimiters[columns % 4];
  if (columns / 4 % 2 == 1) options.comment = columns / 8 % 2 == 1 ? '#' : '\0';
  if (columns / 16 % 2 == 1) options.id_column = "1";
  if (columns / 32 % 2 == 1) options.label_column = "2";
  if (columns / 64 % 2 == 1) options.columns = "1-3";
  const std::string file = file_of("x.csv", bytes);
  read_everything(file, options);
  try_to([&] { data::read_labels(file, options); });
  read_everything(file + ":label", options);  // svmlight
  try_to([&] { data::read_labels(file + ":2", options, data::Unlabelled::keep); });
  try_to([&] { data::read_weights(file, options); });
}

void read_npy(std::string_view bytes) {
  const data::ReadOptions options = options_from(take(bytes));
  const std::string file = file_of("x.npy", bytes);
  read_everything(file, options);
  try_to([&] { data::read_labels(file, options); });
}

void read_npz(std::string_view bytes) {
  const data::ReadOptions options = options_from(take(bytes));
  const std::string file = file_of("x.npz", bytes);
  read_everything(file, options);
  read_everything(file + ":/x", options);
}

void read_matlab(std::string_view bytes) {
  const data::ReadOptions options = options_from(take(bytes));
  const std::string file = file_of("x.mat", bytes);
  read_everything(file, options);
  read_everything(file + ":x", options);
  try_to([&] { data::read_labels(file + ":y", options); });
}

void read_vectors(std::string_view bytes) {
  constexpr const char* kNames[] = {"x.fvecs", "x.bvecs", "x.ivecs", "x.fbin", "x.u8bin",
                                    "x.i8bin", "x.ibin",  "x.hbin",  "x"};
  const std::uint8_t choice = take(bytes);
  const data::ReadOptions options = options_from(take(bytes));
  read_everything(file_of(kNames[choice % std::size(kNames)], bytes), options);
}

/// Makes the checksums of the chunks of a PNG right, so that the reader goes on to what is inside.
void mend_checksums(std::string& png) {
  const auto number_at = [&png](std::size_t at) {
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < 4; ++i) value = value << 8 | static_cast<std::uint8_t>(png[at + i]);
    return value;
  };
  for (std::size_t at = 8; at + 12 <= png.size();) {  // length, type, bytes, checksum
    const std::size_t bytes = number_at(at), end = at + 8 + bytes;
    if (bytes > png.size() || end + 4 > png.size()) return;
    const auto sum = crc32(0, reinterpret_cast<const Bytef*>(png.data() + at + 4), static_cast<uInt>(bytes + 4));
    for (std::size_t i = 0; i < 4; ++i) png[end + i] = static_cast<char>(sum >> (24 - 8 * i));
    at = end + 4;
  }
}

void read_picture(std::string_view bytes) {
  const bool mends = take(bytes) % 2 == 1;
  std::string picture(bytes);
  if (mends) mend_checksums(picture);
  const std::string file = file_of("x.png", picture);
  try_to([&] {
    constexpr std::int64_t kPixelBytes = 64;
    data::read_picture(file, [&](PictureSize size) { data::require_memory(size.pixels() * kPixelBytes, file); });
  });
}

void read_config(std::string_view bytes) {
  const std::string file = file_of("kith.toml", bytes);
  try_to([&] { app::read_config_file(file); });
  app::CommonOptions common;
  app::OptionSet set({.command = "cluster", .summary = "", .usage = "", .examples = {"kith cluster x.h5"}});
  app::add_common_options(set, common);
  try_to([&] {
    if (set.parse({"--config", file})) data::ReadOptions read = app::read_options(common);
  });
}

/// A word for each line.
void read_options(std::string_view bytes) {
  std::vector<std::string> words;
  while (!bytes.empty()) {
    const auto end = std::min(bytes.find('\n'), bytes.size());
    words.emplace_back(bytes.substr(0, end));
    if (words.back().find('\0') != std::string::npos) return;  // no word of a command line can hold it
    const bool short_names = words.back().starts_with('-') && !words.back().starts_with("--");
    if (words.back().starts_with("--h") || (short_names && words.back().find('h') != std::string::npos))
      return;  // help
    bytes.remove_prefix(std::min(end + 1, bytes.size()));
  }
  app::CommonOptions common;
  std::string points;
  app::OptionSet set({.command = "cluster", .summary = "", .usage = "", .examples = {"kith cluster x.h5"}});
  app::add_points(set, points, "");
  app::add_common_options(set, common);
  try_to([&] {
    if (!set.parse(words)) return;
    const data::ReadOptions options = app::read_options(common);
    set.warnings();
    set.stored_command({});
    set.shown_command("cluster", {});
    data::choose_columns(options, {"a", "b", "c", "a b", "7"}, 5, "x.csv");
  });
}

constexpr Target kTargets[] = {
    {"matlab", read_matlab},   {"text", read_text},       {"npy", read_npy},       {"npz", read_npz},
    {"vectors", read_vectors}, {"picture", read_picture}, {"config", read_config}, {"options", read_options},
};

}  // namespace

std::span<const Target> targets() { return kTargets; }

void prepare() {
  for (const char* parent : {"/dev/shm", "/tmp"}) {
    std::string pattern = std::string(parent) + "/kith-fuzz-XXXXXX";
    if (mkdtemp(pattern.data()) == nullptr) continue;
    folder() = pattern;
    break;
  }
  if (folder().empty()) std::abort();
  std::atexit(remove_folder);
  data::set_memory_limit(kMemory);
}

}  // namespace kith::fuzz
