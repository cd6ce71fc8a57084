// A source that changes the values of another one and leaves the rest as it is.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "data/format/point_source.h"

namespace kith::data {

/// Passes everything on but read().
class SourceFilter : public PointSource {
 public:
  explicit SourceFilter(std::unique_ptr<PointSource> inner) : inner_(std::move(inner)) {}

  std::string name() const override { return inner_->name(); }
  std::string element_type() const override { return inner_->element_type(); }
  std::int64_t rows() const override { return inner_->rows(); }
  std::int64_t columns() const override { return inner_->columns(); }
  ValueClass value_class() const override { return inner_->value_class(); }
  std::int64_t file_bytes() const override { return inner_->file_bytes(); }
  std::int64_t changed_values() const override { return inner_->changed_values(); }
  std::int64_t held_bytes() const override { return inner_->held_bytes(); }
  std::string only_in_order() const override { return inner_->only_in_order(); }
  bool is_compressed() const override { return inner_->is_compressed(); }
  void bypass_cache_from(std::int64_t row) override { inner_->bypass_cache_from(row); }
  std::string watched_file() const override { return inner_->watched_file(); }
  bool is_shared() const override { return inner_->is_shared(); }
  std::vector<std::string> column_names() const override { return inner_->column_names(); }
  SkippedLines skipped_lines() const override { return inner_->skipped_lines(); }
  std::vector<std::string> remarks() const override { return inner_->remarks(); }
  std::vector<std::string> kept(Kept which) const override { return inner_->kept(which); }
  std::string id_name() const override { return inner_->id_name(); }
  std::optional<IndexedColumns> indexed_columns() const override { return inner_->indexed_columns(); }
  std::optional<TableForm> table_form() const override { return inner_->table_form(); }
  void visit_text(const std::function<void(TextPart, std::string_view)>& visit) const override {
    inner_->visit_text(visit);
  }

 protected:
  std::unique_ptr<PointSource> inner_;
};

}  // namespace kith::data
