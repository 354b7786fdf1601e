/**
 * @file standing.hpp
 *
 * How the algorithms of a group compare: times, speed-ups and places, each with
 * how certain it is.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BINDINGS_STUDY_STANDING_HPP
#define DASGD_BINDINGS_STUDY_STANDING_HPP

#include "tuning.hpp"

#include <problems/other_load.hpp>

namespace dasgd {
namespace study {

//! Cores that other programs kept busy during the runs.
struct Load
{
  double mean = Unknown;
  double most = Unknown;
};

inline Load LoadOf(const Results& results)
{
  std::vector<double> loads;
  for (const Row& row : results.Rows())
    if (std::isfinite(row.Number("other_load")))
      loads.push_back(row.Number("other_load"));
  Load load;
  load.mean = Estimate(loads).mean;
  if (!loads.empty())
    load.most = *std::max_element(loads.begin(), loads.end());
  return load;
}

//! "0.55 of 2 cores busy on average, 1.5 at most".
inline std::string LoadText(const Load& load, const size_t cores)
{
  return NumberText(load.mean, 2) + " of " + Counted(cores, "core") + " busy "
      "on average, " + NumberText(load.most, 2) + " at most";
}

//! What a reader should know of them; mostly nothing.
inline std::string BusyText(const Results& results, const size_t cores)
{
  const Load load = LoadOf(results);
  if (!cli::OtherLoad::Matters(load.mean, cores) &&
      !cli::OtherLoad::Matters(load.most, 4 * cores))
    return "";
  return "Other programs kept " + LoadText(load, cores) + ", while runs were "
      "measured, so times vary more, and another study may come to another "
      "order; repeat it when those programs have ended.";
}

//! What the runs of an algorithm say.
struct Standing
{
  Cell cell;
  std::vector<Row> rows;
  //! In how many runs the target was reached, and how many came to no end.
  size_t reached = 0;
  size_t failed = 0;
  /**
   * Seconds to the target.  A run that did not reach it counts with the whole
   * time budget: leaving it out would make an algorithm the faster, the more
   * often it fails.  So this is a lower bound unless all runs reached it, and
   * its interval has no upper end: how long they would have taken is not known.
   */
  Estimate time;
  //! Gradients to the target, likewise.
  Estimate gradients;
  //! Mean time of serial SGD (see SpeedupBase()) by that of this algorithm.
  Estimate speedup;
  Place place;

  bool Bound() const { return reached < rows.size(); }
};

//! Did a run reach the target?
inline bool Reached(const Row& row)
{ return Succeeded(row) && std::isfinite(row.Number("time_to_target")); }

//! What the runs of a cell say, apart from how it compares with others.
inline Standing StandingOf(const Settings& settings,
                           const Results& results,
                           const Cell& cell)
{
  Standing standing;
  standing.cell = cell;
  standing.rows = RunsOf(settings, results, cell);
  std::vector<double> times, gradients;
  for (const Row& row : standing.rows)
  {
    const bool reached = Reached(row);
    standing.reached += reached;
    standing.failed += !Succeeded(row);
    times.push_back(reached ? row.Number("time_to_target") :
        BudgetOf(settings, cell.ranks));
    gradients.push_back(row.Number(reached ? "gradients_to_target" :
        "gradients"));
  }
  standing.time = Estimate(times);
  standing.gradients = Estimate(gradients);
  if (standing.Bound())
  {
    for (Estimate* estimate : { &standing.time, &standing.gradients })
    {
      if (estimate->HasInterval())
        estimate->high = std::numeric_limits<double>::infinity();
    }
  }
  return standing;
}

/**
 * What speed-ups are compared with: serial SGD, or, if it was not run, the
 * fastest of what was in one process on one core.
 *
 * @return Its place; that after the last if there is none.
 */
inline size_t SpeedupBase(const std::vector<Standing>& standings)
{
  size_t base = standings.size();
  for (size_t i = 0; i < standings.size(); ++i)
  {
    const Algorithm& algorithm = *standings[i].cell.algorithm;
    if (algorithm.name == "sgd")
      return i;
    if (algorithm.serial && !algorithm.allCores &&
        (base == standings.size() ||
        standings[i].time.mean < standings[base].time.mean))
      base = i;
  }
  return base;
}

/**
 * The standings of a group, in the order in which its algorithms were named.
 * Serial SGD is there in any case, if it was run.
 */
