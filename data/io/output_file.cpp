// Checks the place of an output, writes a temporary file there, and gives it its name.
#include "data/io/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <memory>
#include <string_view>
#include <system_error>

#include "core/error.h"
#include "data/io/file_kind.h"
#include "data/io/input_bytes.h"
#include "data/io/location.h"
#include "data/io/memory_limit.h"

namespace kith::data {
namespace {

/// Name endings that stand for a format of data or pages. tests/data checks that every format of the table is listed.
constexpr const char* kEndings[] = {
    ".h5",   ".h5ad",   ".csv", ".tsv",   ".txt",      ".json",    ".npy",     ".npz",   ".gz",    ".bz2",
    ".xz",   ".zst",    ".zip", ".xlsx",  ".xls",      ".parquet", ".feather", ".arrow", ".html",  ".htm",
    ".svg",  ".png",    ".pdf", ".fvecs", ".ivecs",    ".bvecs",   ".fbin",    ".u8bin", ".i8bin", ".ibin",
    ".hbin", ".f16bin", ".mtx", ".svm",   ".svmlight", ".libsvm",  ".fps"};

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
  for (const std::string& name : options.inputs) {
    for (const std::string& input : options.files_of != nullptr ? options.files_of(name) : std::vector{name}) {
      if (!is_same_file(input, status)) continue;
      refuse(path, fmt::format("is the input {}, which is never overwritten; choose another name",
                               input == "-" ? "on standard input" : input));
    }
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

namespace {

[[noreturn]] void refuse_file(const std::string& path, const std::string& why) {
  throw Error(ExitCode::output, fmt::format("{}: {}", path, why));
}

/// Nobody else reads a replacement before it has the mode of the file that it replaces.
mode_t first_mode(const OutputTarget& target) { return target.replaced ? S_IRUSR | S_IWUSR : 0666; }

}  // namespace

OutputFile::OutputFile(const std::string& path, const OutputOptions& options) try
    : name_(path),
      force_(options.force),
      may_equal_(options.may_equal),
      target_(open_target(path, options)),
      file_(target_.directory.get(), target_.name, first_mode(target_)) {
} catch (const std::system_error& error) {
  refuse_file(path, fmt::format("cannot create a temporary file in its directory: {}; free space, raise the limit, or "
                                "choose another place",
                                error.code().message()));
}

std::string OutputFile::descriptor_path() const {
  check_name();      // HDF5 looks the name up, and would report its loss without saying why
  char process[32];  // in the namespace of /proc, which getpid() may not know
  const ssize_t size = readlink("/proc/self", process, sizeof process - 1);
  if (size < 0) return target_.directory_name + "/" + file_.name();  // a root without /proc
  return fmt::format("/proc/{}/fd/{}", std::string_view(process, static_cast<std::size_t>(size)), descriptor());
}

void OutputFile::check_name() const {
  if (file_.is(file_.name())) return;
  refuse_file(name_, "another program has replaced its temporary file; choose another place");
}

void OutputFile::fail(const char* doing) const {
  refuse_file(name_, fmt::format("{} failed: {}; nothing was left behind", doing, std::strerror(errno)));
}

void OutputFile::require_space(std::int64_t bytes) const {
  const std::int64_t missing = missing_space(descriptor(), bytes);
  if (missing == 0) return;
  refuse_file(name_,
              fmt::format("needs {} of disk space, {} more than is free in {}; free some or choose another place",
                          show_bytes(bytes), show_bytes(missing), target_.directory_name));
}

void OutputFile::set_mode(mode_t mode) const {
  if (!target_.replaced) static_cast<void>(fchmod(descriptor(), mode));  // some file systems have no permissions
}

void OutputFile::sync() const {
  if (may_equal_ && !force_ && target_.replaced && equals_target()) return;  // publish() will keep that one
  if (fsync(descriptor()) != 0) fail("writing to the disk");
  posix_fadvise(descriptor(), 0, 0, POSIX_FADV_DONTNEED);
}

/// Ensures that nobody can read the new file who could not read the old one. On a file system without permissions the
/// file keeps the mode of the temporary file, which only the owner may read.
void OutputFile::keep_mode() const {
  struct stat made {};
  const auto& replaced = target_.replaced;
  if (!replaced || fstat(descriptor(), &made) != 0) return;
  const bool same_group = made.st_gid == replaced->group || fchown(descriptor(), -1, replaced->group) == 0;
  static_cast<void>(fchmod(descriptor(), same_group ? replaced->mode : replaced->mode & ~S_IRWXG));
}

/// Whether the existing target has the same bytes.
bool OutputFile::equals_target() const {
  constexpr std::int64_t kBlock = std::int64_t{1} << 20;
  const Descriptor other(
      openat(target_.directory.get(), target_.name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat mine {
  }, theirs{};
  if (!other || fstat(descriptor(), &mine) != 0 || fstat(other.get(), &theirs) != 0) return false;
  if (!S_ISREG(theirs.st_mode) || mine.st_size != theirs.st_size) return false;
  std::vector<std::byte> a(kBlock), b(kBlock);
  for (std::int64_t at = 0; at < mine.st_size; at += kBlock) {
    const std::int64_t count = std::min(kBlock, mine.st_size - at);
    if (!read_at(descriptor(), at, count, a.data()).empty() || !read_at(other.get(), at, count, b.data()).empty() ||
        !std::equal(a.begin(), a.begin() + count, b.begin())) {
      return false;
    }
  }
  return true;
}

void OutputFile::publish() {
  if (may_equal_ && !force_ && target_.replaced) {
    if (equals_target()) return;
    refuse_file(name_,
                "exists, with other bytes than this run has; use -f/--force to replace it or choose another name");
  }
  keep_mode();
  // Network file systems report some failures only when a descriptor is closed. The file itself stays open, since its
  // lock shows that it is in use.
  const int copy = fcntl(descriptor(), F_DUPFD_CLOEXEC, 0);
  if (copy < 0 || close(copy) != 0) fail("closing");
  check_name();
  if (!file_.rename_to(target_.name, force_)) {
    if (errno == EEXIST)
      refuse_file(
          name_, "was created by another program in the meantime; use -f/--force to replace it or choose another name");
    fail("renaming");
  }
  if (!file_.is(target_.name))
    refuse_file(name_, "is written, but another program has replaced it; choose another place");
  if (fsync(target_.directory.get()) == 0 || errno == EINVAL || errno == EBADF) return;  // cannot be synced
  refuse_file(name_,
              fmt::format("is written, but its directory could not be synced to the disk: {}", std::strerror(errno)));
}

// Buffered writing to a descriptor, with a checksum for each part between two positions.

namespace {

constexpr std::size_t kGatheredBytes = std::size_t{1} << 18;

}  // namespace

OutputBytes::OutputBytes(const std::string& path, const OutputOptions& options) : file_(path, options), parts_(1) {
  buffer_.reserve(kGatheredBytes);
}

void OutputBytes::write(const void* bytes, std::size_t count) {
  const auto* from = static_cast<const char*>(bytes);
  Part& part = parts_.back();
  part.checksum.add(bytes, count);
  while (count > 0) {
    const std::size_t fits = std::min(count, kGatheredBytes - buffer_.size());
    buffer_.insert(buffer_.end(), from, from + fits);
    part.bytes += static_cast<std::int64_t>(fits);
    from += fits;
    count -= fits;
    if (buffer_.size() == kGatheredBytes) flush();
  }
}

void OutputBytes::seek(std::int64_t position) {
  const Part& part = parts_.back();
  if (position == part.begin + part.bytes) return;
  flush();
  parts_.push_back({position, 0, {}});
}

/// Writes the buffer so that it ends where the last part ends.
void OutputBytes::flush() {
  const Part& part = parts_.back();
  const auto size = static_cast<std::int64_t>(buffer_.size());
  const std::int64_t position = part.begin + part.bytes - size;
  if (write_at(file_.descriptor(), position, buffer_.data(), size) != size) fail("writing", errno);
  buffer_.clear();
}

void OutputBytes::publish(const std::function<void()>& before_naming) {
  flush();
  file_.sync();
  check();
  before_naming();
  file_.publish();
}

/// A disk or a network may lose bytes without reporting it.
void OutputBytes::check() const {
  std::int64_t bytes = 0;
  for (const Part& part : parts_) bytes = std::max(bytes, part.begin + part.bytes);
  struct stat status {};
  if (fstat(file_.descriptor(), &status) != 0) fail("reading back", errno);
  bool same = status.st_size == bytes;
  for (const Part& part : parts_) {
    if (!same) break;
    const auto found = file_checksum(file_.descriptor(), part.begin, part.bytes);
    if (!found && errno != 0) fail("reading back", errno);
    same = found == part.checksum.value();
  }
  if (same) return;
  throw Error(ExitCode::output,
              fmt::format("{}: does not read back as it was written; the disk may be failing; nothing was left behind, "
                          "choose another place",
                          file_.name()));
}

void OutputBytes::fail(const char* doing, int error) const {
  throw Error(ExitCode::output,
              fmt::format("{}: {} failed: {}; nothing was left behind", file_.name(), doing, std::strerror(error)));
}

}  // namespace kith::data
