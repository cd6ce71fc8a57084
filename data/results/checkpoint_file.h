// The file in which a run keeps its place: two generations, each with a checksum of all of its bytes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/io/output_target.h"

namespace kith::data {

/// What tells an input file from others, without reading all of it.
struct InputMark {
  std::string name;  // without folders
  std::int64_t bytes = 0;
  std::uint32_t checksum = 0;  // CRC-32 of blocks spread over the file, or of all of a small one

  bool operator==(const InputMark&) const = default;
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
/// previous one is absent or a checkpoint.
void check_checkpoint_names(const std::string& file, const std::vector<std::string>& inputs);

/// Writes the next generation; the last one becomes the previous one. At every moment the name stands for a whole
/// file. Throws Error(output), and then the last one is whole, under its own name or as the previous one.
void write_checkpoint(const std::string& file, const Checkpoint& checkpoint);

/// Throws Error(data) if the file cannot be read or is damaged.
Checkpoint read_checkpoint(const std::string& file);
/// The same; the error names the generation before it if that is whole.
Checkpoint read_generation(const std::string& file);

/// Removes both generations. Returns the names of those that remain, because they cannot be read or removed.
std::vector<std::string> remove_checkpoint(const std::string& file);

}  // namespace kith::data
