// What sanitizers report about a program that a test runs, also about its child processes, which have no standard
// streams.
#pragma once

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace kith::testing {

/// True if this program, and thus the one that it runs, was built with AddressSanitizer.
#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

/// Exit code of a process that a sanitizer ends: none of those of kith.
inline constexpr int kSanitizerExit = 99;

/// Makes the programs that this process starts write their reports to files in `folder`. Memory that is short is no
/// report: what the allocator refuses is refused as without a sanitizer.
inline void keep_sanitizer_reports(const std::filesystem::path& folder) {
  const std::string common = "log_path=" + (folder / "report").string() + ":exitcode=" + std::to_string(kSanitizerExit);
  const std::string signals = ":handle_segv=2:handle_sigbus=2:handle_sigill=2:handle_sigfpe=2:handle_abort=2";
  setenv("ASAN_OPTIONS",
         (common + signals + ":symbolize=0:detect_leaks=0:allocator_may_return_null=1:quarantine_size_mb=16").c_str(),
         1);
  setenv("UBSAN_OPTIONS", (common + ":print_stacktrace=1:symbolize=0").c_str(), 1);
}

/// The function of a frame "#2 0x55d0 (/path/kith+0x1a2b)": a library that is linked statically has no file of its own.
inline std::string function_of(const std::string& frame) {
  const std::size_t begin = frame.find('('), plus = frame.find("+0x", begin), end = frame.find(')', plus);
  if (begin == frame.npos || plus == frame.npos || end == frame.npos) return "";
  const std::string file = frame.substr(begin + 1, plus - begin - 1), offset = frame.substr(plus + 1, end - plus - 1);
  FILE* names = popen(("addr2line -f -e '" + file + "' " + offset).c_str(), "r");
  std::string name(200, '\0');
  if (names == nullptr || std::fgets(name.data(), static_cast<int>(name.size()), names) == nullptr) name.clear();
  if (names != nullptr) pclose(names);
  return name;
}

/// Whether a report is about the HDF5 library: the first frame that belongs neither to a sanitizer nor to the C library
/// is there. That is what the child process is for.
inline bool blames_hdf5(const std::string& report) {
  for (std::size_t line = report.find("    #"); line != report.npos; line = report.find("    #", line + 1)) {
    const std::string frame = report.substr(line, report.find('\n', line) - line);
    const auto names = [&frame](const char* part) { return frame.find(part) != frame.npos; };
    if (names("libasan") || names("libubsan") || names("libc.so") || names("libm.so")) continue;
    return names("libhdf5") || function_of(frame).starts_with("H5");
  }
  return false;
}

/// The reports of the last run: how many are about the HDF5 library, and the text of the others. Removes them.
struct SanitizerReports {
  int of_hdf5 = 0;
  std::string of_kith;
};
inline SanitizerReports take_sanitizer_reports(const std::filesystem::path& folder) {
  SanitizerReports reports;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (!entry.path().filename().string().starts_with("report.")) continue;
    std::ifstream stream(entry.path(), std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(stream), {}};
    const bool is_error = text.find("ERROR: ") != text.npos || text.find("runtime error: ") != text.npos;
    if (!is_error) {  // the allocator has refused a size, as it should
    } else if (blames_hdf5(text)) {
      ++reports.of_hdf5;
    } else {
      reports.of_kith += text.substr(0, 4000);
    }
    std::filesystem::remove(entry.path());
  }
  return reports;
}

}  // namespace kith::testing
