// Maps Arrow's types to those of kith, and brings arrays of numbers into the form of records.
#include "data/arrow/arrow_values.h"

#include <arrow/extension_type.h>
#include <arrow/scalar.h>
#include <arrow/util/decimal.h>
#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>

#include "data/io/quoted.h"

namespace kith::data {
namespace {

const arrow::DataType& storage_of(const arrow::DataType& type) {
  return type.id() == arrow::Type::EXTENSION ? *static_cast<const arrow::ExtensionType&>(type).storage_type() : type;
}

const arrow::Array& storage_of(const arrow::Array& array) {
  return array.type_id() == arrow::Type::EXTENSION ? *static_cast<const arrow::ExtensionArray&>(array).storage()
                                                   : array;
}

/// The type of kith that holds the numbers of this type; nothing for other types.
std::optional<Number> number_of(const arrow::DataType& type) {
  switch (type.id()) {
    case arrow::Type::HALF_FLOAT:
      return Number::float16;
    case arrow::Type::FLOAT:
      return Number::float32;
    case arrow::Type::DOUBLE:
    case arrow::Type::DECIMAL128:
      return Number::float64;
    case arrow::Type::INT8:
      return Number::int8;
    case arrow::Type::UINT8:
    case arrow::Type::BOOL:
      return Number::uint8;
    case arrow::Type::INT16:
      return Number::int16;
    case arrow::Type::UINT16:
      return Number::uint16;
    case arrow::Type::INT32:
      return Number::int32;
    case arrow::Type::UINT32:
      return Number::uint32;
    case arrow::Type::INT64:
      return Number::int64;
    case arrow::Type::UINT64:
      return Number::uint64;
    default:
      return std::nullopt;
  }
}

bool is_list(const arrow::DataType& type) {
  return type.id() == arrow::Type::LIST || type.id() == arrow::Type::LARGE_LIST ||
         type.id() == arrow::Type::FIXED_SIZE_LIST;
}

const arrow::DataType& item_type(const arrow::DataType& list) {
  return storage_of(*static_cast<const arrow::BaseListType&>(list).value_type());
}

std::string type_name(const arrow::DataType& type) {
  const auto number = number_of(type);
  if (type.id() == arrow::Type::DICTIONARY) {
    return fmt::format("dictionary of {}", type_name(*static_cast<const arrow::DictionaryType&>(type).value_type()));
  }
  if (is_list(type)) return fmt::format("list of {}", type_name(item_type(type)));
  const bool as_written = !number || type.id() == arrow::Type::BOOL || type.id() == arrow::Type::DECIMAL128;
  return as_written ? quoted(type.ToString(), 60) : name_of(*number);
}

/// A decimal number, rounded correctly, as if it were read from text.
double to_double(const arrow::Decimal128& value, std::int32_t scale) {
  constexpr std::int64_t kExact = std::int64_t{1} << 53;
  static constexpr std::array<double, 23> kPowers{1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                                  1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                                  1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  if (scale >= 0 && scale < std::ssize(kPowers) && value <= arrow::Decimal128(kExact) &&
      value >= arrow::Decimal128(-kExact)) {  // the quotient of two exact numbers
    return static_cast<double>(static_cast<std::int64_t>(value.low_bits())) / kPowers[static_cast<std::size_t>(scale)];
  }
  const std::string text = value.ToString(scale);
  double number = 0.0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

/// Numbers one after another, with the flags of those that are set.
ArrowValues flat_values(const arrow::Array& array, Number number) {
  const std::int64_t count = array.length(), size = size_of(number);
  ArrowValues values;
  values.stride = size;
  if (count == 0) return values;
  if (array.type_id() == arrow::Type::BOOL) {
    const auto& flags = static_cast<const arrow::BooleanArray&>(array);
    values.owned.resize(static_cast<std::size_t>(count));
    for (std::int64_t i = 0; i < count; ++i) values.owned[static_cast<std::size_t>(i)] = std::byte{flags.Value(i)};
  } else if (array.type_id() == arrow::Type::DECIMAL128) {
    const auto& decimals = static_cast<const arrow::Decimal128Array&>(array);
    const std::int32_t scale = static_cast<const arrow::Decimal128Type&>(*array.type()).scale();
    values.owned.resize(static_cast<std::size_t>(count * size));
    for (std::int64_t i = 0; i < count; ++i) {
      const double value = decimals.IsNull(i) ? 0.0 : to_double(arrow::Decimal128(decimals.GetValue(i)), scale);
      std::memcpy(values.owned.data() + i * size, &value, sizeof value);
    }
  } else {
    values.first = reinterpret_cast<const std::byte*>(array.data()->buffers[1]->data()) + array.offset() * size;
  }
  if (array.null_count() > 0) {
    if (values.owned.empty()) values.owned.assign(values.first, values.first + count * size);
    values.is_set.resize(static_cast<std::size_t>(count));
    for (std::int64_t i = 0; i < count; ++i) {
      values.is_set[static_cast<std::size_t>(i)] = array.IsValid(i) ? 1 : 0;
      if (!array.IsValid(i)) std::memset(values.owned.data() + i * size, 0, static_cast<std::size_t>(size));
    }
  }
  if (!values.owned.empty()) values.first = values.owned.data();
  return values;
}

/// Lists of `length` numbers as rows. Missing lists, which may have any length, become rows of missing numbers.
template <class Lists>
ArrowValues list_values(const Lists& lists, Number number, std::int64_t length,
                        const std::function<void(std::int64_t, std::int64_t)>& refuse) {
  const std::int64_t rows = lists.length(), size = size_of(number);
  if (rows == 0) return {};
  const std::int64_t begin = lists.value_offset(0);
  bool together = true;  // the lists follow each other without other values between them
  for (std::int64_t i = 0; i < rows; ++i) {
    if (lists.IsValid(i) && lists.value_length(i) != length) refuse(i, lists.value_length(i));
    together = together && lists.value_offset(i) == begin + i * length;
  }
  const std::int64_t end = lists.value_offset(rows - 1) + lists.value_length(rows - 1);
  together = together && end - begin == rows * length;
  const auto slice = lists.values()->Slice(begin, end - begin);  // the flat values may refer to it
  ArrowValues flat = flat_values(storage_of(*slice), number);
  flat.stride = length * size;
  if (together && lists.null_count() == 0) return flat;
  ArrowValues values;
  values.stride = length * size;
  values.owned.resize(static_cast<std::size_t>(rows * values.stride));
  values.is_set.resize(static_cast<std::size_t>(rows * length));
  for (std::int64_t i = 0; i < rows; ++i) {
    if (lists.IsNull(i)) continue;
    const std::int64_t at = lists.value_offset(i) - begin;
    std::memcpy(values.owned.data() + i * values.stride, flat.first + at * size,
                static_cast<std::size_t>(values.stride));
    for (std::int64_t j = 0; j < length; ++j) {
      values.is_set[static_cast<std::size_t>(i * length + j)] =
          flat.is_set.empty() ? 1 : flat.is_set[static_cast<std::size_t>(at + j)];
    }
  }
  values.first = values.owned.data();
  return values;
}

}  // namespace

std::int64_t list_length(const arrow::DataType& type) {
  const arrow::DataType& storage = storage_of(type);
  if (!is_list(storage) || !number_of(item_type(storage))) return 0;
  return storage.id() == arrow::Type::FIXED_SIZE_LIST
             ? static_cast<const arrow::FixedSizeListType&>(storage).list_size()
             : -1;
}

std::int64_t first_list_length(const arrow::Array& array) {
  const arrow::Array& lists = storage_of(array);
  for (std::int64_t i = 0; i < lists.length(); ++i) {
    if (lists.IsNull(i)) continue;
    return lists.type_id() == arrow::Type::LIST ? static_cast<const arrow::ListArray&>(lists).value_length(i)
                                                : static_cast<const arrow::LargeListArray&>(lists).value_length(i);
  }
  return -1;
}

RecordField record_field(const arrow::Field& field, std::int64_t length) {
  const arrow::DataType& type = storage_of(*field.type());
  RecordField result;
  result.name = field.name();
  result.type = type_name(type);
  const bool lists = list_length(type) != 0;
  const auto number = lists ? number_of(item_type(type)) : number_of(type);
  if (!number || (lists && length < 1)) return result;
  result.element = ElementType{*number, false};
  if (!lists) return result;
  result.type = type_name(item_type(type));
  result.count = length;
  return result;
}

ArrowValues values_of(const arrow::Array& array, const RecordField& field,
                      const std::function<void(std::int64_t, std::int64_t)>& refuse) {
  const arrow::Array& storage = storage_of(array);
  const Number number = field.element.value().number;
  switch (storage.type_id()) {
    case arrow::Type::LIST:
      return list_values(static_cast<const arrow::ListArray&>(storage), number, field.count, refuse);
    case arrow::Type::LARGE_LIST:
      return list_values(static_cast<const arrow::LargeListArray&>(storage), number, field.count, refuse);
    case arrow::Type::FIXED_SIZE_LIST:
      return list_values(static_cast<const arrow::FixedSizeListArray&>(storage), number, field.count, refuse);
    default:
      return flat_values(storage, number);
  }
}

std::string text_of(const arrow::Array& array, std::int64_t row) {
  const arrow::Array& storage = storage_of(array);
  if (storage.IsNull(row)) return "";
  switch (storage.type_id()) {
    case arrow::Type::DICTIONARY: {
      const auto& dictionary = static_cast<const arrow::DictionaryArray&>(storage);
      return text_of(*dictionary.dictionary(), dictionary.GetValueIndex(row));
    }
    case arrow::Type::STRING:
    case arrow::Type::BINARY:
      return std::string(static_cast<const arrow::BinaryArray&>(storage).GetView(row));
    case arrow::Type::LARGE_STRING:
    case arrow::Type::LARGE_BINARY:
      return std::string(static_cast<const arrow::LargeBinaryArray&>(storage).GetView(row));
    case arrow::Type::BOOL:  // as pandas writes them
      return static_cast<const arrow::BooleanArray&>(storage).Value(row) ? "True" : "False";
    case arrow::Type::FLOAT:
      return fmt::format("{}", static_cast<const arrow::FloatArray&>(storage).Value(row));
    case arrow::Type::DOUBLE:
      return fmt::format("{}", static_cast<const arrow::DoubleArray&>(storage).Value(row));
    default: {
      const auto value = storage.GetScalar(row);
      return value.ok() ? (*value)->ToString() : "";
    }
  }
}

}  // namespace kith::data
