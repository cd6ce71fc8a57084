// The files that a name stands for: those of a folder, a pattern, a list, or several of these.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "data/results/checkpoint_file.h"

namespace kith::data {

/// The files that a name stands for, in the order of their rows.
struct FileNames {
  /// mark_of() each file, with its name in `folder`; computed once.
  const std::vector<InputMark>& marks() const;

  std::vector<std::string> files;    // FILE or FILE:DATASET
  std::vector<std::string> skipped;  // files of folders that were not taken, since they hold no points by their names
  std::string folder;                // the common folder of all files, with a slash; empty: none
  std::set<std::string> left_out;    // files that are compared with the others, and whose rows are not read

 private:
  mutable std::vector<InputMark> marks_;
};

/// What a user names in place of a file: a folder, a pattern such as 'shards/*.npy', @LIST (a file with a name a line),
/// or several of all these, a line each. Null if the name stands for one file. The same name stands for the same files
/// as long as the program runs. Throws Error(data) if there are none.
std::shared_ptr<const FileNames> named_set(const std::string& name);
/// From now on the set of this name lacks the rows of these files.
void leave_out(const std::string& name, const std::vector<std::string>& files);
/// The files of named_set(), without their datasets; or the file itself.
std::vector<std::string> each_file(const std::string& name);
/// mark_of() the file, or of all files of a set: the checksum of their marks.
InputMark mark_of_input(const std::string& name);
/// A short name for people: the name of the set itself, or "a.npy and 2 more files".
std::string shown_set(const std::string& name);

}  // namespace kith::data
