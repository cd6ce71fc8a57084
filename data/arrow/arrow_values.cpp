// Maps Arrow's types to those of kith, and brings arrays of numbers into the form of records.
#include <arrow/extension/fixed_shape_tensor.h>
#include <arrow/extension_type.h>
#include <arrow/scalar.h>
#include <arrow/util/decimal.h>
#include <arrow/util/key_value_metadata.h>
#include <arrow/util/ree_util.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>

#include "data/arrow/arrow_source.h"
#include "data/io/utf8.h"

namespace kith::data {
namespace {

const arrow::DataType& storage_of(const arrow::DataType& type) {
  return type.id() == arrow::Type::EXTENSION ? *static_cast<const arrow::ExtensionType&>(type).storage_type() : type;
}

const arrow::Array& storage_of(const arrow::Array& array) {
  return array.type_id() == arrow::Type::EXTENSION ? *static_cast<const arrow::ExtensionArray&>(array).storage()
                                                   : array;
}

/// The type of another program of which an array is, as Arrow knows it or as the field says; empty: none.
std::string extension_name(const arrow::DataType& type, const arrow::KeyValueMetadata* metadata) {
  if (type.id() == arrow::Type::EXTENSION) return static_cast<const arrow::ExtensionType&>(type).extension_name();
  return metadata == nullptr ? "" : metadata->Get("ARROW:extension:name").ValueOr("");
}
constexpr const char* kBool8 = "arrow.bool8";  // one byte for each, of which any but 0 is true

/// The type of kith that holds the numbers of this type; nothing for other types.
std::optional<Number> number_of(const arrow::DataType& type) {
  constexpr std::pair<arrow::Type::type, Number> kNumbers[] = {
      {arrow::Type::HALF_FLOAT, Number::float16}, {arrow::Type::FLOAT, Number::float32},
      {arrow::Type::DOUBLE, Number::float64},     {arrow::Type::NA, Number::float64},
      {arrow::Type::BOOL, Number::uint8},         {arrow::Type::INT8, Number::int8},
      {arrow::Type::UINT8, Number::uint8},        {arrow::Type::INT16, Number::int16},
      {arrow::Type::UINT16, Number::uint16},      {arrow::Type::INT32, Number::int32},
      {arrow::Type::UINT32, Number::uint32},      {arrow::Type::INT64, Number::int64},
      {arrow::Type::UINT64, Number::uint64}};
  for (const auto& [id, number] : kNumbers) {
    if (type.id() == id) return number;
  }
  if (arrow::is_decimal(type.id())) return Number::float64;
  if (type.id() == arrow::Type::DICTIONARY) {
    return number_of(*static_cast<const arrow::DictionaryType&>(type).value_type());
  }
  if (type.id() == arrow::Type::RUN_END_ENCODED) {
    return number_of(*static_cast<const arrow::RunEndEncodedType&>(type).value_type());
  }
  return std::nullopt;
}

bool is_list(const arrow::DataType& type) {
  constexpr std::array kLists{arrow::Type::LIST, arrow::Type::LARGE_LIST, arrow::Type::FIXED_SIZE_LIST,
                              arrow::Type::LIST_VIEW, arrow::Type::LARGE_LIST_VIEW};
  return std::ranges::find(kLists, type.id()) != kLists.end();
}

/// use(array), as the array of its type of lists.
template <class Use>
auto with_lists(const arrow::Array& array, const Use& use) {
  switch (array.type_id()) {
    case arrow::Type::LIST:
      return use(static_cast<const arrow::ListArray&>(array));
    case arrow::Type::LARGE_LIST:
      return use(static_cast<const arrow::LargeListArray&>(array));
    case arrow::Type::LIST_VIEW:
      return use(static_cast<const arrow::ListViewArray&>(array));
    case arrow::Type::LARGE_LIST_VIEW:
      return use(static_cast<const arrow::LargeListViewArray&>(array));
    default:
      return use(static_cast<const arrow::FixedSizeListArray&>(array));
  }
}

const arrow::DataType& item_type(const arrow::DataType& list) {
  return storage_of(*static_cast<const arrow::BaseListType&>(list).value_type());
}

std::string type_name(const arrow::DataType& type) {
  if (type.id() == arrow::Type::DICTIONARY) {
    return fmt::format("dictionary of {}", type_name(*static_cast<const arrow::DictionaryType&>(type).value_type()));
  }
  if (is_list(type)) return fmt::format("list of {}", type_name(item_type(type)));
  return arrow::is_integer(type.id()) || arrow::is_floating(type.id()) ? name_of(*number_of(type))
                                                                       : quoted(type.ToString(), 60);
}

/// Whether tensors of this type are stored in another order of their dimensions than they are meant.
bool is_permuted(const arrow::DataType& type) {
  const auto* const tensor = dynamic_cast<const arrow::extension::FixedShapeTensorType*>(&type);
  return tensor != nullptr && !std::ranges::is_sorted(tensor->permutation());
}

/// A decimal number, rounded correctly, as if it were read from text.
double to_double(const arrow::Decimal256& value, std::int32_t scale) {
  constexpr std::int64_t kExact = std::int64_t{1} << 53;
  static constexpr std::array<double, 23> kPowers{1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                                  1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                                  1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  if (scale >= 0 && scale < std::ssize(kPowers) && value <= arrow::Decimal256(kExact) &&
      value >= arrow::Decimal256(-kExact)) {  // the quotient of two exact numbers
    return static_cast<double>(static_cast<std::int64_t>(value.low_bits())) / kPowers[static_cast<std::size_t>(scale)];
  }
  const std::string text = value.ToString(scale);
  double number = 0.0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

/// The decimal numbers of all widths, from 32 to 256 bits.
void convert_decimals(const arrow::Array& array, std::byte* out) {
  const auto& decimals = static_cast<const arrow::FixedSizeBinaryArray&>(array);
  const auto& type = static_cast<const arrow::DecimalType&>(*array.type());
  for (std::int64_t i = 0; i < array.length(); ++i, out += sizeof(double)) {
    const std::uint8_t* const stored = decimals.GetValue(i);  // little-endian, in two's complement
    const bool is_negative = stored[type.byte_width() - 1] >= 0x80;
    std::array<std::uint8_t, 32> bytes;
    bytes.fill(is_negative ? 0xff : 0);
    std::copy_n(stored, type.byte_width(), bytes.begin());
    const double value = decimals.IsNull(i) ? 0.0 : to_double(arrow::Decimal256(bytes.data()), type.scale());
    std::memcpy(out, &value, sizeof value);
  }
}

/// The run of a row.
std::int64_t physical_index(const arrow::RunEndEncodedArray& runs, std::int64_t row) {
  return arrow::ree_util::FindPhysicalIndex(arrow::ArraySpan(*runs.data()), row, runs.offset());
}

/// Of values that are stored once for many rows, in a dictionary or as runs, those of all rows.
ArrowValues values_of_rows(const arrow::Array& array, const ArrowValues& stored, std::int64_t size,
                           const std::function<std::int64_t(std::int64_t)>& index_of) {
  ArrowValues values;
  values.stride = size;
  values.owned.resize(static_cast<std::size_t>(array.length() * size));
  values.is_set.resize(static_cast<std::size_t>(array.length()));
  for (std::int64_t i = 0; i < array.length(); ++i) {
    if (array.IsNull(i)) continue;
    const std::int64_t at = index_of(i);
    std::memcpy(values.owned.data() + i * size, stored.first + at * size, static_cast<std::size_t>(size));
    values.is_set[static_cast<std::size_t>(i)] =
        stored.is_set.empty() ? 1 : stored.is_set[static_cast<std::size_t>(at)];
  }
  values.first = values.owned.data();
  return values;
}

/// Numbers one after another, with the flags of those that are set.
ArrowValues flat_values(const arrow::Array& array, Number number) {
  const std::int64_t count = array.length(), size = size_of(number);
  ArrowValues values;
  values.stride = size;
  if (count == 0) return values;
  if (array.type_id() == arrow::Type::DICTIONARY) {
    const auto& rows = static_cast<const arrow::DictionaryArray&>(array);
    return values_of_rows(array, flat_values(*rows.dictionary(), number), size,
                          [&](std::int64_t row) { return rows.GetValueIndex(row); });
  }
  if (array.type_id() == arrow::Type::RUN_END_ENCODED) {
    const auto& runs = static_cast<const arrow::RunEndEncodedArray&>(array);
    return values_of_rows(array, flat_values(*runs.values(), number), size,
                          [&](std::int64_t row) { return physical_index(runs, row); });
  }
  if (array.type_id() == arrow::Type::BOOL) {
    const auto& flags = static_cast<const arrow::BooleanArray&>(array);
    values.owned.resize(static_cast<std::size_t>(count));
    for (std::int64_t i = 0; i < count; ++i) values.owned[static_cast<std::size_t>(i)] = std::byte{flags.Value(i)};
  } else if (arrow::is_decimal(array.type_id()) || array.type_id() == arrow::Type::NA) {
    values.owned.resize(static_cast<std::size_t>(count * size));
    if (array.type_id() != arrow::Type::NA) convert_decimals(array, values.owned.data());
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
  std::int64_t begin = std::numeric_limits<std::int64_t>::max(), end = 0;
  bool together = true;  // the lists follow each other without other values between them
  for (std::int64_t i = 0; i < rows; ++i) {
    together = together && lists.IsValid(i) && lists.value_offset(i) == lists.value_offset(0) + i * length;
    if (lists.IsNull(i)) continue;
    if (lists.value_length(i) != length) refuse(i, lists.value_length(i));
    begin = std::min<std::int64_t>(begin, lists.value_offset(i));
    end = std::max<std::int64_t>(end, lists.value_offset(i) + length);
  }
  begin = std::min(begin, end);
  const auto slice = lists.values()->Slice(begin, end - begin);  // the flat values may refer to it
  ArrowValues flat = flat_values(storage_of(*slice), number);
  flat.stride = length * size;
  if (together) return flat;
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
  return with_lists(storage_of(array), [](const auto& lists) -> std::int64_t {
    for (std::int64_t i = 0; i < lists.length(); ++i) {
      if (lists.IsValid(i)) return lists.value_length(i);
    }
    return -1;
  });
}

RecordField record_field(const arrow::Field& field, std::int64_t length) {
  const arrow::DataType& type = storage_of(*field.type());
  RecordField result;
  result.name = field.name();
  result.type = type_name(type);
  const bool lists = list_length(type) != 0;
  const auto number = lists ? number_of(item_type(type)) : number_of(type);
  const std::string extension = extension_name(*field.type(), field.metadata().get());
  if (!number && !extension.empty()) result.type = quoted(extension, 60);
  if (is_permuted(*field.type())) {
    result.type = kPermutedTensor;
    return result;
  }
  if (!number || (lists && length < 1)) return result;
  // Whole numbers of a type of another program are codes, such as the months of pandas' periods.
  if (!extension.empty() && arrow::is_integer(type.id())) {
    result.type = extension == kBool8 ? "bool" : quoted(extension, 60);
    if (extension == kBool8) result.element = ElementType{Number::uint8, false};
    return result;
  }
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
  if (!is_list(*storage.type())) {
    ArrowValues values = flat_values(storage, number);
    if (storage.type_id() != arrow::Type::INT8 || number != Number::uint8) return values;
    values.owned.assign(values.first, values.first + array.length());
    for (std::byte& value : values.owned) value = std::byte{value != std::byte{0}};
    values.first = values.owned.data();
    return values;
  }
  return with_lists(storage, [&](const auto& lists) { return list_values(lists, number, field.count, refuse); });
}

std::string text_of(const arrow::Array& array, std::int64_t row) {
  const arrow::Array& storage = storage_of(array);
  if (storage.IsNull(row)) return "";
  switch (storage.type_id()) {
    case arrow::Type::DICTIONARY: {
      const auto& dictionary = static_cast<const arrow::DictionaryArray&>(storage);
      return text_of(*dictionary.dictionary(), dictionary.GetValueIndex(row));
    }
    case arrow::Type::RUN_END_ENCODED: {
      const auto& runs = static_cast<const arrow::RunEndEncodedArray&>(storage);
      return text_of(*runs.values(), physical_index(runs, row));
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
    case arrow::Type::DURATION: {  // "PT90.500S"
      const int digits = 3 * static_cast<int>(static_cast<const arrow::DurationType&>(*storage.type()).unit());
      const std::int64_t count = static_cast<const arrow::DurationArray&>(storage).Value(row);
      std::string text = fmt::format("{:0{}}", count, digits + (count < 0 ? 2 : 1));
      if (digits > 0) text.insert(text.size() - static_cast<std::size_t>(digits), ".");
      return count < 0 ? fmt::format("-PT{}S", text.substr(1)) : fmt::format("PT{}S", text);
    }
    default: {
      const auto value = storage.GetScalar(row);
      std::string text = value.ok() ? (*value)->ToString() : "";
      if (is_list(*storage.type())) text.erase(0, text.find('['));  // before it is the type
      return text;
    }
  }
}

}  // namespace kith::data
