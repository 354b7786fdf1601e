/**
 * @file plan.hpp
 *
 * What a study is to compare, and which runs that takes.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BINDINGS_STUDY_PLAN_HPP
#define DASGD_BINDINGS_STUDY_PLAN_HPP

#include "algorithms.hpp"

#include <data/text.hpp>

#include <algorithm>

namespace dasgd {
namespace study {

//! By which part the time of a simulated gradient varies, what it takes to
//! apply a parameter of an update, and to hand a message to the network.
constexpr double SimulatedSpread = 0.05;
constexpr double SimulatedSecondsPerParameter = 1e-9;
constexpr double SimulatedMessageSeconds = 20e-6;

//! Ranks on virtual time.
struct Simulation
{
  //! Or else they are processes.
  bool wanted = false;
  //! Seconds that a gradient takes; 0: what it takes on this machine.
  double gradientSeconds = 0;
  //! Of the network between machines: Mbit/s, and seconds of a message.
  double bandwidth = 1000;
  double latency = 50e-6;
  size_t ranksPerMachine = 1;
};

//! What was asked for, checked and with all defaults filled in.
struct Settings
{
  std::string problem;
  //! The data in a few words, and the network's layers, if it is one.
  std::string data;
  std::string layers;
  //! The network, if it is an ONNX file.
  std::string modelFile;
  //! What a reader of the page should know of the problem.
  std::string remark;
  size_t batchSize = 32;
  std::vector<Algorithm> algorithms;
  std::vector<size_t> ranks;
  std::vector<std::string> topologies;
  //! Which ranks are slow; "" for none.
  std::vector<std::string> slow;
  size_t seeds = 10;
  //! How often a step that may be the best is tried.
  size_t tuningSeeds = 3;
  //! The steps to try first.
  std::vector<double> steps;
  //! The loss to reach.  Not a number: it follows from serial SGD, unless an
  //! accuracy is to be reached.
  double target = Unknown;
  //! The accuracy to reach instead; not a number if there is none.
  double accuracy = Unknown;
  double budget = 0;
  double timeout = 0;
  size_t seed = 1;
  Simulation simulation;
  //! Names of the algorithms to run now; all if it is empty.
  std::vector<std::string> only;
  std::string resultsDir;
  std::string reportFile;
  //! The command that repeats the study.
  std::string command;
  //! All parameters that the results depend on, to compare them when a study is
  //! to go on.
  Entries parameters;
  //! For parameters that name files of the user: their size and when they were
  //! changed.
  Entries files;
};

//! Is the time to an accuracy measured, and not to a loss?
inline bool ByAccuracy(const Settings& settings)
{ return std::isfinite(settings.accuracy); }

//! Does the target follow from serial SGD?
inline bool FindsTarget(const Settings& settings)
{ return !std::isfinite(settings.target) && !ByAccuracy(settings); }

/**
 * Seconds that a run may take.  On virtual time that is not what it costs: so
 * that more ranks do not cost more, they get four times as many gradients as
 * one.
 */
inline double BudgetOf(const Settings& settings, const size_t ranks)
{
  return settings.simulation.wanted ? settings.budget * std::min(1.0,
      4.0 / double(ranks)) : settings.budget;
}

//! An algorithm under certain conditions: its step is tuned, then it runs with
//! all seeds.
struct Cell
{
  //! Null: separate serial SGD, for the limit of the machine.
  const Algorithm* algorithm = nullptr;
  size_t ranks = 1;
  //! "" where it does not matter.
  std::string topology;
  std::string slow;

  std::string Name() const
  { return algorithm ? algorithm->name : "independent"; }

  bool operator==(const Cell& other) const
  {
    return Name() == other.Name() && ranks == other.ranks &&
        topology == other.topology && slow == other.slow;
  }
};

//! Conditions under which all algorithms are compared.
struct Group
{
  size_t ranks = 1;
  std::string topology;
  std::string slow;
};

/**
 * How many times as long each rank takes, of a text like "0:4,1:2".
 *
 * @throw std::invalid_argument with the reason and the remedy.
 */
