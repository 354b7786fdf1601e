/**
 * @file outcome.hpp
 *
 * How a run ended on one rank: what an algorithm gives back.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_ALGORITHMS_OUTCOME_HPP
#define DASGD_ALGORITHMS_OUTCOME_HPP

#include "../core/fact.hpp"
#include "../report/rank_report.hpp"

#include <exception>

namespace dasgd {

//! What an algorithm returns when all ranks have reached its end.
struct Outcome
{
  //! Did some rank stop the run before its work was done?  The same fact on
  //! all, once they have agreed.
  bool stopped = false;
  Fact stop;
  //! What was thrown on this rank, if anything.
  std::exception_ptr exception;
  RankReport counts;
  //! The boards that ranks shared, one for each machine (0: there were none);
  //! and if a rank was lost, was this one in the middle of an update?
  size_t boards = 0;
  bool torn = false;
  //! Are the models of all ranks known to be the same?
  bool equal = false;
};

//! Shows the counts of a run while it goes on, and keeps them when it ends, in
//! whatever way.
class ShowCounts
{
 public:
  //! @param live Where to show them, or null.
  ShowCounts(const RankReport** live,
             const RankReport& counts,
             Outcome& outcome) :
      live(live), counts(counts), outcome(outcome)
  {
    if (live)
      *live = &counts;
  }

  ShowCounts(const ShowCounts&) = delete;
  ShowCounts& operator=(const ShowCounts&) = delete;

  ~ShowCounts()
  {
    outcome.counts = counts;
    if (live)
      *live = nullptr;
  }

 private:
  const RankReport** live;
  const RankReport& counts;
  Outcome& outcome;
};

} // namespace dasgd

#endif
