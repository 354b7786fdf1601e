/**
 * @file recovery.hpp
 *
 * What the ranks that are left do when one has died: all continue from the
 * state of one of them.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_RUN_RECOVERY_HPP
#define DASGD_RUN_RECOVERY_HPP

#include "run_state.hpp"

#include <cstring>
#include <utility>

namespace dasgd {

//! What a survivor tells all others.
struct Survivor
{
  //! Its rank when the job started.
  std::uint64_t firstRank = 0;
  //! Gradients that its model has applied, in all and, since the work was
  //! divided, by origin.
  std::uint64_t gradients = 0;
  VersionVector version;
  //! Points that it holds, and how often it has shuffled them.
  std::uint64_t held = 0;
  std::uint64_t shuffles = 0;
  //! Was it on its way over a board, so that its model has a part of some
  //! updates only?
  std::uint64_t torn = 0;

  //! As it is sent.
  std::string Bytes() const
  {
    const std::uint64_t numbers[] = { firstRank, gradients, held, shuffles,
        torn };
    return std::string(reinterpret_cast<const char*>(numbers),
        sizeof(numbers)) + std::string(reinterpret_cast<const char*>(
        version.data()), version.size() * sizeof(version[0]));
  }

  static Survivor FromBytes(const std::string& bytes)
  {
    std::uint64_t numbers[5] = { };
    Survivor survivor;
    std::memcpy(numbers, bytes.data(), sizeof(numbers));
    survivor.firstRank = numbers[0];
    survivor.gradients = numbers[1];
    survivor.held = numbers[2];
    survivor.shuffles = numbers[3];
    survivor.torn = numbers[4];
    const size_t rest = bytes.size() - sizeof(numbers);
    survivor.version.resize(rest / sizeof(numbers[0]));
    if (rest > 0)
    {
      std::memcpy(survivor.version.data(), bytes.data() + sizeof(numbers),
          rest);
    }
    return survivor;
  }
};

/**
 * How the survivors continue; the same on all of them, since it follows from
 * what all were told.  All take the state of the one that has applied most.
 * What that one has not applied is as if it had never been computed: all have a
 * gradient of a dead rank, or none has.  (Unless each of them was in the middle
 * of an update of their board, behind the one that died in its own: then the
 * model has a part of these updates.)  Some of them may have died during an
 * earlier recovery that others had completed: their states are from before it,
 * and have applied no more than those from after it.
 */
class Recovery
{
 public:
  //! @param survivors By their new ranks.
  explicit Recovery(std::vector<Survivor> survivorsIn) :
      survivors(std::move(survivorsIn))
  {
    const auto rank = [this](const size_t i)
    { return std::make_pair(survivors[i].torn == 0, survivors[i].gradients); };
    for (size_t i = 1; i < survivors.size(); ++i)
      if (rank(i) > rank(source))
        source = i;
  }

  //! The new rank whose state all take.
  size_t Source() const { return source; }

  //! Where all begin, given that state.
  RunSnapshot Begin(const RunSnapshot& state) const
  {
    Division division = state;
    division.held.clear();
    std::uint64_t shuffles = 0;
    for (const Survivor& survivor : survivors)
    {
      division.held.push_back(survivor.held);
      shuffles = std::max(shuffles, survivor.shuffles);
    }
    return state.Recover(division, shuffles);
  }

  //! Gradients that somebody has applied, but not the one whose state is taken.
  std::uint64_t Dropped(const RunSnapshot& state) const
  {
    VersionVector most = state.version;
    for (const Survivor& survivor : survivors)
    {
      // Each recovery leaves fewer ranks: vectors of another length are from
      // before one.
      for (size_t i = 0; i < most.size() &&
          survivor.version.size() == most.size(); ++i)
        most[i] = std::max(most[i], survivor.version[i]);
    }
    std::uint64_t dropped = 0;
    for (size_t i = 0; i < most.size(); ++i)
      dropped += most[i] - state.version[i];
    return dropped;
  }

  //! Which of the ranks that the job started with are gone?
  std::vector<std::uint64_t> Lost(const size_t firstRanks) const
  {
    std::vector<bool> left(firstRanks, false);
    for (const Survivor& survivor : survivors)
      left[size_t(survivor.firstRank)] = true;
    std::vector<std::uint64_t> lost;
    for (size_t i = 0; i < firstRanks; ++i)
      if (!left[i])
        lost.push_back(i);
    return lost;
  }

 private:
  std::vector<Survivor> survivors;
  size_t source = 0;
};

} // namespace dasgd

#endif
