// Writes the heads of NumPy's .npy format and uncompressed zip archives of such arrays (APPNOTE.TXT of PKWARE, with
// zip64 for every member).
#include "data/results/array_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

namespace kith::data {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers are written in the byte order of memory");

struct Member {
  std::string name;
  std::string head;          // of the array
  std::int64_t bytes = 0;    // of the values
  std::int64_t at = 0;       // of the member in the archive
  std::int64_t written = 0;  // of the values
  Checksum checksum = {};    // of the values so far

  std::int64_t size() const { return std::ssize(head) + bytes; }
  /// Where the values begin in the archive.
  std::int64_t values_at() const { return at + kHeadBytes + std::ssize(name) + std::ssize(head); }

  static constexpr std::int64_t kHeadBytes = 50;  // of local_head() without the name
};

template <class T>
void put(std::string& out, T number) {
  char bytes[sizeof(T)];
  std::memcpy(bytes, &number, sizeof(T));
  out.append(bytes, sizeof(T));
}

constexpr std::uint32_t kIn64 = 0xffffffff;  // the number is in the zip64 field

std::uint32_t checksum_of(const Member& member) {
  Checksum sum;
  sum.add(member.head.data(), member.head.size());
  sum.append(member.checksum, member.bytes);
  return sum.value();
}

/// The fields that both heads of a member have: version 4.5, stored, 1980-01-01.
void put_common(std::string& out, const Member& member) {
  put<std::uint16_t>(out, 45);
  put<std::uint16_t>(out, 0);
  put<std::uint16_t>(out, 0);
  put<std::uint16_t>(out, 0);
  put<std::uint16_t>(out, 0x21);
  put<std::uint32_t>(out, checksum_of(member));
  put(out, kIn64);
  put(out, kIn64);
  put(out, static_cast<std::uint16_t>(member.name.size()));
}

/// The head in front of a member.
std::string local_head(const Member& member) {
  std::string out = "PK\x03\x04";
  put_common(out, member);
  put<std::uint16_t>(out, 20);
  out += member.name;
  put<std::uint16_t>(out, 1);
  put<std::uint16_t>(out, 16);
  put(out, member.size());
  put(out, member.size());
  return out;
}

/// The list of all members, behind the last one.
std::string directory_of(const std::vector<Member>& members, std::int64_t at) {
  std::string out;
  for (const Member& member : members) {
    out += "PK\x01\x02";
    put<std::uint16_t>(out, 45);
    put_common(out, member);
    put<std::uint16_t>(out, 28);
    for (int i = 0; i < 3; ++i) put<std::uint16_t>(out, 0);  // comment, disk, internal attributes
    put<std::uint32_t>(out, 0);
    put(out, kIn64);
    out += member.name;
    put<std::uint16_t>(out, 1);
    put<std::uint16_t>(out, 24);
    put(out, member.size());
    put(out, member.size());
    put(out, member.at);
  }
  const std::int64_t size = std::ssize(out), count = std::ssize(members);
  out += "PK\x06\x06";
  put<std::int64_t>(out, 44);
  put<std::uint16_t>(out, 45);
  put<std::uint16_t>(out, 45);
  put<std::uint32_t>(out, 0);
  put<std::uint32_t>(out, 0);
  put(out, count);
  put(out, count);
  put(out, size);
  put(out, at);
  out += "PK\x06\x07";
  put<std::uint32_t>(out, 0);
  put(out, at + size);
  put<std::uint32_t>(out, 1);
  out += "PK\x05\x06";
  put<std::uint32_t>(out, 0);
  put(out, static_cast<std::uint16_t>(count));
  put(out, static_cast<std::uint16_t>(count));
  put(out, kIn64);
  put(out, kIn64);
  put<std::uint16_t>(out, 0);
  return out;
}

}  // namespace

std::string numpy_head(const std::string& type, const std::vector<std::int64_t>& shape) {
  constexpr std::size_t kPrefixBytes = 10, kAlignment = 64, kDigits = 20;
  std::string sizes;
  for (const std::int64_t size : shape) sizes += fmt::format("{}, ", size);
  if (shape.size() > 1) sizes.resize(sizes.size() - 2);
  if (shape.size() == 1) sizes.pop_back();
  std::string head = fmt::format("{{'descr': {}, 'fortran_order': False, 'shape': ({}), }}", type, sizes);
  const std::size_t longest = head.size() - sizes.size() + kDigits * shape.size();
  head.resize((kPrefixBytes + longest + kAlignment) / kAlignment * kAlignment - kPrefixBytes, ' ');
  head.back() = '\n';
  const std::string length{static_cast<char>(head.size() & 0xff), static_cast<char>(head.size() >> 8)};
  return std::string("\x93NUMPY\x01\0", 8) + length + head;
}

struct SparseArchive::State {
  OutputBytes bytes;
  std::vector<Member> members;
  std::int64_t end = 0;  // of the last member

  State(const std::string& path, const OutputOptions& options) : bytes(path, options) {}
  void add(const std::string& name, std::string head, std::int64_t size) {
    members.push_back({.name = name + ".npy", .head = std::move(head), .bytes = size, .at = end});
    end = members.back().values_at() + size;
  }
  void write(Member& member, const void* values, std::int64_t count) {
    bytes.seek(member.values_at() + member.written);
    bytes.write(values, static_cast<std::size_t>(count));
    member.checksum.add(values, static_cast<std::size_t>(count));
    member.written += count;
  }
};

SparseArchive::SparseArchive(const std::string& path, const OutputOptions& options,
                             const std::vector<std::int64_t>& begin, std::int64_t columns,
                             const std::string& value_type)
    : state_(std::make_unique<State>(path, options)) {
  const std::int64_t edges = begin.back(), value = value_type.back() - '0';
  state_->add("indices", numpy_head("'<i8'", {edges}), 8 * edges);
  state_->add("data", numpy_head(fmt::format("'{}'", value_type), {edges}), value * edges);
  state_->add("indptr", numpy_head("'<i8'", {std::ssize(begin)}), 8 * std::ssize(begin));
  state_->add("format", numpy_head("'|S3'", {}), 3);
  state_->add("shape", numpy_head("'<i8'", {2}), 16);
  state_->bytes.require_space(state_->end);
  const std::int64_t shape[] = {std::ssize(begin) - 1, columns};
  state_->write(state_->members[2], begin.data(), 8 * std::ssize(begin));
  state_->write(state_->members[3], "csr", 3);
  state_->write(state_->members[4], shape, sizeof shape);
}

SparseArchive::~SparseArchive() = default;

void SparseArchive::append(const std::int64_t* columns, const void* values, std::int64_t count) {
  Member& data = state_->members[1];
  state_->write(state_->members[0], columns, 8 * count);
  state_->write(data, values, data.bytes / std::max<std::int64_t>(state_->members[0].bytes / 8, 1) * count);
}

void SparseArchive::finish() {
  for (const Member& member : state_->members) {
    state_->bytes.seek(member.at);
    state_->bytes.write(local_head(member) + member.head);
  }
  state_->bytes.seek(state_->end);
  state_->bytes.write(directory_of(state_->members, state_->end));
  state_->bytes.publish();
}

}  // namespace kith::data
