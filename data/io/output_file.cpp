// Checks where an output may be written, and publishes a finished file only after it is on the disk.
#include "data/io/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <memory>
#include <random>
#include <utility>

#include "core/error.h"
#include "data/io/file_kind.h"
#include "data/io/location.h"

namespace kith::data {
namespace {

/// A temporary file of this process, in memory that a signal handler may read at any moment.
struct Slot {
  enum State : int { free, claimed, named };
  std::atomic<int> state{free};
  char path[PATH_MAX] = {};
};
constexpr int kSlots = 16;
Slot slots[kSlots];
static_assert(std::atomic<int>::is_always_lock_free, "a signal handler reads the state");

int claim_slot(const std::string& path) {
  if (path.size() >= PATH_MAX) return -1;
  for (int i = 0; i < kSlots; ++i) {
    int expected = Slot::free;
    if (!slots[i].state.compare_exchange_strong(expected, Slot::claimed)) continue;
    std::memcpy(slots[i].path, path.c_str(), path.size() + 1);
    slots[i].state.store(Slot::named);
    return i;
  }
  return -1;
}

/// Name endings that stand for a format of data or pages. tests/data checks that every format of the table is listed.
constexpr const char* kEndings[] = {".h5",    ".h5ad", ".csv",   ".tsv",   ".txt",  ".json", ".npy",   ".npz",
                                    ".gz",    ".bz2",  ".xz",    ".zst",   ".zip",  ".xlsx", ".xls",   ".parquet",
                                    ".arrow", ".html", ".htm",   ".svg",   ".png",  ".pdf",  ".fvecs", ".ivecs",
                                    ".bvecs", ".fbin", ".u8bin", ".i8bin", ".ibin", ".hbin", ".f16bin"};

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
  struct stat status {};
  if (lstat(path.c_str(), &status) != 0 || !S_ISLNK(status.st_mode)) return path;
  const std::unique_ptr<char, decltype(&std::free)> real(realpath(path.c_str(), nullptr), &std::free);
  if (!real)
    refuse(path,
           "the symbolic link points to something that does not exist or is not a file; remove the link or choose "
           "another name");
  return real.get();
}

bool is_same_file(const std::string& input, const struct stat& target) {
  struct stat status {};
  return stat(parse_location(input).file.c_str(), &status) == 0 && status.st_dev == target.st_dev &&
         status.st_ino == target.st_ino;
}

void check_existing(const std::string& path, const struct stat& status, const OutputOptions& options) {
  if (!S_ISREG(status.st_mode)) {
    refuse(path, fmt::format("expected a new or regular file, found {}; results cannot be streamed: give a file name",
                             describe_special(status.st_mode)));
  }
  for (const auto& input : options.inputs) {
    if (is_same_file(input, status))
      refuse(path, fmt::format("is the input {}, which is never overwritten; choose another name", input));
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

/// Throws unless `path` can be written. Returns the file that will be replaced or created.
std::string checked_target(const std::string& path, const OutputOptions& options) {
  if (path.empty()) throw Error(ExitCode::output, "the output has an empty name; give a file name");
  if (path == "-")
    refuse(path, "expected a file name, found standard output; results cannot be written to it, give a file name");
  if (path.back() == '/') refuse(path, "expected a file name, found a directory name; name a file in it");
  std::string target = follow_link(path);
  struct stat status {};
  const bool exists = stat(target.c_str(), &status) == 0;
  if (exists) {
    check_existing(path, status, options);
  } else if (errno != ENOENT && errno != ENOTDIR) {
    refuse(path, fmt::format("cannot be written: {}", std::strerror(errno)));
  }
  check_ending(path, options);
  if (exists && !options.force) refuse(path, "exists; use -f/--force to replace it or choose another name");
  const std::string directory = directory_of(target);
  if (stat(directory.c_str(), &status) != 0) {
    refuse(path, fmt::format("the directory {} does not exist; create it with `mkdir -p {}`", directory, directory));
  }
  if (!S_ISDIR(status.st_mode)) refuse(path, fmt::format("{} is not a directory", directory));
  if (faccessat(AT_FDCWD, directory.c_str(), W_OK | X_OK, AT_EACCESS) != 0) {
    refuse(path,
           fmt::format("cannot write to the directory {}: {}; choose another name", directory, std::strerror(errno)));
  }
  return target;
}

/// A hidden name next to the target, with the process number, within the length limit of file names. The random part is
/// needed because process numbers repeat, often in containers, and a killed run does not remove its file.
std::string temporary_for(const std::string& target) {
  constexpr std::size_t max_name_bytes = 200;
  const auto slash = target.rfind('/');
  const std::string directory = slash == target.npos ? "" : target.substr(0, slash + 1);
  const std::string name = slash == target.npos ? target : target.substr(slash + 1);
  std::random_device random;
  return fmt::format("{}.{}.{}-{:08x}{:08x}.part", directory, name.substr(0, max_name_bytes), getpid(), random(),
                     random());
}

}  // namespace

void check_output(const std::string& path, const OutputOptions& options) { checked_target(path, options); }

bool remove_temporary_files_from_signal() noexcept {
  bool removed = false;
  for (auto& slot : slots) {
    if (slot.state.load() == Slot::named && unlink(slot.path) == 0) removed = true;
  }
  return removed;
}

OutputFile::OutputFile(const std::string& path, const OutputOptions& options)
    : name_(path), target_(checked_target(path, options)), temporary_(temporary_for(target_)), force_(options.force) {
  struct stat status {};
  if (stat(target_.c_str(), &status) == 0) replaced_ = Replaced{status.st_mode & 0777, status.st_gid};
  slot_ = claim_slot(temporary_);
  if (slot_ < 0)
    refuse(name_, "the name is too long, or too many results are being written at once; choose a shorter name");
  // The slot holds the name before the file exists, so that a signal at any time removes it. O_EXCL ensures that the
  // file is new and belongs to nobody else.
  descriptor_ = open(temporary_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, replaced_ ? S_IRUSR | S_IWUSR : 0666);
  if (descriptor_ >= 0) return;
  const int error = errno;
  slots[slot_].state.store(Slot::free);
  refuse(name_, fmt::format("cannot create {}: {}", temporary_, std::strerror(error)));
}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0) close(descriptor_);
  if (slot_ < 0) return;
  if (unlink(temporary_.c_str()) != 0 && errno != ENOENT) {
    fmt::print(stderr, "kith: {} could not be removed: {}\n", temporary_, std::strerror(errno));
  }
  slots[slot_].state.store(Slot::free);
}

