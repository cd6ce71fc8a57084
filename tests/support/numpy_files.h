// Arrays and archives as NumPy writes them.
#pragma once

#include <zlib.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/catch.h"

namespace kith::testing {

inline std::string little(std::uint64_t value, int bytes) {
  std::string text;
  for (int b = 0; b < bytes; ++b) text += static_cast<char>(value >> (8 * b) & 0xff);
  return text;
}

/// An array as numpy.save writes it.
inline std::string npy(const std::string& descr, bool fortran, const std::string& shape, const std::string& values,
                       int version = 1) {
  std::string header =
      "{'descr': " + descr + ", 'fortran_order': " + (fortran ? "True" : "False") + ", 'shape': " + shape + ", }";
  const std::size_t before = version == 1 ? 10 : 12;
  while ((before + header.size() + 1) % 64 != 0) header += ' ';
  header += '\n';
  return std::string("\x93NUMPY") + static_cast<char>(version) + '\0' + little(header.size(), version == 1 ? 2 : 4) +
         header + values;
}

struct Entry {
  std::string name, bytes;
  bool deflated = false;
};

/// An archive as numpy.savez and savez_compressed write it.
inline std::string zip(const std::vector<Entry>& entries) {
  std::string file, directory;
  for (const Entry& entry : entries) {
    std::string stored = entry.bytes;
    if (entry.deflated) {
      z_stream stream{};
      REQUIRE(deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 9, Z_DEFAULT_STRATEGY) == Z_OK);
      stored.resize(entry.bytes.size() + 100);
      stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(entry.bytes.data()));
      stream.avail_in = static_cast<uInt>(entry.bytes.size());
      stream.next_out = reinterpret_cast<Bytef*>(stored.data());
      stream.avail_out = static_cast<uInt>(stored.size());
      REQUIRE(deflate(&stream, Z_FINISH) == Z_STREAM_END);
      stored.resize(stream.total_out);
      deflateEnd(&stream);
    }
    const auto sum =
        crc32(0, reinterpret_cast<const Bytef*>(entry.bytes.data()), static_cast<uInt>(entry.bytes.size()));
    const std::string facts = little(entry.deflated ? 8 : 0, 2) + little(0, 4) + little(sum, 4) +
                              little(stored.size(), 4) + little(entry.bytes.size(), 4) + little(entry.name.size(), 2);
    directory += "PK\x01\x02" + little(20, 2) + little(20, 2) + little(0, 2) + facts + little(0, 2) + little(0, 2) +
                 little(0, 4) + little(0, 4) + little(file.size(), 4) + entry.name;
    file += "PK\x03\x04" + little(20, 2) + little(0, 2) + facts + little(0, 2) + entry.name + stored;
  }
  const std::string count = little(entries.size(), 2);
  return file + directory + "PK\x05\x06" + little(0, 4) + count + count + little(directory.size(), 4) +
         little(file.size(), 4) + little(0, 2);
}

}  // namespace kith::testing
