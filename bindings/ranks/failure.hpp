/**
 * @file failure.hpp
 *
 * Errors on one rank or on all of them: no rank waits for another that has
 * failed, and each error is printed once.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BINDINGS_RANKS_FAILURE_HPP
#define DASGD_BINDINGS_RANKS_FAILURE_HPP

#include "rank_output.hpp"

#include <stdexcept>

namespace dasgd {
namespace cli {

//! The text of an exception, as RankOutput::Current() or else ErrorText() has
//! it.
std::string CurrentErrorText(const std::exception& e);

/**
 * If any rank has a problem, throw on all, with the text of the lowest such
 * rank.  Collective.  To be called wherever something may be wrong on one rank
 * only, before the others would wait for it.
 *
 * @param problem What is wrong on this rank; empty if nothing is.
 */
void CheckAllRanks(const std::string& problem);

//! Do something that may fail on one rank only; if so, it fails on all.
//! Collective.
template<typename ActionType>
void OnAllRanks(ActionType&& action)
{
  std::string problem;
  try
  {
    action();
  }
  catch (const std::exception& e)
  {
    problem = CurrentErrorText(e);
  }
  CheckAllRanks(problem);
}

//! A signal has ended the training, on all ranks, such that it can be resumed.
class Interrupted : public std::runtime_error
{
 public:
  Interrupted(const int number, const std::string& text) :
      std::runtime_error(text), number(number) { }

  //! The signal.
  int Number() const { return number; }

 private:
  int number;
};

//! Report that.
//! @return The status to exit with; see ReportFailure().
int ReportInterruption(const Interrupted& why);

//! End all ranks from here, after the error has been printed.
void AbortJob();

/**
 * Report that this process fails.  If all ranks do so within some seconds, rank
 * 0 prints each text once and all may exit; so it is for everything that is
 * wrong with the arguments.  Otherwise this rank prints its own text and aborts
 * the job, since others may wait for it.
 *
 * @return The status to exit with: 0 if the program that has started the ranks
 *     knows that all of them have failed, so that mpirun has nothing to add.
 */
int ReportFailure(const std::string& text, const RankOutput& output);

//! The same if there is no memory for a text.
int ReportOutOfMemory();

} // namespace cli
} // namespace dasgd

#endif
