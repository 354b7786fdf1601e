/**
 * @file tuning.hpp
 *
 * The step of each algorithm and the loss to reach: both follow from the table
 * of runs alone, so that a study that goes on comes to the same.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BINDINGS_STUDY_TUNING_HPP
#define DASGD_BINDINGS_STUDY_TUNING_HPP

#include "curve.hpp"
#include "plan.hpp"
#include "results.hpp"
#include "statistics.hpp"

namespace dasgd {
namespace study {

//! The columns by which a run of a cell is found.
inline Entries KeyOf(const Cell& cell,
                     const std::string& phase,
                     const double step,
                     const size_t seed)
{
  Entries key;
  key.Set("phase", phase);
  key.Set("algorithm", cell.Name());
  key.Set("ranks", std::to_string(cell.ranks));
  key.Set("topology", cell.topology);
  key.Set("slow", cell.slow);
  key.Set("step_size", NumberText(step));
  key.Set("seed", std::to_string(seed));
  return key;
}

//! Is it a run of that cell?
inline bool OfCell(const Row& row, const std::string& phase, const Cell& cell)
{
  return row.Text("phase") == phase && row.Text("algorithm") == cell.Name() &&
      row.Count("ranks") == cell.ranks &&
      row.Text("topology") == cell.topology && row.Text("slow") == cell.slow;
}

//! Processes that compute as much as they can: what the machine can do.  On
//! virtual time one says how long a gradient takes, unless that was given.
inline std::vector<Cell> LimitCells(const Settings& settings)
{
  if (settings.simulation.wanted)
  {
    return std::vector<Cell>(settings.simulation.gradientSeconds > 0 ? 0 : 1,
        Cell());
  }
  std::vector<Cell> cells;
  for (const size_t ranks : settings.ranks)
  {
    for (const std::string& slow : settings.slow)
    {
      cells.emplace_back();
      cells.back().ranks = ranks;
      cells.back().slow = slow;
    }
  }
  return cells;
}

inline Entries LimitKey(const Settings& settings, const Cell& cell)
{ return KeyOf(cell, "limit", settings.steps.front(), settings.seed); }

//! Gradients per second that such processes computed; not a number if that is
//! not known.
inline double LimitRate(const Settings& settings,
                        const Results& results,
                        const Cell& cell)
{
  const Row* row = results.Find(LimitKey(settings, cell));
  return (row && Succeeded(*row)) ? row->Number("gradients_per_second") :
      Unknown;
}

//! Seconds that a gradient takes on virtual time.
inline double GradientSeconds(const Settings& settings, const Results& results)
{
  const double given = settings.simulation.gradientSeconds;
  return (given > 0) ? given : 1 / LimitRate(settings, results, Cell());
}

//! The most gradients per second that are possible under these conditions.
inline double LimitOf(const Settings& settings,
                      const Results& results,
                      const Group& group)
{
  if (!settings.simulation.wanted)
  {
    Cell cell;
    cell.ranks = group.ranks;
    cell.slow = group.slow;
    return LimitRate(settings, results, cell);
  }
  double rate = 0;
  for (const double factor : SlowFactors(group.slow, group.ranks))
    rate += 1 / (factor * GradientSeconds(settings, results));
  return rate;
}

//! Does the target come from these tries?
inline bool GivesTarget(const Settings& settings, const Cell& cell)
{ return cell.Name() == "sgd" && FindsTarget(settings); }

//! Part of serial SGD's progress that is left at the target.
constexpr double ProgressLeft = 0.01;

/**
 * The loss to reach, or the part of wrong answers if an accuracy is to be
 * reached; not a number while it is not known.
 *
 * Unless it was given, it is what serial SGD has after a quarter of its time,
 * or where it has made all but 1 % of its progress, whichever is easier.  The
 * first leaves time to algorithms that are slower.  The second keeps off the
 * flat end of the curve, where noise decides when a loss is reached, if at all.
 * Each is the best of all steps, and of a step the median of all tries.
 *
 * @param phase "tune": on the validation points; "run": on the test points.
 */
