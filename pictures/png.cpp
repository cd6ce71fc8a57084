// Writes PNG (W3C recommendation, third edition) with stored deflate blocks (RFC 1950, 1951), and base64 (RFC 4648).
#include "pictures/png.h"

#include <algorithm>
#include <string_view>

namespace kith::pictures {
namespace {

std::string big_endian(std::uint32_t value) {
  return {static_cast<char>(value >> 24), static_cast<char>(value >> 16), static_cast<char>(value >> 8),
          static_cast<char>(value)};
}

std::uint32_t crc32(const std::string& bytes) {
  std::uint32_t check = 0xffffffffU;
  for (const char byte : bytes) {
    check ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit) check = check & 1U ? 0xedb88320U ^ check >> 1 : check >> 1;
  }
  return ~check;
}

std::string chunk(const std::string& type, const std::string& data) {
  return big_endian(static_cast<std::uint32_t>(data.size())) + type + data + big_endian(crc32(type + data));
}

/// A zlib stream of uncompressed blocks.
std::string stored_stream(const std::string& bytes) {
  constexpr std::size_t kLongest = 65535;
  std::string out = "\x78\x01";
  for (std::size_t first = 0; first < bytes.size(); first += kLongest) {
    const std::size_t length = std::min(kLongest, bytes.size() - first);
    const bool is_last = first + length == bytes.size();
    const auto low = static_cast<char>(length & 0xff), high = static_cast<char>(length >> 8);
    out += {static_cast<char>(is_last), low, high, static_cast<char>(~low), static_cast<char>(~high)};
    out += bytes.substr(first, length);
  }
  std::uint32_t a = 1, b = 0;  // Adler-32
  for (const char byte : bytes) {
    a = (a + static_cast<unsigned char>(byte)) % 65521;
    b = (b + a) % 65521;
  }
  return out + big_endian(b << 16 | a);
}

}  // namespace

std::string grey_png(MatrixView<const std::uint8_t> values) {
  std::string rows;
  for (std::int64_t i = 0; i < values.rows; ++i) {
    rows += '\0';  // no filter
    for (const std::uint8_t value : values.row(i)) rows += static_cast<char>(value);
  }
  const std::string header = big_endian(static_cast<std::uint32_t>(values.columns)) +
                             big_endian(static_cast<std::uint32_t>(values.rows)) + std::string("\x08\0\0\0\0", 5);
  return "\x89PNG\r\n\x1a\n" + chunk("IHDR", header) + chunk("IDAT", stored_stream(rows)) + chunk("IEND", "");
}

std::string data_address(const std::string& png) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out = "data:image/png;base64,";
  for (std::size_t i = 0; i < png.size(); i += 3) {
    std::uint32_t bits = 0;
    const std::size_t here = std::min<std::size_t>(3, png.size() - i);
    for (std::size_t j = 0; j < 3; ++j) bits = bits << 8 | (j < here ? static_cast<unsigned char>(png[i + j]) : 0U);
    for (std::size_t j = 0; j < 4; ++j) out += j <= here ? kDigits[bits >> (18 - 6 * j) & 63U] : '=';
  }
  return out;
}

}  // namespace kith::pictures
