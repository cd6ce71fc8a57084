// Counts votes. A vote only raises its own class, so the winner is known after each.
#include "core/neighbors/class_votes.h"

namespace kith {

void ClassVotes::begin(VoteWeight weight) {
  for (const std::int32_t label : touched_) votes_[static_cast<std::size_t>(label)] = 0.0;
  touched_.clear();
  weight_ = weight;
  total_ = 0.0;
}

void ClassVotes::add(std::int32_t label, double distance) {
  if (touched_.empty()) {
    only_zero_ = distance == 0.0;
    winner_ = label;
  }
  double vote = 1.0;
  if (weight_ == VoteWeight::distance) vote = only_zero_ ? (distance == 0.0 ? 1.0 : 0.0) : 1.0 / distance;
  double& own = votes_[static_cast<std::size_t>(label)];
  touched_.push_back(label);
  own += vote;
  total_ += vote;
  const double most = votes_[static_cast<std::size_t>(winner_)];
  if (own > most || (own == most && label < winner_)) winner_ = label;
}

}  // namespace kith