inline double TargetOf(const Settings& settings,
                       const Results& results,
                       const std::string& phase)
{
  if (ByAccuracy(settings))
    return 1 - settings.accuracy;
  if (std::isfinite(settings.target))
    return settings.target;
  const std::string name = FindAlgorithm("sgd")->name;
  const std::string column = (phase == "tune") ? "reference_losses" :
      "reference_test_losses";
  std::vector<double> starts;
  std::map<std::string, std::pair<std::vector<double>, std::vector<double>>>
      bySteps;
  for (const Row& row : results.Rows())
  {
    const std::vector<std::string> losses = Split(row.Text(column), ';');
    if (row.Text("phase") != "tune" || row.Text("algorithm") != name ||
        !Succeeded(row) || losses.size() != 3)
      continue;
    starts.push_back(NumberOf(losses[0]));
    auto& step = bySteps[row.Text("step_size")];
    step.first.push_back(NumberOf(losses[1]));
    step.second.push_back(NumberOf(losses[2]));
  }
  double quarter = Unknown, end = Unknown;
  for (const auto& step : bySteps)
  {
    const double losses[] = { Median(step.second.first),
        Median(step.second.second) };
    quarter = (quarter <= losses[0]) ? quarter : losses[0];
    end = (end <= losses[1]) ? end : losses[1];
  }
  if (!std::isfinite(quarter) || !std::isfinite(end))
    return Unknown;
  const double progress = std::max(0.0, Median(starts) - end);
  // Three digits are enough, and can be read.
  return NumberOf(NumberText(std::max(quarter, end + ProgressLeft * progress),
      3));
}

//! How good a step is: by its time to the target, or else by its loss.
struct StepScore
{
  double time = std::numeric_limits<double>::infinity();
  double loss = std::numeric_limits<double>::infinity();

  bool operator<(const StepScore& other) const
  { return time < other.time || (time == other.time && loss < other.loss); }
};

//! How far the choice of a step has come.
struct Tuning
{
  //! Is there nothing left to try?  Then the step is the one to take.
  bool done = false;
  //! The step to try next, or the chosen one.
  double step = Unknown;
  //! The seed to try it with.
  size_t seed = 0;
  //! All steps that were, or are to be, tried at least once.
  std::vector<double> grid;
  //! Might a step beyond the grid, which grows no further, be better still?
  bool atEnd = false;
  //! Did most tries of the chosen step get to the target?
  bool found = true;
};

namespace detail {

//! How many steps may be added at each end of the grid: a factor of 32.
constexpr size_t MostAdded = 5;

//! How many times as slow as the best a step may be to be tried again.
constexpr double StillInTheRace = 2;

//! And to be as good as the best: the shorter one is then the safer one.
constexpr double AsGood = 1.1;

//! The tries of one cell.
class Tries
{
 public:
  Tries(const Settings& settings, const Results& results, const Cell& cell) :
      settings(settings), results(results), cell(cell),
      target(GivesTarget(settings, cell) ? TargetOf(settings, results, "tune") :
          Unknown)
  { }

  const Row* Find(const double step, const size_t number) const
  {
    return results.Find(KeyOf(cell, "tune", step, settings.seed + number));
  }

  //! Is there a step not tried yet with this seed, counted from 0?  It is next.
  bool Missing(const std::vector<double>& steps,
               const size_t number,
               Tuning& tuning) const
  {
    for (const double step : steps)
    {
      if (Find(step, number))
        continue;
      tuning.step = step;
      tuning.seed = settings.seed + number;
      return true;
    }
    return false;
  }

  //! The median of the first few tries; those that are not there are left out.
  StepScore Of(const double step, const size_t count) const
  {
    std::vector<double> times, losses;
    for (size_t i = 0; i < count; ++i)
    {
      if (const Row* row = Find(step, i))
      {
        times.push_back(OrInfinite(Time(*row)));
        losses.push_back(OrInfinite(!Succeeded(*row) ? Unknown :
            ByAccuracy(settings) ? 1 - row->Number("accuracy") :
            row->Number("loss")));
      }
    }
    StepScore score;
    score.time = OrInfinite(Median(times));
    score.loss = OrInfinite(Median(losses));
    return score;
  }

  //! Did every try fail in a way that has nothing to do with its step?
  bool Hopeless(const std::vector<double>& grid) const
  {
    return std::all_of(grid.begin(), grid.end(), [&](const double step)
    {
      const std::string status = Find(step, 0)->Text("status");
      return status == "failed" || status == "timeout";
    });
  }

 private:
  static double OrInfinite(const double value)
  {
    return std::isfinite(value) ? value :
        std::numeric_limits<double>::infinity();
  }

  //! Tries that give the target were not stopped by it: their curves tell.
  double Time(const Row& row) const
  {
    if (!Succeeded(row))
      return Unknown;
    if (!GivesTarget(settings, cell))
      return row.Number("time_to_target");
    Curve curve;
    return curve.Load(settings.resultsDir + "/" + row.Text("curve")) ?
        curve.Crossing(curve.losses, curve.seconds, target) : Unknown;
  }

