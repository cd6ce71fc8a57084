// What a user can do about an error from core/, which knows no options.
#include "app/cli/remedy.h"

namespace kith::app {
namespace {

const char* remedy_for(Cause cause) {
  switch (cause) {
    case Cause::faulty_hardware:
      return "run again, or with another --backend";
    case Cause::empty_clusters:
      return "give a smaller -k, another --seed or --init, or --empty relocate";
    case Cause::value_class:
      return "remove the row, or give --precision f64";
    case Cause::column_products:
      return "divide the values by a power of ten, or give --scale zscore";
    case Cause::component_count:
      return "give a smaller --pca";
    case Cause::cluster_sizes:
      return "give another --min-size or --max-size";
    case Cause::radius:
      return "give another --radius";
    case Cause::own_row_excluded:
      return "--include-self keeps each row in its own list";
    case Cause::value:  // the message says where it is
    case Cause::other:
      return "";
  }
  return "";
}

}  // namespace

std::string message_with_remedy(const Error& error) {
  const std::string remedy = remedy_for(error.cause());
  return remedy.empty() ? error.what() : error.what() + ("; " + remedy);
}

}  // namespace kith::app
