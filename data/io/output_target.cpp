// Checks where an output may be written.
#include "data/io/output_target.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <memory>

#include "core/error.h"
#include "data/io/file_kind.h"
#include "data/io/location.h"

namespace kith::data {
namespace {

/// Name endings that stand for a format of data or pages. tests/data checks that every format of the table is listed.
constexpr const char* kEndings[] = {".h5",      ".h5ad",  ".csv",      ".tsv",   ".txt",   ".json", ".npy",  ".npz",
                                    ".gz",      ".bz2",   ".xz",       ".zst",   ".zip",   ".xlsx", ".xls",  ".parquet",
                                    ".feather", ".arrow", ".html",     ".htm",   ".svg",   ".png",  ".pdf",  ".fvecs",
                                    ".ivecs",   ".bvecs", ".fbin",     ".u8bin", ".i8bin", ".ibin", ".hbin", ".f16bin",
                                    ".mtx",     ".svm",   ".svmlight", ".libsvm"};

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw Error(ExitCode::output, fmt::format("{}: {}", path, why));
}

std::string directory_of(const std::string& path) {
  const auto slash = path.rfind('/');
  if (slash == path.npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

/// The file that a symbolic link finally names; the link itself is never replaced.
std::string follow_link(const std::string& path) {
  struct stat status {
  }, directory{};
  if (lstat(path.c_str(), &status) != 0 || !S_ISLNK(status.st_mode)) return path;
  // The rule of Linux's protected_symlinks, in every directory: another user's link must not choose what is replaced.
  const bool is_trusted = status.st_uid == geteuid() ||
                          (stat(directory_of(path).c_str(), &directory) == 0 && status.st_uid == directory.st_uid);
  if (!is_trusted) refuse(path, "is a symbolic link of another user, which is not followed; choose another name");
  const std::unique_ptr<char, decltype(&std::free)> real(realpath(path.c_str(), nullptr), &std::free);
  if (!real)
    refuse(path,
           "the symbolic link points to something that does not exist or is not a file; remove the link or choose "
           "another name");
  return real.get();
}

bool is_same_file(const std::string& input, const struct stat& target) {
  struct stat status {};
  const int result = input == "-" ? fstat(STDIN_FILENO, &status) : stat(parse_location(input).file.c_str(), &status);
  return result == 0 && status.st_dev == target.st_dev && status.st_ino == target.st_ino;
}

void check_existing(const std::string& path, const struct stat& status, const OutputOptions& options) {
  if (!S_ISREG(status.st_mode)) {
    refuse(path, fmt::format("expected a new or regular file, found {}; results cannot be streamed: give a file name",
                             describe_special(status.st_mode)));
  }
  for (const auto& input : options.inputs) {
    if (is_same_file(input, status))
      refuse(path, fmt::format("is the input {}, which is never overwritten; choose another name",
                               input == "-" ? "on standard input" : input));
  }
}

/// Throws if the ending of the name stands for a format other than that of the output.
void check_ending(const std::string& path, const OutputOptions& options) {
  const auto ends = [&path](const std::string& ending) { return has_ending(path, ending); };
  if (std::any_of(options.endings.begin(), options.endings.end(), ends)) return;
  if (std::none_of(std::begin(kEndings), std::end(kEndings), ends)) return;
  const std::string& usual = options.endings.front();
  refuse(path,
         fmt::format("expected the name of {}, because this command writes one; give a name that ends with "
                     "{}{}",
                     usual == ".h5"     ? "an HDF5 file"
                     : usual == ".html" ? "an HTML page"
                                        : "a " + usual.substr(1) + " file",
                     fmt::join(options.endings, " or "),
                     has_ending(path, ".h5ad") ? "; cluster and assign write AnnData with --write-obs NAME" : ""));
}

/// Opens a directory, also one that may be written but not read.
Descriptor open_directory(const std::string& name) {
  Descriptor directory(open(name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return directory || errno != EACCES ? std::move(directory)
                                      : Descriptor(open(name.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
}

[[noreturn]] void refuse_directory(const std::string& path, const std::string& directory, int error) {
  if (error == ENOENT)
    refuse(path, fmt::format("the directory {} does not exist; create it with `mkdir -p {}`", directory, directory));
  if (error == ENOTDIR) refuse(path, fmt::format("{} is not a directory", directory));
  refuse(path, fmt::format("cannot open the directory {}: {}", directory, std::strerror(error)));
}

}  // namespace

OutputTarget open_target(const std::string& path, const OutputOptions& options) {
  if (path.empty()) throw Error(ExitCode::output, "the output has an empty name; give a file name");
  if (path == "-")
    refuse(path, "expected a file name, found standard output; results cannot be written to it, give a file name");
  if (path.back() == '/') refuse(path, "expected a file name, found a directory name; name a file in it");
  const std::string real = follow_link(path);
  OutputTarget target;
  target.directory_name = directory_of(real);
  target.name = real.substr(real.rfind('/') + 1);
  target.directory = open_directory(target.directory_name);
  const int directory_error = errno, directory = target.directory.get();
  struct stat status {};
  const bool exists = target.directory && fstatat(directory, target.name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
  if (exists) {
    check_existing(path, status, options);
    target.replaced = {status.st_mode & 0777, status.st_gid};
  } else if (target.directory && errno != ENOENT) {
    refuse(path, fmt::format("cannot be written: {}", std::strerror(errno)));
  }
  check_ending(path, options);
  if (exists && !options.force && !options.may_equal)
    refuse(path, "exists; use -f/--force to replace it or choose another name");
  if (!target.directory) refuse_directory(path, target.directory_name, directory_error);
  if (faccessat(directory, ".", W_OK | X_OK, AT_EACCESS) != 0) {
    refuse(path, fmt::format("cannot write to the directory {}: {}; choose another name", target.directory_name,
                             std::strerror(errno)));
  }
  return target;
}

void check_output(const std::string& path, const OutputOptions& options) { open_target(path, options); }

}  // namespace kith::data