  const Settings& settings;
  const Results& results;
  const Cell& cell;
  double target;
};

/**
 * The steps that are tried with all seeds: the best of those that were tried
 * once, and those that were in the race before, whose tries count.
 *
 * @param joined Steps that are tried because no other got there.
 */
inline std::vector<double> RaceOf(const std::vector<double>& grid,
                                  const std::vector<double>& joined,
                                  const Tries& tries,
                                  const size_t seeds)
{
  // Equal ones keep their order: the shorter step is the safer one.
  std::vector<double> race = grid;
  std::stable_sort(race.begin(), race.end(),
      [&](const double a, const double b)
      { return tries.Of(a, 1) < tries.Of(b, 1); });
  // Two at least: one that was unlucky once may be the better one.
  const double limit = StillInTheRace * tries.Of(race.front(), 1).time;
  size_t count = std::min<size_t>(2, race.size());
  while (count < race.size() && std::isfinite(limit) &&
      tries.Of(race[count], 1).time <= limit)
    ++count;
  race.resize(count);
  for (const double step : grid)
  {
    if ((std::find(joined.begin(), joined.end(), step) != joined.end() ||
        tries.Find(step, seeds - 1)) &&
        std::find(race.begin(), race.end(), step) == race.end())
      race.push_back(step);
  }
  return race;
}

//! The best step of a race, or a shorter one that is as good.
inline void ChooseStep(const std::vector<double>& race,
                       const Tries& tries,
                       const size_t seeds,
                       Tuning& tuning)
{
  StepScore best;
  tuning.step = race.front();
  for (const double step : race)
  {
    const StepScore score = tries.Of(step, seeds);
    if (score < best)
    {
      best = score;
      tuning.step = step;
    }
  }
  for (const double step : race)
  {
    if (step < tuning.step && tries.Of(step, seeds).time <=
        AsGood * best.time && std::isfinite(best.time))
      tuning.step = step;
  }
  tuning.found = std::isfinite(best.time);
}

//! The place in the grid of the longest step below this one that has not been
//! in the race, plus one; 0 if there is none.
inline size_t BelowRace(const std::vector<double>& grid,
                        const std::vector<double>& race,
                        const double step)
{
  size_t next = size_t(std::find(grid.begin(), grid.end(), step) -
      grid.begin());
  while (next > 0 && std::find(race.begin(), race.end(), grid[next - 1]) !=
      race.end())
    --next;
  return next;
}

/**
 * If no step of the race reaches the target, let the next shorter one join it,
 * until two are no better.
 *
 * @param below How many steps were added to the grid at its lower end.
 * @return Whether one has joined.
 */
inline bool Join(const std::vector<double>& race,
                 Tuning& tuning,
                 std::vector<double>& joined,
                 size_t& below)
{
  if (tuning.found || (joined.size() >= 2 &&
      std::find(joined.end() - 2, joined.end(), tuning.step) == joined.end()))
    return false;
  std::vector<double>& grid = tuning.grid;
  size_t next = BelowRace(grid, race, tuning.step);
  if (next == 0 && below < MostAdded)
  {
    grid.insert(grid.begin(), grid.front() / 2);
    ++below;
    next = 1;
  }
  if (next > 0)
    joined.push_back(grid[next - 1]);
  return next > 0;
}

//! Let the grid grow where the best step is at its end; returns whether it did.
inline bool Grow(Tuning& tuning, size_t& below, size_t& above)
{
  std::vector<double>& grid = tuning.grid;
  if (tuning.step == grid.front() && below < MostAdded)
  {
    grid.insert(grid.begin(), tuning.step / 2);
    ++below;
    return true;
  }
  if (tuning.step == grid.back() && above < MostAdded)
  {
    grid.push_back(tuning.step * 2);
    ++above;
    return true;
  }
  return false;
}

} // namespace detail

/**
 * The step of a cell, or what to try next to find it.
 *
 * Every step of the grid is tried once.  Those that are not more than twice as
 * slow as the best are tried with the other seeds, too, and the least median
 * time wins, or that of a shorter step within a tenth of it; a try that does
 * not reach the target counts as endless.  If the winner is the smallest or the
 * largest of the grid, the grid grows there, by a factor of 2, and the race
 * goes on.  If no step of the race reaches the target in most of its tries, the
 * next shorter one joins it, and others after it until two are no better: a
 * long step may have the least loss and still stay above the target.
 */
