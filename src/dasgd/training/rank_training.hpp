/**
 * @file rank_training.hpp
 *
 * What one rank trains with.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_TRAINING_RANK_TRAINING_HPP
#define DASGD_TRAINING_RANK_TRAINING_HPP

#include "../run/rank_task.hpp"
#include "training_source.hpp"

#include <optional>
#include <vector>

namespace dasgd {

//! The state of the run and the task of one rank: Optimize() has one of it,
//! Simulate() one for each rank.
template<typename ElemType>
class RankTraining
{
 public:
  explicit RankTraining(TrainingSource<ElemType>& source) : source(source) { }

  RankTraining(const RankTraining&) = delete;
  RankTraining& operator=(const RankTraining&) = delete;

  //! A run begins here.
  void Begin(const RunSnapshot& start,
             const size_t rank,
             const std::vector<bool>& computing,
             const RunLimits& limits)
  {
    task.reset();
    state.emplace(start, rank, computing, limits);
    task.emplace(*state, source);
  }

  //! The same for a rank that goes on after others have died.
  void Rejoin(const RunSnapshot& start,
              const size_t rank,
              const std::vector<bool>& computing,
              const RunLimits& limits,
              const std::exception_ptr& exception)
  {
    std::optional<Fact> verdict;
    if (state->Verdict())
      verdict = *state->Verdict();
    Begin(start, rank, computing, limits);
    if (verdict)
      state->AskToStop(*verdict);
    source.Rejoin(start.held.size(), rank, exception);
  }

  TrainingSource<ElemType>& source;
  std::optional<RunState<ElemType>> state;
  std::optional<RankTask<ElemType>> task;
};

} // namespace dasgd

#endif