inline std::vector<double> SlowFactors(const std::string& text,
                                       const size_t ranks)
{
  std::vector<double> factors(ranks, 1.0);
  if (text.empty() || text == "none")
    return factors;
  std::vector<bool> named(ranks, false);
  for (const std::string& part : Split(text, ','))
  {
    const std::vector<std::string> pair = Split(part, ':');
    double rank = 0, factor = 0;
    if (pair.size() != 2 || !ReadNumber(pair[0], rank) ||
        !ReadNumber(pair[1], factor) || rank < 0 || rank != std::floor(rank) ||
        factor < 1 || factor > 1000)
    {
      throw std::invalid_argument("'" + part + "' is not a rank, a colon and a "
          "factor of at least 1 and at most 1000; write 0:4 if rank 0 shall "
          "take 4 times as long");
    }
    if (rank >= double(ranks))
    {
      throw std::invalid_argument("'" + part + "' slows rank " + pair[0] +
          ", but with " + Counted(ranks, "rank") + " there are only ranks 0 "
          "to " + std::to_string(ranks - 1) + "; name one of these, or give "
          "more '--ranks'");
    }
    if (named[size_t(rank)])
    {
      throw std::invalid_argument("'" + text + "' names rank " + pair[0] +
          " twice; give one factor for it");
    }
    named[size_t(rank)] = true;
    factors[size_t(rank)] = factor;
  }
  return factors;
}

//! Such a text of the factors: "" if no rank is slow.
inline std::string SlowName(const std::vector<double>& factors)
{
  std::vector<std::string> parts;
  for (size_t i = 0; i < factors.size(); ++i)
  {
    if (factors[i] > 1)
      parts.push_back(std::to_string(i) + ":" + NumberText(factors[i]));
  }
  return Join(parts, ",");
}

//! "rank 0 4 times slower, rank 1 2 times slower".
inline std::string SlowText(const std::string& slow)
{
  std::vector<std::string> parts;
  for (const std::string& part : Split(slow, ','))
  {
    const size_t colon = part.find(':');
    parts.push_back("rank " + part.substr(0, colon) + " " +
        part.substr(colon + 1) + " times slower");
  }
  return Join(parts, ", ");
}

inline std::vector<Group> Groups(const Settings& settings)
{
  std::vector<Group> groups;
  for (const size_t ranks : settings.ranks)
  {
    for (const std::string& topology : settings.topologies)
    {
      for (const std::string& slow : settings.slow)
        groups.push_back({ ranks, topology, slow });
    }
  }
  return groups;
}

//! The runs of an algorithm in a group: what does not matter to the algorithm
//! is left out, so that groups share runs.
inline Cell CellOf(const Algorithm& algorithm, const Group& group)
{
  Cell cell;
  cell.algorithm = &algorithm;
  if (algorithm.serial)
    return cell;
  cell.ranks = group.ranks;
  cell.slow = group.slow;
  // What the default stands for depends on the machines for DASGD only.
  if (algorithm.topology)
  {
    cell.topology = (group.topology == "auto" && !HasOptimizer(*algorithm.base,
        "DASGD")) ? "complete" : group.topology;
  }
  return cell;
}

//! All cells of a study; serial SGD first, since the target may come from it.
inline std::vector<Cell> Cells(const Settings& settings)
{
  std::vector<Cell> cells;
  const auto add = [&](const Cell& cell)
  {
    if (std::find(cells.begin(), cells.end(), cell) == cells.end())
      cells.push_back(cell);
  };
  const std::vector<Group> groups = Groups(settings);
  const std::string serial = "sgd";
  const bool named = std::any_of(settings.algorithms.begin(),
      settings.algorithms.end(), [&](const Algorithm& algorithm)
      { return algorithm.name == serial; });
  if (named || FindsTarget(settings))
    add(CellOf(*FindAlgorithm(serial), groups.front()));
  for (const Group& group : groups)
  {
    for (const Algorithm& algorithm : settings.algorithms)
      add(CellOf(algorithm, group));
  }
  return cells;
}

//! Those of them to run now: what `only` names, and what the target comes from.
inline std::vector<Cell> CellsNow(const Settings& settings)
{
  std::vector<Cell> cells = Cells(settings);
  if (settings.only.empty())
    return cells;
  cells.erase(std::remove_if(cells.begin(), cells.end(), [&](const Cell& cell)
  {
    return std::find(settings.only.begin(), settings.only.end(), cell.Name()) ==
        settings.only.end() && !(cell.Name() == "sgd" && FindsTarget(settings));
  }), cells.end());
  return cells;
}

//! Seconds that a run takes besides its time budget: start, data and losses.
constexpr double Overhead = 0.4;

} // namespace study
} // namespace dasgd

#endif
