// Finds the files of folders, patterns and lists, in the order of their names, once for each run.
#include "data/file_names.h"

#include <fmt/format.h>
#include <glob.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <system_error>
#include <utility>

#include "data/format/shape.h"
#include "data/io/checksum.h"
#include "data/io/file_kind.h"
#include "data/io/input_bytes.h"
#include "data/io/input_error.h"
#include "data/io/utf8.h"
#include "data/source.h"

namespace kith::data {
namespace {

namespace fs = std::filesystem;

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

/// Whether `a` comes before `b` in the natural order of names: numbers in them by value, and the files of a folder
/// before those of a folder whose name only begins like it.
bool is_before_in_order(const std::string& a, const std::string& b) {
  std::size_t i = 0, j = 0;
  const auto digits = [](const std::string& text, std::size_t begin) {
    std::size_t end = begin;
    while (end < text.size() && is_digit(text[end])) ++end;
    while (begin + 1 < end && text[begin] == '0') ++begin;
    return std::string_view(text).substr(begin, end - begin);
  };
  while (i < a.size() && j < b.size()) {
    if (is_digit(a[i]) && is_digit(b[j])) {
      const std::string_view of_a = digits(a, i), of_b = digits(b, j);
      if (of_a.size() != of_b.size()) return of_a.size() < of_b.size();
      if (of_a != of_b) return of_a < of_b;
      i = static_cast<std::size_t>(of_a.data() - a.data()) + of_a.size();
      j = static_cast<std::size_t>(of_b.data() - b.data()) + of_b.size();
      continue;
    }
    if (a[i] != b[j]) {
      if (a[i] == '/' || b[j] == '/') return a[i] == '/';
      return static_cast<unsigned char>(a[i]) < static_cast<unsigned char>(b[j]);
    }
    ++i, ++j;
  }
  const std::size_t rest_of_a = a.size() - i, rest_of_b = b.size() - j;
  return rest_of_a != rest_of_b ? rest_of_a < rest_of_b : a < b;
}

/// Whether programs give such names to what is no data: hidden files, _SUCCESS and _metadata of Spark and Hive,
/// checksums, and files that are still being written.
bool is_no_data(const std::string& name) {
  constexpr const char* kEndings[] = {".crc",        ".tmp",        ".temp", ".part", ".partial",
                                      ".crdownload", ".inprogress", ".lock", ".swp",  "~"};
  return name.front() == '.' || name.front() == '_' ||
         std::ranges::any_of(kEndings, [&name](const char* ending) { return name.ends_with(ending); });
}

/// Adds the files of a folder and of its folders.
void add_folder(const std::string& folder, FileNames& names) {
  std::vector<std::string> found;
  try {
    for (fs::recursive_directory_iterator entry(folder), end; entry != end; ++entry) {
      const std::string name = entry->path().filename().string();
      if (is_no_data(name)) {
        if (entry->is_directory()) entry.disable_recursion_pending();
        names.skipped.push_back(entry->path().lexically_relative(folder).string());
        continue;
      }
      if (entry->is_directory() && !entry->is_symlink()) continue;
      // Names without an ending, such as part-00000 of Hadoop, are taken.
      const bool is_named = name.find('.') == name.npos || has_known_ending(name);
      if (is_named && (entry->is_regular_file() || (entry->is_symlink() && !entry->exists()))) {
        found.push_back(entry->path().string());
      } else {
        names.skipped.push_back(entry->path().lexically_relative(folder).string());
      }
    }
  } catch (const fs::filesystem_error& error) {
    refuse_input(error.path1().empty() ? folder : error.path1().string(),
                 fmt::format("cannot be read: {}", error.code().message()));
  }
  if (found.empty()) {
    refuse_input(folder, fmt::format("expected a folder with files of points, found {}; name the files themselves",
                                     names.skipped.empty() ? "none" : "only " + show_list(names.skipped, 5)));
  }
  std::sort(found.begin(), found.end(), is_before_in_order);
  names.files.insert(names.files.end(), found.begin(), found.end());
}

/// Whether files of points may lie in it: a folder that another program keeps one data set in is refused as a file.
bool is_folder(const std::string& name) {
  std::error_code failure;
  return fs::is_directory(name, failure) && describe_foreign_folder(name).empty();
}

bool is_pattern(const std::string& name) { return name.find_first_of("*?[") != name.npos && !file_exists(name); }
bool is_list(const std::string& name) { return name.size() > 1 && name.front() == '@' && !file_exists(name); }

std::vector<std::string> split_at(char between, const std::string& text) {
  std::vector<std::string> lines;
  for (std::string& line : split_text(text, between)) {
    if (between == '\n' && line.ends_with('\r')) line.pop_back();
    if (!line.empty()) lines.push_back(std::move(line));
  }
  return lines;
}

std::vector<std::string> matches_of(const std::string& pattern) {
  glob_t found{};
  std::vector<std::string> matches;
  if (glob(pattern.c_str(), GLOB_NOSORT, nullptr, &found) == 0) {
    matches.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  }
  globfree(&found);
  std::sort(matches.begin(), matches.end(), is_before_in_order);
  return matches;
}

/// Adds what one word stands for; `from`: the list that names it, or empty.
void add_word(const std::string& word, const std::string& from, FileNames& names) {
  if (word == "-") {
    refuse_input("-", "expected files, found standard input among several; save it in a file");
  }
  if (is_folder(word)) return add_folder(word, names);
  if (const Location place = parse_location(word); is_folder(place.file)) {  // shards/:/train
    const std::size_t before = names.files.size();
    add_folder(place.file, names);
    for (std::size_t i = before; i < names.files.size(); ++i) names.files[i] += ":" + place.dataset;
    return;
  }
  if (from.empty() && is_list(word)) {
    const std::string file = word.substr(1);
    std::ifstream list(file, std::ios::binary);
    if (!list || fs::is_directory(file)) {
      refuse_input(word, fmt::format("expected the file {}, with the name of a file in each line, found none that can "
                                     "be read; check the name",
                                     file));
    }
    const std::vector<std::string> lines = split_at('\n', {std::istreambuf_iterator<char>(list), {}});
    if (lines.empty()) refuse_input(file, "expected the name of a file in each line, found none; add them");
    for (const std::string& line : lines) add_word(line, file, names);
    return;
  }
  if (is_pattern(word)) {
    const std::size_t colon = word.rfind(':');
    std::string dataset;
    std::vector<std::string> matches = matches_of(word);
    if (matches.empty() && colon != word.npos) {
      dataset = word.substr(colon);
      matches = matches_of(word.substr(0, colon));
    }
    if (matches.empty()) {
      refuse_input(word, fmt::format("expected a pattern of names of files, found no file that it matches{}; check it "
                                     "with `ls`",
                                     from.empty() ? "" : ", in " + from));
    }
    for (const std::string& match : matches) {
      is_folder(match) ? add_folder(match, names) : names.files.push_back(match + dataset);
    }
    return;
  }
  if (!file_exists(parse_location(word).file)) {
    refuse_input(word, fmt::format("expected a file, found none of this name{}; check the name",
                                   from.empty() ? "" : ", which is a line of " + from));
  }
  names.files.push_back(word);
}

/// The longest folder that holds all files, with its slash.
std::string folder_of_all(const std::vector<std::string>& files) {
  std::string folder = files.front().substr(0, parse_location(files.front()).file.rfind('/') + 1);
  for (const std::string& file : files) {
    while (!file.starts_with(folder)) {
      folder.resize(folder.size() < 2 ? 0 : folder.rfind('/', folder.size() - 2) + 1);
    }
  }
  return folder;
}

/// Refuses links to nothing, and leaves out links to files that are there themselves, as latest.npy may be: their rows
/// would count twice.
void check_links(FileNames& names) {
  std::error_code failure;
  const auto is_link = [&](const std::string& file) { return fs::is_symlink(parse_location(file).file, failure); };
  if (std::none_of(names.files.begin(), names.files.end(), is_link)) return;
  const auto target_of = [&](const std::string& name) {
    const Location place = parse_location(name);
    if (!fs::exists(place.file, failure)) {
      refuse_input(place.file,
                   "expected a file, found a link to one that does not exist (git-annex and DVC leave such links for "
                   "files that they have not fetched); fetch the file, or remove the link");
    }
    return fs::weakly_canonical(place.file, failure).string() + ":" + place.dataset;
  };
  std::map<std::string, std::string> others;
  for (const std::string& file : names.files) {
    if (!is_link(file)) others.emplace(target_of(file), file);
  }
  std::erase_if(names.files, [&](const std::string& file) {
    const auto same = is_link(file) ? others.find(target_of(file)) : others.end();
    if (same == others.end()) return false;
    names.skipped.insert(names.skipped.begin(), fmt::format("{} (a link to {})", file, same->second));
    return true;
  });
}

FileNames find_files(const std::string& name) {
  FileNames names;
  for (const std::string& word : split_at(kBetweenNames, name)) add_word(word, "", names);
  check_links(names);
  names.folder = folder_of_all(names.files);
  return names;
}

std::mutex mutex_of_known;
std::map<std::string, std::shared_ptr<const FileNames>> known_sets;

}  // namespace

std::shared_ptr<const FileNames> named_set(const std::string& name) {
  const bool has_several = name.find(kBetweenNames) != name.npos;
  if (!has_several && !is_list(name) && !is_pattern(name) && !is_folder(parse_location(name).file)) return nullptr;
  // A pattern may be the name of a dataset: points.h5:/a[1].
  if (!has_several && !is_list(name) && is_pattern(name) && file_exists(parse_location(name).file)) return nullptr;
  const std::lock_guard lock(mutex_of_known);
  std::shared_ptr<const FileNames>& names = known_sets[name];
  if (!names) names = std::make_shared<const FileNames>(find_files(name));
  return names;
}

void leave_out(const std::string& name, const std::vector<std::string>& files) {
  FileNames names = *named_set(name);
  names.left_out.insert(files.begin(), files.end());
  const std::lock_guard lock(mutex_of_known);
  known_sets[name] = std::make_shared<const FileNames>(std::move(names));
}

std::vector<std::string> each_file(const std::string& name) {
  const auto names = named_set(name);
  if (!names) return {parse_location(name).file};
  std::vector<std::string> files;
  for (const std::string& file : names->files) files.push_back(parse_location(file).file);
  return files;
}

const std::vector<InputMark>& FileNames::marks() const {
  for (std::size_t i = marks_.size(); i < files.size(); ++i) {
    InputMark mark = mark_of(parse_location(files[i]).file);
    mark.name = files[i].substr(folder.size());
    marks_.push_back(std::move(mark));
  }
  return marks_;
}

InputMark mark_of_input(const std::string& name) {
  const auto names = named_set(name);
  if (!names) return mark_of(name);
  InputMark all{.name = shown_set(name)};
  if (all.name.size() > 1 && all.name.ends_with('/')) all.name.pop_back();
  all.name.erase(0, all.name.rfind('/') + 1);
  Checksum checksum;
  FileIdentity last;
  for (const InputMark& mark : names->marks()) {
    all.bytes += mark.bytes;
    const std::string line = fmt::format("{:08x} {} {}\n", mark.checksum, mark.bytes, mark.name);
    checksum.add(line.data(), line.size());
    if (mark.identity && mark.identity->changed_ns > last.changed_ns) last = *mark.identity;
  }
  all.checksum = checksum.value();
  all.identity = last;
  return all;
}

std::string shown_set(const std::string& name) {
  const std::vector<std::string> words = split_at(kBetweenNames, name);
  if (words.size() < 2) return name;
  return fmt::format("{} and {} more", words.front(), words.size() - 1);
}

}  // namespace kith::data
