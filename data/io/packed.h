// Values as bytes, for messages between processes. Reading checks every length, since the sender is not trusted.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace kith::data {

template <class T>
struct IsVector : std::false_type {};
template <class T>
struct IsVector<std::vector<T>> : std::true_type {};
template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};
template <class T>
struct IsPair : std::false_type {};
template <class A, class B>
struct IsPair<std::pair<A, B>> : std::true_type {};

/// Whether an array of them is bytes without gaps, all of which are values.
template <class T>
inline constexpr bool kIsPlain = std::is_arithmetic_v<T> && !std::is_same_v<T, bool>;

/// Packs numbers, enumerations, texts, vectors, optional values and pairs of these, and structs T with a function
/// each_field(archive, T&) that calls the archive with their fields. An enumeration E has a function last_value(E), so
/// that no other value is unpacked.
class Packer {
 public:
  template <class... Fields>
  void operator()(const Fields&... fields) {
    (pack(fields), ...);
  }
  const std::string& bytes() const { return bytes_; }
  std::string take() { return std::move(bytes_); }

 private:
  template <class T>
  void pack(const T& value) {
    if constexpr (std::is_enum_v<T>) {
      pack(static_cast<std::uint8_t>(value));
    } else if constexpr (std::is_arithmetic_v<T>) {
      bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
    } else if constexpr (std::is_same_v<T, std::string>) {
      pack(std::uint64_t{value.size()});
      bytes_ += value;
    } else if constexpr (IsVector<T>::value) {
      pack(std::uint64_t{value.size()});
      if constexpr (kIsPlain<typename T::value_type>) {
        bytes_.append(reinterpret_cast<const char*>(value.data()), value.size() * sizeof(typename T::value_type));
      } else {
        for (const auto& item : value) pack(item);
      }
    } else if constexpr (IsOptional<T>::value) {
      pack(std::uint8_t{value.has_value()});
      if (value) pack(*value);
    } else if constexpr (IsPair<T>::value) {
      pack(value.first);
      pack(value.second);
    } else {
      each_field(*this, const_cast<T&>(value));  // reads only
    }
  }

  std::string bytes_;
};

/// The bytes are not what a Packer of the same types made.
struct UnpackError : std::runtime_error {
  UnpackError() : std::runtime_error("a message of another process does not have the expected form") {}
};

/// Unpacks what Packer packed. Throws UnpackError; never allocates more than a small multiple of the bytes.
class Unpacker {
 public:
  explicit Unpacker(std::string_view bytes) : rest_(bytes) {}
  template <class... Fields>
  void operator()(Fields&... fields) {
    (unpack(fields), ...);
  }
  template <class T>
  T take() {
    T value{};
    unpack(value);
    return value;
  }
  /// What has not been unpacked.
  std::string_view rest() const { return rest_; }
  void require_end() const {
    if (!rest_.empty()) throw UnpackError();
  }

 private:
  std::string_view bytes(std::size_t count) {
    if (count > rest_.size()) throw UnpackError();
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }
  /// Every packed item has at least one byte.
  std::size_t count() {
    const auto items = take<std::uint64_t>();
    if (items > rest_.size()) throw UnpackError();
    return static_cast<std::size_t>(items);
  }
  bool flag() {
    const auto value = take<std::uint8_t>();
    if (value > 1) throw UnpackError();
    return value == 1;
  }

  template <class T>
  void unpack(T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      value = flag();
    } else if constexpr (std::is_enum_v<T>) {
      const auto number = take<std::uint8_t>();
      if (number > static_cast<std::uint8_t>(last_value(T{}))) throw UnpackError();
      value = static_cast<T>(number);
    } else if constexpr (std::is_arithmetic_v<T>) {
      std::memcpy(&value, bytes(sizeof value).data(), sizeof value);
    } else if constexpr (std::is_same_v<T, std::string>) {
      value = std::string(bytes(count()));
    } else if constexpr (IsVector<T>::value) {
      const std::size_t items = count();
      using Item = typename T::value_type;
      value.clear();
      if constexpr (kIsPlain<Item>) {
        const std::string_view taken =
            bytes(items * sizeof(Item));  // cannot overflow: there are as many bytes as items
        value.resize(items);
        std::copy(taken.begin(), taken.end(), reinterpret_cast<char*>(value.data()));
      } else {
        for (std::size_t i = 0; i < items; ++i) value.push_back(take<Item>());
      }
    } else if constexpr (IsOptional<T>::value) {
      if (flag()) {
        value = take<typename T::value_type>();
      } else {
        value.reset();
      }
    } else if constexpr (IsPair<T>::value) {
      unpack(value.first);
      unpack(value.second);
    } else {
      each_field(*this, value);
    }
  }

  std::string_view rest_;
};

// Replies of other processes: what a function packs, or the error that it throws (packed.cpp).

/// The bytes that compute() packs, or the error that it throws, behind a mark that says which.
std::string packed_reply(const std::function<void(Packer&)>& compute);

/// The bytes that compute() packed. Throws the error that the reply holds: one about memory with this message, others
/// as they are. Calls refuse(), which throws, if the bytes are no reply.
std::string unpacked_reply(std::string reply, const std::string& no_memory, const std::function<void()>& refuse);

/// The only value of these bytes. Calls refuse(), which throws, if they are something else.
template <class Value>
Value unpacked(std::string_view bytes, const std::function<void()>& refuse) {
  try {
    Unpacker in(bytes);
    if constexpr (std::is_void_v<Value>) {
      return in.require_end();
    } else {
      auto value = in.take<Value>();
      in.require_end();
      return value;
    }
  } catch (const UnpackError&) {
    refuse();
    throw;
  }
}

}  // namespace kith::data