inline Tuning Tune(const Settings& settings,
                   const Results& results,
                   const Cell& cell)
{
  Tuning tuning;
  tuning.grid = settings.steps;
  for (double& step : tuning.grid)
    step *= cell.algorithm->stepScale;
  std::sort(tuning.grid.begin(), tuning.grid.end());
  std::vector<double>& grid = tuning.grid;
  const bool choice = grid.size() > 1;
  tuning.step = grid.front();
  if (!choice && !GivesTarget(settings, cell))
  {
    tuning.done = true;
    return tuning;
  }
  const detail::Tries tries(settings, results, cell);
  size_t below = 0, above = 0;
  // Steps that are tried because no other got there.
  std::vector<double> joined;
  while (true)
  {
    if (tries.Missing(grid, 0, tuning))
      return tuning;
    if (tries.Hopeless(grid))
      break;
    const std::vector<double> race = detail::RaceOf(grid, joined, tries,
        settings.tuningSeeds);
    for (size_t i = 1; i < settings.tuningSeeds; ++i)
    {
      if (tries.Missing(race, i, tuning))
        return tuning;
    }
    detail::ChooseStep(race, tries, settings.tuningSeeds, tuning);
    if (choice && detail::Join(race, tuning, joined, below))
      continue;
    if (!choice || !detail::Grow(tuning, below, above))
    {
      tuning.atEnd = choice && (tuning.step == grid.front() ||
          tuning.step == grid.back());
      break;
    }
  }
  tuning.done = true;
  return tuning;
}

//! What a reader should know of the choice of a step; mostly nothing.
inline std::string StepNote(const Tuning& tuning)
{
  if (!tuning.found)
  {
    return "no step was found with which most tries reach the target; of " +
        Counted(tuning.grid.size(), "step") + " from " +
        NumberText(tuning.grid.front(), 4) + " to " +
        NumberText(tuning.grid.back(), 4) + " this one had the least loss";
  }
  if (!tuning.atEnd)
    return "";
  return std::string("its step is the ") + (tuning.step == tuning.grid.front() ?
      "shortest" : "longest") + " of " + std::to_string(tuning.grid.size()) +
      " that were tried, so another may be better";
}

//! Seconds that a try may take: the first one of a step that is out of the race
//! by then is not followed further, unless the target comes from it.
inline double TryBudget(const Settings& settings,
                        const Results& results,
                        const Cell& cell,
                        const size_t seed)
{
  double budget = BudgetOf(settings, cell.ranks);
  if (GivesTarget(settings, cell) || seed != settings.seed)
    return budget;
  for (const Row& row : results.Rows())
  {
    if (OfCell(row, "tune", cell) && Succeeded(row) &&
        std::isfinite(row.Number("time_to_target")))
    {
      budget = std::min(budget, detail::StillInTheRace *
          row.Number("time_to_target"));
    }
  }
  return budget;
}

//! The step that was chosen for a cell; not a number if there is none yet.
inline double ChosenStep(const Settings& settings,
                         const Results& results,
                         const Cell& cell)
{
  const Tuning tuning = Tune(settings, results, cell);
  return tuning.done ? tuning.step : Unknown;
}

//! The seed of a run that counts, from 0 on: not used to choose steps.
inline size_t RunSeed(const Settings& settings, const size_t number)
{ return settings.seed + settings.tuningSeeds + number; }

//! The runs of a cell that count, as far as they were made.
inline std::vector<Row> RunsOf(const Settings& settings,
                               const Results& results,
                               const Cell& cell)
{
  std::vector<Row> rows;
  const double step = ChosenStep(settings, results, cell);
  for (size_t i = 0; i < settings.seeds && std::isfinite(step); ++i)
  {
    const Row* row = results.Find(KeyOf(cell, "run", step,
        RunSeed(settings, i)));
    if (row)
      rows.push_back(*row);
  }
  return rows;
}

/**
 * How many tries the step of a cell takes, about: that is not known before.
 */
inline size_t LikelyTries(const Settings& settings, const Cell& cell)
{
  const size_t steps = settings.steps.size();
  if (steps == 1)
    return GivesTarget(settings, cell) ? settings.tuningSeeds : 0;
  return steps + 1 + 3 * (settings.tuningSeeds - 1);
}

/**
 * How many runs there are still to make.
 *
 * @param exact Set to false if that is an estimate.
 */
inline size_t RunsLeft(const Settings& settings,
                       const Results& results,
                       bool& exact)
{
  size_t left = 0;
  exact = true;
  for (const Cell& cell : LimitCells(settings))
    left += !results.Find(LimitKey(settings, cell));
  for (const Cell& cell : CellsNow(settings))
  {
    left += settings.seeds - RunsOf(settings, results, cell).size();
    if (Tune(settings, results, cell).done)
      continue;
    exact = false;
    size_t made = 0;
    for (const Row& row : results.Rows())
      made += OfCell(row, "tune", cell);
    left += std::max(LikelyTries(settings, cell), made + 1) - made;
  }
  return left;
}

} // namespace study
} // namespace dasgd

#endif
