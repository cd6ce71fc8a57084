// Writes checkpoints beside the one before, and reads them with checks of every length.
#include "data/results/checkpoint_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "core/error.h"
#include "data/io/checksum.h"
#include "data/io/file_kind.h"
#include "data/io/input_bytes.h"
#include "data/io/memory_limit.h"
#include "data/io/packed.h"
#include "data/io/temporary_file.h"

namespace kith::data {

template <class Archive>
void each_field(Archive& archive, FileIdentity& identity) {
  archive(identity.modified_ns, identity.changed_ns, identity.inode);
}

template <class Archive>
void each_field(Archive& archive, InputMark& mark) {
  archive(mark.name, mark.bytes, mark.checksum);
}

template <class Archive>
void each_field(Archive& archive, Checkpoint& checkpoint) {
  archive(checkpoint.kith_version, checkpoint.words, checkpoint.directory, checkpoint.command, checkpoint.points,
          checkpoint.inputs, checkpoint.place);
}

namespace {

/// A file is kSignature, the number of packed bytes (8 bytes, little-endian), these bytes, and the CRC-32 (4 bytes) of
/// all of that. The digit of the signature increases with the form of the packed bytes: from 2 on the identities of the
/// inputs follow the fields of a Checkpoint. Earlier forms are read.
constexpr std::string_view kSignature = "kith checkpoint 2\n", kWithoutIdentities = "kith checkpoint 1\n";
constexpr std::string_view kName = kSignature.substr(0, kSignature.rfind(' '));  // of every version
constexpr std::size_t kFrame = kSignature.size() + sizeof(std::uint64_t) + sizeof(std::uint32_t);

std::uint32_t checksum_of(std::string_view bytes) {
  Checksum checksum;
  checksum.add(bytes.data(), bytes.size());
  return checksum.value();
}

[[noreturn]] void refuse(const std::string& file, const std::string& why) {
  throw Error(ExitCode::data, fmt::format("{}: {}", file, why));
}

/// The file that a symbolic link names, or the file itself: generations stand beside each other in one folder.
std::string without_link(const std::string& file) {
  std::error_code failure;
  if (!std::filesystem::is_symlink(file, failure)) return file;
  const std::filesystem::path target = std::filesystem::weakly_canonical(file, failure);
  return failure ? file : target.string();
}

/// The last generation becomes the previous one as well, under a second name, so that its own name never vanishes.
void keep_generation(const std::string& file) {
  const std::string previous = previous_generation(file), last = without_link(file);
  if (access(last.c_str(), F_OK) != 0) return;  // the run continues from the previous one
  unlink(previous.c_str());
  if (link(last.c_str(), previous.c_str()) == 0) return;
  static_cast<void>(rename(last.c_str(), previous.c_str()));  // a file system without links
}

/// Whether nobody but this user and the administrator can have written the file.
bool is_own(uid_t owner) { return owner == geteuid() || owner == 0; }

[[noreturn]] void refuse_owner(const std::string& file, uid_t owner) {
  throw Error(
      ExitCode::output,
      fmt::format("{}: expected a checkpoint of your own, found one of user {}, who may have put any result into "
                  "it; choose another name, or copy it and name the copy if you trust that user",
                  file, owner));
}

/// All bytes of a file that begins as a checkpoint does, or the first of another one. Throws Error(data) if they cannot
/// be read.
std::string checkpoint_bytes(const std::string& file) {
  const InputBytes input = InputBytes::open(file, "a checkpoint of kith");
  if (const uid_t owner = input.owner(); !is_own(owner)) refuse_owner(file, owner);
  if (input.begin(std::ssize(kName)) != kName) return input.begin(std::ssize(kSignature));
  require_memory(2 * input.size(), file);  // with the state that is taken out of it
  return input.begin(input.size());
}

/// The checkpoint in the bytes of a file. Throws Error(data) if they are damaged.
Checkpoint checkpoint_in(const std::string& bytes, const std::string& file) {
  if (!bytes.starts_with(kName)) {
    refuse(file, fmt::format("expected a checkpoint of kith, found {}",
                             has_hdf5_signature(file) ? "an HDF5 file" : describe_file(file)));
  }
  if (bytes.size() < kFrame) refuse(file, fmt::format("the checkpoint is truncated: found {} bytes", bytes.size()));
  const bool has_identities = bytes.starts_with(kSignature);
  if (!has_identities && !bytes.starts_with(kWithoutIdentities)) {
    throw Error(ExitCode::usage, fmt::format("{}: expected a checkpoint of this version of kith, found one of another; "
                                             "continue with that version, or remove the file",
                                             file));
  }
  const std::string_view all = bytes;
  const auto size = Unpacker(all.substr(kSignature.size())).take<std::uint64_t>();
  if (size != all.size() - kFrame) {
    refuse(file, fmt::format("the checkpoint is damaged: expected {} bytes behind its first {}, found {}", size,
                             kFrame - sizeof(std::uint32_t), all.size() - kFrame));
  }
  const std::string_view covered = all.substr(0, all.size() - sizeof(std::uint32_t));
  const auto expected = Unpacker(all.substr(covered.size())).take<std::uint32_t>();
  if (const std::uint32_t found = checksum_of(covered); found != expected) {
    refuse(file, fmt::format("the checkpoint is damaged: expected the CRC-32 {:08x}, found {:08x}", expected, found));
  }
  try {
    Unpacker unpacker(covered.substr(kSignature.size() + sizeof size));
    auto checkpoint = unpacker.take<Checkpoint>();
    for (std::size_t i = 0; has_identities && i < checkpoint.inputs.size(); ++i) {
      checkpoint.inputs[i].identity = unpacker.take<std::optional<FileIdentity>>();
    }
    checkpoint.state = unpacker.rest();
    return checkpoint;
  } catch (const UnpackError&) {
    refuse(file, "the checkpoint is damaged: its parts do not have the lengths that they state");
  }
}

}  // namespace

InputMark mark_of(const std::string& file) {
  constexpr std::int64_t kBlocks = 64, kBlockBytes = 4096;
  const Descriptor opened(open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status {};
  if (!opened || fstat(opened.get(), &status) != 0)
    refuse(file, fmt::format("cannot be read: {}", std::strerror(errno)));
  if (!S_ISREG(status.st_mode)) {
    throw Error(ExitCode::usage, fmt::format("{}: expected a regular file, which can be read again, found {}; save the "
                                             "input in a file, or leave out --checkpoint",
                                             file, describe_special(status.st_mode)));
  }
  Checksum checksum;
  const auto add = [&](std::int64_t offset, std::int64_t count) {
    errno = 0;
    const auto found = file_checksum(opened.get(), offset, count);
    if (!found) refuse(file, fmt::format("cannot be read: {}", errno != 0 ? std::strerror(errno) : "it has shrunk"));
    checksum.add(&*found, sizeof *found);
  };
  const std::int64_t bytes = status.st_size;
  if (bytes <= kBlocks * kBlockBytes) {
    add(0, bytes);
  } else {
    // The first block and the last one hold what most formats say about the others.
    for (std::int64_t b = 0; b < kBlocks; ++b) add((bytes - kBlockBytes) / (kBlocks - 1) * b, kBlockBytes);
    add(bytes - kBlockBytes, kBlockBytes);
  }
  const auto nanoseconds = [](const timespec& time) {
    return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
  };
  return {std::filesystem::path(file).filename().string(), bytes, checksum.value(),
          FileIdentity{nanoseconds(status.st_mtim), nanoseconds(status.st_ctim), status.st_ino}};
}

std::string previous_generation(const std::string& file) { return without_link(file) + ".prev"; }

bool is_checkpoint(const std::string& file) { return first_bytes(file, kName.size()) == kName; }

void check_checkpoint_names(const std::string& file, const std::vector<std::string>& inputs) {
  const std::string previous = previous_generation(file);
  for (const std::string& name : {file, previous}) {
    check_output(name, {.force = true, .inputs = inputs, .endings = {".checkpoint"}});
  }
  for (const std::string& name : {file, previous}) {
    struct stat status {};
    if (stat(name.c_str(), &status) == 0 && !is_own(status.st_uid)) refuse_owner(name, status.st_uid);
  }
  std::error_code failure;
  if (!std::filesystem::exists(previous, failure) || is_checkpoint(previous)) return;
  throw Error(
      ExitCode::output,
      fmt::format("{}: expected no file or a checkpoint, where the previous generation of {} is kept, found {}; "
                  "choose another name for --checkpoint",
                  previous, file, describe_file(previous)));
}

CheckpointLock::CheckpointLock(const std::string& file) {
  const std::filesystem::path path = std::filesystem::absolute(without_link(file));
  directory_ = Descriptor(open(path.parent_path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  const auto refuse_lock = [&file](const std::string& why) {
    throw Error(ExitCode::output, fmt::format("--checkpoint {}: {}", file, why));
  };
  try {
    if (!directory_) throw std::system_error(errno, std::generic_category());
    lock_ = std::make_unique<LockFile>(directory_.get(), path.filename().string());
  } catch (const std::system_error& error) {
    refuse_lock(fmt::format("cannot be locked: {}; choose another name", error.code().message()));
  }
  if (lock_->state() != LockFile::State::taken) return;
  refuse_lock(
      "expected a checkpoint that no run uses, found that another run uses it now; wait until that run ends, or "
      "choose another name");
}

void write_checkpoint(const std::string& file, const Checkpoint& checkpoint) {
  Packer head, frame, end;
  head(checkpoint);
  for (const InputMark& mark : checkpoint.inputs) head(mark.identity);
  const std::uint64_t bytes = head.bytes().size() + checkpoint.state.size();  // the state is large: it is not copied
  frame(bytes);
  OutputBytes output(file, {.force = true, .endings = {".checkpoint"}});
  output.require_space(static_cast<std::int64_t>(bytes + kFrame));
  Checksum checksum;
  for (const std::string_view part : {kSignature, std::string_view(frame.bytes()), std::string_view(head.bytes()),
                                      std::string_view(checkpoint.state)}) {
    checksum.add(part.data(), part.size());
    output.write(part.data(), part.size());
  }
  end(checksum.value());
  output.write(end.bytes());
  output.publish([&file] { keep_generation(file); });
}

Checkpoint read_checkpoint(const std::string& file) { return checkpoint_in(checkpoint_bytes(file), file); }

Checkpoint read_generation(const std::string& file) {
  const std::string previous = previous_generation(file), bytes = checkpoint_bytes(file);
  try {
    return checkpoint_in(bytes, file);
  } catch (const Error& error) {
    if (error.code() != ExitCode::data) throw;
    // What is no checkpoint may be dear to somebody.
    std::string remedy = is_checkpoint(file) ? "remove it to begin a new run"
                                             : "name the file that --checkpoint wrote, or another one for a new run";
    try {
      const Checkpoint before = read_checkpoint(previous);
      remedy = fmt::format("{} is whole ({}): rename it to {} to continue from there", previous, before.place, file);
    } catch (const Error&) {  // there is none, or it is damaged as well
    }
    throw Error(error.code(), fmt::format("{}; {}", error.what(), remedy));
  }
}

std::vector<std::string> remove_checkpoint(const std::string& file) {
  std::vector<std::string> remaining;
  // The newer one last, and not alone: a run that finds it also finds that its output is written.
  for (const std::string& name : {previous_generation(file), without_link(file)}) {
    if (access(name.c_str(), F_OK) != 0) continue;
    if (!remaining.empty() || !is_checkpoint(name) || unlink(name.c_str()) != 0) remaining.push_back(name);
  }
  return remaining;
}

}  // namespace kith::data
