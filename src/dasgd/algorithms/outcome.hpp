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
#include "../core/rank_report.hpp"

#include <exception>

namespace dasgd {

//! What an algorithm returns when all ranks have reached its end.
struct Outcome
{
  //! Did some rank stop the run before its work was done?  The same fact on
  //! all.
  bool stopped = false;
  Fact stop;
  //! What was thrown on this rank, if anything.
  std::exception_ptr exception;
  RankReport counts;
};

} // namespace dasgd

#endif
