// Pages of Parquet with lists of numbers that all have one length: whether they are such lists, and their numbers.
#pragma once

#include <arrow/memory_pool.h>
#include <parquet/column_page.h>
#include <parquet/column_reader.h>
#include <parquet/encoding.h>
#include <parquet/schema.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "data/arrow/arrow_calls.h"

namespace kith::data {

/// Takes levels, which Parquet stores as runs of one level and as packed groups of eight. take(level, count) returns
/// whether these may come next. Returns whether there are `count` levels, and all may.
template <class Take>
bool take_levels(std::span<const std::uint8_t> bytes, int width, std::int64_t count, const Take& take) {
  std::size_t at = 0;
  while (count > 0) {
    std::uint64_t head = 0;
    bool is_last = false;
    for (int shift = 0; !is_last; shift += 7) {
      if (at == bytes.size() || shift > 28) return false;
      is_last = bytes[at] < 128;
      head |= static_cast<std::uint64_t>(bytes[at++] & 127) << shift;
    }
    const auto units = static_cast<std::int64_t>(head >> 1);
    if (head % 2 == 0) {
      const std::int64_t run = std::min(units, count);
      if (at == bytes.size() || !take(int{bytes[at++]}, run)) return false;
      count -= run;
      continue;
    }
    const std::int64_t packed = std::min(8 * units, count);
    for (std::int64_t i = 0; i < packed; ++i) {
      const auto bit = static_cast<std::size_t>(i * width);
      int level = 0;
      for (std::size_t j = bit; j < bit + static_cast<std::size_t>(width); ++j) {
        if (at + j / 8 >= bytes.size()) return false;
        level |= (bytes[at + j / 8] >> j % 8 & 1) << (j - bit);
      }
      if (!take(level, std::int64_t{1})) return false;
    }
    at = std::min(at + static_cast<std::size_t>(units * width), bytes.size());
    count -= packed;
  }
  return true;
}

/// Reads numbers of a column of lists that all have one length, page by page, from the first page on.
class ListPages {
 public:
  virtual ~ListPages() = default;
  /// Goes on to the next page; returns false behind the last one, and if its lists have another form.
  virtual bool next_page() = 0;
  /// The page, and where its numbers are if they are stored as they are, else null.
  virtual ArrowStretch stretch() const = 0;
  virtual const std::uint8_t* plain_numbers() const = 0;
  /// The first number that can still be copied.
  virtual std::int64_t earliest() const = 0;
  virtual bool copy(std::int64_t first, std::int64_t count, std::byte* out) = 0;
};

template <class Type>
class TypedListPages final : public ListPages {
 public:
  using Value = typename Type::c_type;

  TypedListPages(std::unique_ptr<parquet::PageReader> pages, const parquet::ColumnDescriptor& form, std::int64_t length,
                 arrow::MemoryPool& memory)
      : pages_(std::move(pages)), form_(form), length_(length), memory_(memory) {
    // Pages before the wanted number are passed over by their heads.
    pages_->set_data_page_filter([this](const parquet::DataPageStats& page) {
      const bool is_passed = page.num_values > 0 && end_ + page.num_values <= wanted_;
      if (is_passed) end_ += page.num_values;
      return is_passed;
    });
  }

  bool next_page() override {
    while (auto page = pages_->NextPage()) {
      if (page->type() == parquet::PageType::DICTIONARY_PAGE) {
        const auto& stored = static_cast<const parquet::DictionaryPage&>(*page);
        const auto numbers = parquet::MakeTypedDecoder<Type>(parquet::Encoding::PLAIN, &form_, &memory_);
        numbers->SetData(stored.num_values(), stored.data(), stored.size());
        dictionary_ = parquet::MakeDictDecoder<Type>(&form_, &memory_);
        dictionary_->SetDict(numbers.get());
        continue;
      }
      page_ = std::dynamic_pointer_cast<parquet::DataPage>(page);
      if (page_ == nullptr || page_->num_values() == 0) continue;
      first_ = decoded_from_ = decoded_to_ = end_;
      end_ += page_->num_values();
      return open_page();
    }
    return false;
  }
  ArrowStretch stretch() const override { return {first_, end_ - first_, -1}; }
  const std::uint8_t* plain_numbers() const override { return decoder_ == nullptr ? numbers_ : nullptr; }
  std::int64_t earliest() const override { return decoded_from_; }

