// kith bench: starts the program kith-bench, as git starts git-NAME. What measures is no part of kith itself.
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "app/commands.h"
#include "core/error.h"

namespace kith::app {
namespace {

constexpr const char* kProgram = "kith-bench";

}  // namespace

int run_bench(const Arguments& arguments) {
  Arguments all = arguments;
  all.insert(all.begin(), kProgram);
  std::vector<char*> words;
  for (std::string& word : all) words.push_back(word.data());
  words.push_back(nullptr);
  std::error_code failure;
  const auto beside = std::filesystem::read_symlink("/proc/self/exe", failure).replace_filename(kProgram);
  execv(beside.c_str(), words.data());
  if (errno == ENOENT) execvp(kProgram, words.data());
  throw Error(
      ExitCode::usage,
      fmt::format("bench: the program {} cannot be started, beside {} or on PATH: {}; the packages kith and "
                  "kith-cuda have it, and so do the wheel and the tarball; a build makes it with: cmake --build "
                  "build --target programs",
                  kProgram, beside.parent_path().string(), std::strerror(errno)));
}

}  // namespace kith::app
