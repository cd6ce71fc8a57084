// The file in which a run keeps its place: two generations, each with a checksum of all of its bytes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/io/output_file.h"

namespace kith::data {

/// What changes with every write to a file, and when another one takes its place.
struct FileIdentity {
  std::int64_t modified_ns = 0, changed_ns = 0;  // times of the last change of the bytes, and of the inode
  std::uint64_t inode = 0;

  bool operator==(const FileIdentity&) const = default;
};

/// What tells an input file from others, without reading all of it.
struct InputMark {
  std::string name;  // without folders
  std::int64_t bytes = 0;
  std::uint32_t checksum = 0;                 // CRC-32 of blocks spread over the file, or of all of a small one
  std::optional<FileIdentity> identity = {};  // nothing: not known

  /// Whether the samples are the same. Copies have the same samples, and another identity.
  bool is_like(const InputMark& other) const {
    return name == other.name && bytes == other.bytes && checksum == other.checksum;
  }
};

/// The mark of a regular file. Throws Error(data) if it cannot be read, and Error(usage) if it is no regular file.
InputMark mark_of(const std::string& file);

struct Checkpoint {
  std::string kith_version;
  std::vector<std::string> words;  // of the command line: "cluster", "points.h5", ...
  std::string directory;           // where it ran
  std::string command;             // what determines the result, as result files store it
  std::string points;              // shape and class
  std::vector<InputMark> inputs;
  std::string place;  // for people: "run 1, iteration 12"
  std::string state;  // packed by the command
};

/// The name of the generation before the last one; beside the file that a symbolic link names.
std::string previous_generation(const std::string& file);

/// Whether the file begins as a checkpoint does.
bool is_checkpoint(const std::string& file);

/// Throws Error(output) unless both generations can be written: the folder is writable, neither is an input, and the
/// previous one is absent or a checkpoint of this user.
void check_checkpoint_names(const std::string& file, const std::vector<std::string>& inputs);

/// Says to other processes, as long as it lives, that this one uses the checkpoint.
class CheckpointLock {
 public:
  /// Throws Error(output) if another process uses it.
  explicit CheckpointLock(const std::string& file);
  /// False if the file system has no locks.
  bool is_held() const { return lock_->state() == LockFile::State::held; }

 private:
  Descriptor directory_;
  std::unique_ptr<LockFile> lock_;
};

/// Writes the next generation; the last one becomes the previous one. At every moment the name stands for a whole
/// file. Throws Error(output), and then the last one is whole, under its own name or as the previous one.
void write_checkpoint(const std::string& file, const Checkpoint& checkpoint);

/// Throws Error(data) if the file cannot be read or is damaged, and Error(output) if it belongs to another user, who
/// could have put any result into it.
Checkpoint read_checkpoint(const std::string& file);
/// The same; the error names the generation before it if that is whole.
Checkpoint read_generation(const std::string& file);

/// Removes both generations. Returns the names of those that remain, because they cannot be read or removed.
std::vector<std::string> remove_checkpoint(const std::string& file);

}  // namespace kith::data
