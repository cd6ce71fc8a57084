// Publishes a finished file only after it is on the disk.
#include "data/io/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string_view>
#include <system_error>
#include <vector>

#include "core/error.h"
#include "data/io/input_bytes.h"

namespace kith::data {
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
  check_name();               // HDF5 looks the name up, and would report its loss without saying why
  char process[32] = "self";  // in the namespace of /proc, which getpid() may not know
  const ssize_t size = readlink("/proc/self", process, sizeof process - 1);
  return fmt::format("/proc/{}/fd/{}", std::string_view(process, size > 0 ? size : std::strlen(process)), descriptor());
}

void OutputFile::check_name() const {
  if (file_.is(file_.name())) return;
  refuse_file(name_, "another program has replaced its temporary file; choose another place");
}

void OutputFile::fail(const char* doing) const {
  refuse_file(name_, fmt::format("{} failed: {}; nothing was left behind", doing, std::strerror(errno)));
}

void OutputFile::require_space(std::int64_t bytes) const {
  struct statvfs space {};
  // Some file systems do not know their size and report 0.
  if (fstatvfs(descriptor(), &space) != 0 || space.f_blocks == 0) return;
  const double free = static_cast<double>(space.f_bavail) * static_cast<double>(space.f_frsize);
  if (static_cast<double>(bytes) <= free) return;
  refuse_file(
      name_,
      fmt::format("needs {:.1f} MB of disk space, but {:.1f} MB are free in {}; free some or choose another place",
                  static_cast<double>(bytes) / 1e6, free / 1e6, target_.directory_name));
}

void OutputFile::set_mode(mode_t mode) const {
  if (!target_.replaced) static_cast<void>(fchmod(descriptor(), mode));  // some file systems have no permissions
}

void OutputFile::sync() const {
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

}  // namespace kith::data
