// Checks that text is well-formed XML: elements close in order, attributes are quoted, all characters are allowed.
#pragma once

#include <string>
#include <vector>

namespace kith::testing {

/// Empty if the text is one well-formed element, perhaps after a DOCTYPE; else the first error and its position.
inline std::string xml_problem(const std::string& text) {
  const auto at = [](const char* what, std::size_t place) {
    return std::string(what) + " at " + std::to_string(place);
  };
  const auto check_text = [&](std::size_t first, std::size_t end) -> std::string {
    for (std::size_t i = first; i < end; ++i) {
      if (static_cast<unsigned char>(text[i]) < 0x20 && text[i] != '\n') return at("a control character", i);
      if (text[i] != '&') continue;
      const std::string name = text.substr(i, text.find(';', i) - i + 1);
      if (name != "&amp;" && name != "&lt;" && name != "&gt;" && name != "&quot;" && name != "&#39;")
        return at("an unknown entity", i);
    }
    return "";
  };
  std::vector<std::string> open;
  bool had_root = false;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t tag = std::min(text.find('<', i), text.size());
    if (const std::string wrong = check_text(i, tag); !wrong.empty()) return wrong;
    if (open.empty() && text.find_first_not_of('\n', i) < tag) return at("text outside of the root", i);
    if (tag == text.size()) break;
    // The end of the tag, outside of quotes.
    std::size_t end = tag + 1;
    for (bool quoted = false; end < text.size() && (quoted || text[end] != '>'); ++end) {
      if (text[end] == '"') quoted = !quoted;
      if (text[end] == '<') return at("'<' inside a tag", end);
    }
    if (end >= text.size()) return at("a tag without an end", tag);
    std::string inner = text.substr(tag + 1, end - tag - 1);
    if (const std::string wrong = check_text(tag + 1, end); !wrong.empty()) return wrong;
    i = end + 1;
    if (inner.rfind("!DOCTYPE", 0) == 0) continue;
    if (inner[0] == '/') {
      if (open.empty() || open.back() != inner.substr(1)) return at("an end without its beginning", tag);
      open.pop_back();
      continue;
    }
    if (open.empty() && had_root) return at("a second root", tag);
    had_root = true;
    const bool is_closed = inner.back() == '/';
    if (is_closed) inner.pop_back();
    const std::string name = inner.substr(0, inner.find(' '));
    for (std::size_t j = name.size(); j < inner.size();) {
      const std::size_t equals = inner.find("=\"", j);
      const std::size_t close = equals == inner.npos ? inner.npos : inner.find('"', equals + 2);
      if (inner[j] != ' ' || close == inner.npos) return at("an attribute that is none", tag);
      j = close + 1;
    }
    if (!is_closed) open.push_back(name);
  }
  return open.empty() && had_root ? "" : "an element that is not closed: " + (open.empty() ? "none" : open.back());
}

/// How often a text occurs in another.
inline std::size_t occurrences(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t i = text.find(part); i != text.npos; i = text.find(part, i + part.size())) ++count;
  return count;
}

}  // namespace kith::testing
