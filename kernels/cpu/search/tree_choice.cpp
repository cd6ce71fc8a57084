// stub
#include "kernels/cpu/search/tree_choice.h"
#include <cstdlib>

namespace kith::cpu {

template <class T>
std::shared_ptr<const SearchTree> tree_for(const HeldRows<T>& held, const TreeRequest& request) {
  if (request.measure == Measure::inner_product) return nullptr;
  if (!held.forced.trees && !getenv("KITH_TREE")) return nullptr;
  if (held.trees.tree == nullptr) held.trees.tree = std::make_shared<const SearchTree>(make_tree(held.values, held.threads));
  return held.trees.tree;
}

#define KITH_INSTANTIATE(T) \
  template std::shared_ptr<const SearchTree> tree_for(const HeldRows<T>&, const TreeRequest&);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cpu