void OutputFile::fail(const char* doing) const {
  refuse(name_, fmt::format("{} failed: {}; nothing was left behind", doing, std::strerror(errno)));
}

void OutputFile::require_space(std::int64_t bytes) const {
  struct statvfs space {};
  const std::string directory = directory_of(target_);
  // Some file systems do not know their size and report 0.
  if (statvfs(directory.c_str(), &space) != 0 || space.f_blocks == 0) return;
  const double free = static_cast<double>(space.f_bavail) * static_cast<double>(space.f_frsize);
  if (static_cast<double>(bytes) <= free) return;
  refuse(name_,
         fmt::format("needs {:.1f} MB of disk space, but {:.1f} MB are free in {}; free some or choose another place",
                     static_cast<double>(bytes) / 1e6, free / 1e6, directory));
}

void OutputFile::sync() {
  if (fsync(descriptor_) != 0) fail("writing to the disk");
  posix_fadvise(descriptor_, 0, 0, POSIX_FADV_DONTNEED);
}

/// Ensures that nobody can read the new file who could not read the old one. On a file system without permissions the
/// file keeps the mode of the temporary file, which only the owner may read.
void OutputFile::keep_mode() const {
  struct stat made {};
  if (!replaced_ || fstat(descriptor_, &made) != 0) return;
  const bool same_group = made.st_gid == replaced_->group || fchown(descriptor_, -1, replaced_->group) == 0;
  static_cast<void>(fchmod(descriptor_, same_group ? replaced_->mode : replaced_->mode & ~S_IRWXG));
}

void OutputFile::publish() {
  keep_mode();
  if (close(std::exchange(descriptor_, -1)) != 0) fail("closing");
  int result = -1;
  if (force_) {
    result = rename(temporary_.c_str(), target_.c_str());
  } else {
    result = renameat2(AT_FDCWD, temporary_.c_str(), AT_FDCWD, target_.c_str(), RENAME_NOREPLACE);
    if (result != 0 && errno == EEXIST)
      refuse(name_,
             "was created by another program in the meantime; use -f/--force to replace it or choose another name");
    // Some file systems cannot rename without replacing; there a check just before the renaming has to be enough.
    if (result != 0 && errno == EINVAL && access(target_.c_str(), F_OK) != 0)
      result = rename(temporary_.c_str(), target_.c_str());
  }
  if (result != 0) fail("renaming");
  slots[std::exchange(slot_, -1)].state.store(Slot::free);
  const int directory = open(directory_of(target_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) return;  // the directory is writable but not readable
  const int error = fsync(directory) == 0 ? 0 : errno;
  close(directory);
  if (error == 0 || error == EINVAL) return;  // some file systems cannot sync a directory
  refuse(name_, fmt::format("is written, but its directory could not be synced to the disk: {}", std::strerror(error)));
}

}  // namespace kith::data