inline std::vector<Standing> Standings(const Settings& settings,
                                       const Results& results,
                                       const Group& group)
{
  const Cell serial = CellOf(*FindAlgorithm("sgd"), group);
  std::vector<Cell> cells;
  for (const Algorithm& algorithm : settings.algorithms)
    cells.push_back(CellOf(algorithm, group));
  if (!std::count(cells.begin(), cells.end(), serial))
    cells.push_back(serial);
  std::vector<Standing> standings;
  std::vector<Estimate> times;
  for (const Cell& cell : cells)
  {
    const Standing standing = StandingOf(settings, results, cell);
    if (standing.rows.empty())
      continue;
    standings.push_back(standing);
    times.push_back(standing.time);
  }
  const std::vector<Place> places = Places(times);
  const size_t base = SpeedupBase(standings);
  const bool known = base < standings.size() && !standings[base].Bound();
  for (size_t i = 0; i < standings.size(); ++i)
  {
    Standing& standing = standings[i];
    standing.place = places[i];
    if (i == base && known)
    {
      // Itself, without any doubt.
      standing.speedup.mean = 1;
    }
    else if (standing.reached > 0 && known)
      standing.speedup = Ratio(standings[base].time, standing.time);
  }
  return standings;
}

//! The fastest first; those that cannot be distinguished by their means.
inline std::vector<const Standing*> InOrder(
    const std::vector<Standing>& standings)
{
  std::vector<const Standing*> order;
  for (const Standing& standing : standings)
    order.push_back(&standing);
  std::stable_sort(order.begin(), order.end(),
      [](const Standing* a, const Standing* b)
      { return a->time.mean < b->time.mean; });
  return order;
}

//! "2 ranks, ring, rank 0 4 times slower".
inline std::string GroupName(const Settings& settings, const Group& group)
{
  std::string name = Counted(group.ranks, "rank");
  if (settings.topologies.size() > 1 || group.topology != "auto")
    name += ", " + group.topology;
  if (!group.slow.empty())
    name += ", " + SlowText(group.slow);
  return name;
}

//! "test loss 0.5" or "test accuracy 65 %".
inline std::string TargetText(const Settings& settings, const Results& results)
{
  if (ByAccuracy(settings))
    return "test accuracy " + NumberText(100 * settings.accuracy, 4) + " %";
  return "test loss " + NumberText(TargetOf(settings, results, "run"), 4);
}

/**
 * Algorithms of a group of which a run is missing, since the study was
 * interrupted or made in parts.
 */
inline std::vector<std::string> NotRunYet(const Settings& settings,
                                          const Results& results,
                                          const Group& group)
{
  std::vector<std::string> labels;
  for (const Algorithm& algorithm : settings.algorithms)
  {
    if (StandingOf(settings, results, CellOf(algorithm, group)).rows.size() <
        settings.seeds)
      labels.push_back(algorithm.label);
  }
  return labels;
}

//! The standings of a group as a table of text.
inline std::string StandingsText(const Settings& settings,
                                 const Results& results,
                                 const Group& group)
{
  const std::vector<Standing> standings = Standings(settings, results, group);
  const auto interval = [](const Standing& standing, const Estimate& estimate)
  {
    return standing.Bound() || !estimate.HasInterval() ? "" : " (" +
        NumberText(std::max(0.0, estimate.low), 3) + " to " +
        NumberText(estimate.high, 3) + ")";
  };
  std::vector<std::vector<std::string>> table = { { "Place", "Algorithm",
      "Seconds to target", "Speed-up", "Reached", "Step" } };
  for (const Standing* standing : InOrder(standings))
  {
    const bool never = (standing->reached == 0);
    const bool failed = (standing->failed == standing->rows.size());
    const std::string bound = standing->Bound() ? "at least " : "";
    table.push_back({ never ? "-" : standing->place.Text(),
        standing->cell.algorithm->label,
        failed ? "failed" : never ? "not reached" : bound +
        NumberText(standing->time.mean, 3) +
        interval(*standing, standing->time),
        never || !std::isfinite(standing->speedup.mean) ? "-" :
        (standing->Bound() ? "at most " : "") +
        NumberText(standing->speedup.mean, 3) +
        interval(*standing, standing->speedup),
        std::to_string(standing->reached) + " of " +
        std::to_string(standing->rows.size()),
        NumberText(ChosenStep(settings, results, standing->cell), 4) });
  }
  std::vector<size_t> widths(table.front().size(), 0);
  for (const auto& line : table)
  {
    for (size_t i = 0; i < line.size(); ++i)
      widths[i] = std::max(widths[i], line[i].size());
  }
  std::string text = GroupName(settings, group) + ", target: " +
      TargetText(settings, results) + "\n";
  for (const auto& line : table)
  {
    std::string row;
    for (size_t i = 0; i < line.size(); ++i)
      row += "  " + line[i] + std::string(widths[i] - line[i].size(), ' ');
    text += row.substr(0, row.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

} // namespace study
} // namespace dasgd

#endif