  bool copy(std::int64_t first, std::int64_t count, std::byte* out) override {
    while (count > 0) {
      if (first >= end_) {
        wanted_ = first;
        if (!next_page()) return false;
      } else if (first >= decoded_to_) {
        if (!decode()) return false;
      } else {
        const std::int64_t some = std::min(count, decoded_to_ - first);
        std::memcpy(out, numbers_ + (first - decoded_from_) * kBytes, static_cast<std::size_t>(some * kBytes));
        out += some * kBytes;
        first += some;
        count -= some;
      }
    }
    return true;
  }

 private:
  static constexpr std::int64_t kBytes = sizeof(Value), kBatch = std::int64_t{1} << 14;

  /// Checks the levels of the page, and finds its numbers.
  bool open_page() {
    std::span<const std::uint8_t> rest(page_->data(), static_cast<std::size_t>(page_->size()));
    const auto take = [&rest](std::int64_t count) {
      const auto taken = rest.first(static_cast<std::size_t>(std::clamp<std::int64_t>(count, 0, std::ssize(rest))));
      rest = rest.subspan(taken.size());
      return taken;
    };
    const auto* second = dynamic_cast<const parquet::DataPageV2*>(page_.get());
    const auto* first = dynamic_cast<const parquet::DataPageV1*>(page_.get());
    const auto take_part = [&](std::int64_t bytes_of_second) {
      if (second != nullptr) return take(bytes_of_second);
      std::uint32_t bytes = 0;
      const auto head = take(sizeof bytes);
      std::memcpy(&bytes, head.data(), head.size());
      return take(bytes);
    };
    if (first != nullptr && (first->repetition_level_encoding() != parquet::Encoding::RLE ||
                             first->definition_level_encoding() != parquet::Encoding::RLE)) {
      return false;
    }
    const auto repeated = take_part(second != nullptr ? second->repetition_levels_byte_length() : 0);
    const auto defined = take_part(second != nullptr ? second->definition_levels_byte_length() : 0);
    // Repetition levels are 1, but for the first number of each list.
    std::int64_t to_list = (length_ - first_ % length_) % length_;
    const bool are_lists = take_levels(repeated, 1, end_ - first_, [&](int level, std::int64_t count) {
      const bool right = level == 0 ? to_list == 0 && (count == 1 || length_ == 1) : count <= to_list;
      to_list = level == 0 ? length_ - 1 : to_list - count;
      return right;
    });
    const int most = form_.max_definition_level();
    const bool are_all = take_levels(defined, std::bit_width(static_cast<unsigned>(most)), end_ - first_,
                                     [most](int level, std::int64_t) { return level == most; });
    if (!are_lists || !are_all) return false;
    decoder_ = nullptr;
    numbers_ = rest.data();
    switch (page_->encoding()) {
      case parquet::Encoding::PLAIN:
        decoded_to_ = end_;
        return std::ssize(rest) >= (end_ - first_) * kBytes;
      case parquet::Encoding::PLAIN_DICTIONARY:
      case parquet::Encoding::RLE_DICTIONARY:
        decoder_ = dictionary_.get();
        break;
      default:
        other_ = parquet::MakeTypedDecoder<Type>(page_->encoding(), &form_, &memory_);
        decoder_ = other_.get();
    }
    if (decoder_ != nullptr) decoder_->SetData(page_->num_values(), rest.data(), static_cast<int>(rest.size()));
    return decoder_ != nullptr;
  }

  bool decode() {
    const std::int64_t count = std::min(kBatch, end_ - decoded_to_);
    decoded_.resize(static_cast<std::size_t>(count));
    if (decoder_->Decode(decoded_.data(), static_cast<int>(count)) != count) return false;
    numbers_ = reinterpret_cast<const std::uint8_t*>(decoded_.data());
    decoded_from_ = decoded_to_;
    decoded_to_ += count;
    return true;
  }

  std::unique_ptr<parquet::PageReader> pages_;
  const parquet::ColumnDescriptor& form_;
  std::int64_t length_;
  arrow::MemoryPool& memory_;
  std::int64_t wanted_ = 0;
  std::unique_ptr<parquet::DictDecoder<Type>> dictionary_;
  std::unique_ptr<parquet::TypedDecoder<Type>> other_;
  // The page, and those of its numbers that are decoded.
  std::shared_ptr<parquet::DataPage> page_;
  std::int64_t first_ = 0, end_ = 0;
  parquet::TypedDecoder<Type>* decoder_ = nullptr;  // null: the numbers are stored as they are
  const std::uint8_t* numbers_ = nullptr;
  std::int64_t decoded_from_ = 0, decoded_to_ = 0;
  std::vector<Value> decoded_;
};

}  // namespace kith::data
