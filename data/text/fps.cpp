// Reads FPS files (A. Dalke, The FPS fingerprint format): a line for each fingerprint, its bytes in hexadecimal digits,
// a tab and its identifier. Bit 0 is the least significant one of the first byte. Lines before them, with #, say how
// many bits there are (#num_bits=).
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

#include "data/format/formats.h"
#include "data/format/shape.h"
#include "data/io/file_kind.h"
#include "data/io/input_error.h"
#include "data/io/memory_limit.h"
#include "data/io/stream_bytes.h"
#include "data/io/utf8.h"

namespace kith::data {
namespace {

constexpr std::string_view kSignature = "#FPS";

/// -1: not a hexadecimal digit.
int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/// The fingerprints of a file, held as their bytes.
class Fingerprints {
 public:
  explicit Fingerprints(const Location& location, const std::string& scratch) : name_(location.file) {
    if (!location.dataset.empty()) {
      refuse_input(name_,
                   fmt::format("expected an FPS file without a dataset, found ':{}'; leave it out", location.dataset));
    }
    const InputBytes input = open_stream(name_, "an FPS file", scratch);
    require_memory(input.size(), name_);
    std::string text(static_cast<std::size_t>(input.size()), '\0');
    input.read(0, input.size(), reinterpret_cast<std::byte*>(text.data()));
    std::int64_t line = 0;
    for (std::string_view rest = without_byte_order_mark(text); !rest.empty();) {
      std::string_view one = take_until(rest, "\n");
      ++line;
      if (one.ends_with('\r')) one.remove_suffix(1);
      if (one.starts_with('#')) {
        add_header(one, line);
      } else if (!one.empty()) {
        add_row(one, line);
      }
    }
    if (ids_.empty()) refuse_input(name_, "expected a fingerprint or more, found none");
  }

  const std::string& name() const { return name_; }
  std::int64_t rows() const { return std::ssize(ids_); }
  std::int64_t bits() const { return bits_; }
  const std::vector<std::string>& ids() const { return ids_; }
  std::int64_t held_bytes() const { return static_cast<std::int64_t>(bytes_.capacity()); }
  bool bit(std::int64_t row, std::int64_t j) const {
    return (bytes_[static_cast<std::size_t>(row * row_bytes() + j / 8)] >> (j % 8) & 1U) != 0;
  }

 private:
  std::int64_t row_bytes() const { return (bits_ + 7) / 8; }

  void add_header(std::string_view text, std::int64_t line) {
    constexpr std::string_view kBits = "#num_bits=";
    if (!text.starts_with(kBits)) return;
    const auto [end, problem] = std::from_chars(text.data() + kBits.size(), text.data() + text.size(), bits_);
    if (problem == std::errc() && bits_ > 0 && ids_.empty()) return;
    refuse_input(name_, fmt::format("line {}: expected #num_bits=N before the fingerprints, found '{}'", line,
                                    quoted(std::string(text), 40)));
  }

  void add_row(std::string_view text, std::int64_t line) {
    const std::size_t digits = std::min(text.find('\t'), text.size());
    if (bits_ == 0) bits_ = static_cast<std::int64_t>(digits) * 4;
    if (static_cast<std::int64_t>(digits) != 2 * row_bytes() || digits == 0) {
      refuse_input(name_, fmt::format("line {}: expected {} hexadecimal digits for {} bits, then a tab and an "
                                      "identifier, found {} characters before the first tab: '{}'",
                                      line, 2 * row_bytes(), bits_, digits, quoted(std::string(text), 40)));
    }
    for (std::size_t i = 0; i < digits; i += 2) {
      const int high = digit_of(text[i]), low = digit_of(text[i + 1]);
      if (high < 0 || low < 0) {
        refuse_value(name_, fmt::format("line {}, character {}: expected a hexadecimal digit, found '{}'", line,
                                        i + (high < 0 ? 1 : 2), quoted(std::string(text.substr(i, 2)), 8)));
      }
      bytes_.push_back(static_cast<std::uint8_t>(16 * high + low));
    }
    if (const auto used = static_cast<unsigned>(bits_ % 8); used != 0 && bytes_.back() >> used != 0) {
      refuse_value(name_, fmt::format("line {}: expected 0 in the bits behind the {} of #num_bits, found '{}' in the "
                                      "last two digits",
                                      line, bits_, text.substr(digits - 2, 2)));
    }
    text.remove_prefix(std::min(digits + 1, text.size()));
    ids_.emplace_back(text.substr(0, text.find('\t')));
  }

  std::string name_;
  std::int64_t bits_ = 0;
  std::vector<std::uint8_t> bytes_;  // (n, row_bytes())
  std::vector<std::string> ids_;     // (n)
};

class FingerprintSource final : public PointSource {
 public:
  FingerprintSource(Fingerprints all, const ReadOptions& options)
      : all_(std::move(all)),
        class_(class_for(ValueClass::f32, options.precision)),
        keeps_bytes_(options.keep_bytes && class_ == ValueClass::f32) {}

  std::string name() const override { return all_.name(); }
  std::string element_type() const override { return kFingerprint; }
  std::int64_t rows() const override { return all_.rows(); }
  std::int64_t columns() const override { return all_.bits(); }
  ValueClass value_class() const override { return class_; }
  std::int64_t file_bytes() const override { return all_.held_bytes(); }
  std::int64_t held_bytes() const override { return all_.held_bytes(); }
  std::int64_t changed_values() const override { return 0; }
  std::string only_in_order() const override { return "text is decoded in memory"; }
  Number held_as() const override { return keeps_bytes_ ? Number::uint8 : PointSource::held_as(); }
  std::vector<std::string> kept(Kept which) const override {
    const bool any = std::ranges::any_of(all_.ids(), [](const std::string& id) { return !id.empty(); });
    return which == Kept::id && any ? all_.ids() : std::vector<std::string>();
  }
  void read(std::int64_t first, MatrixView<float> out) override { expand(first, out); }
  void read(std::int64_t first, MatrixView<double> out) override { expand(first, out); }
  void read(std::int64_t first, MatrixView<std::uint8_t> out) override { expand(first, out); }

 private:
  template <class T>
  void expand(std::int64_t first, MatrixView<T> out) const {
    check_request(*this, first, out);
    for (std::int64_t i = 0; i < out.rows; ++i) {
      for (std::int64_t j = 0; j < out.columns; ++j) out(i, j) = static_cast<T>(all_.bit(first + i, j));
    }
  }

  Fingerprints all_;
  ValueClass class_;
  bool keeps_bytes_;
};

}  // namespace

bool is_fps(const std::string& file) {
  const std::string begin = begin_of_stream(file);
  return without_byte_order_mark(begin).starts_with(kSignature);
}

std::unique_ptr<PointSource> open_fps(const Location& location, const ReadOptions& options) {
  return std::make_unique<FingerprintSource>(Fingerprints(location, options.scratch), options);
}

std::vector<DatasetInfo> list_fps(const Location& location, const ReadOptions& options) {
  const Fingerprints all(location, options.scratch);
  return {{.shape = {all.rows(), all.bits()},
           .type = kFingerprint,
           .layout = "hexadecimal",
           .filters = filters_of(location.file),
           .stored_bytes = all.held_bytes()}};
}

}  // namespace kith::data
