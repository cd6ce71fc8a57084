// A self-contained HTML page of facts, pictures and tables, without scripts, fonts or external links.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "pictures/svg.h"

namespace kith::pictures {

struct Table {
  std::string title;
  std::vector<std::string> head;
  std::vector<std::vector<std::string>> rows;
  std::string note;  // below it
};

struct Page {
  std::string title;
  std::vector<std::pair<std::string, std::string>> facts;  // name and value
  std::vector<std::string> notes;                          // warnings: what is missing, and the remedy
  std::vector<Picture> pictures;
  std::vector<Table> tables;
};

/// The page as HTML that is also well-formed XML.
std::string html(const Page& page);

}  // namespace kith::pictures
