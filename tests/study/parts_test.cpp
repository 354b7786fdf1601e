/**
 * @file parts_test.cpp
 *
 * How a study chooses steps and its target, ends a run, and compares
 * algorithms: on tables of runs that were never made.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include <study/result_files.hpp>
#include <study/standing.hpp>
#include <study/watch.hpp>

#include "catch.hpp"

#include <functional>

namespace fs = std::filesystem;
using dasgd::cli::SameFile;
using namespace dasgd::study;

namespace {

//! A folder that is gone at the end.
class Folder
{
 public:
  Folder()
  {
    std::string name = (fs::temp_directory_path() /
        "dasgd_study_XXXXXX").string();
    REQUIRE(mkdtemp(&name[0]) != nullptr);
    path = name;
  }
  ~Folder() { fs::remove_all(path); }

  std::string operator/(const std::string& name) const
  { return (path / name).string(); }

 private:
  fs::path path;
};

//! A study of DASGD and serial SGD with a target that is given.
Settings SmallSettings()
{
  Settings settings;
  settings.algorithms = { *FindAlgorithm("dasgd"), *FindAlgorithm("sgd") };
  settings.ranks = { 2 };
  settings.topologies = { "complete" };
  settings.slow = { "" };
  settings.steps = { 0.1, 0.2, 0.4 };
  settings.seeds = 3;
  settings.tuningSeeds = 3;
  settings.target = 0.5;
  settings.budget = 2;
  return settings;
}

//! A table of runs that were made up.
class Table
{
 public:
  explicit Table(const Settings& settings) : settings(settings)
  {
    this->settings.resultsDir = folder / "";
    results.Open(folder / "runs.csv");
  }

  Cell CellFor(const std::string& name) const
  {
    return CellOf(*FindAlgorithm(name), Groups(settings).front());
  }

  /**
   * Try steps until one is chosen.
   *
   * @param time Seconds to the target of a step's try, counted from 0; below 0
   *     if it is not reached.
   */
  double Choose(const std::string& name,
                const std::function<double(double, size_t)>& time,
                const std::string& status = "",
                const std::function<double(double)>& lossMissed =
                    [](double) { return 0.6; })
  {
    const Cell cell = CellFor(name);
    for (size_t i = 0; i < 200; ++i)
    {
      const Tuning tuning = Tune(settings, results, cell);
      if (tuning.done)
        return tuning.step;
      Row row = KeyOf(cell, "tune", tuning.step, tuning.seed);
      const double seconds = time(tuning.step, tuning.seed - settings.seed);
      row.Set("status", !status.empty() ? status : (seconds < 0) ? "ok" :
          "target");
      row.Set("time_to_target", (seconds < 0) ? Unknown : seconds);
      row.Set("loss", (seconds < 0) ? lossMissed(tuning.step) : 0.5);
      results.Add(row);
      ++tries[tuning.step];
    }
    FAIL("there is no end to it");
    return 0;
  }

  //! What is said of the choice of a step.
  std::string Note(const std::string& name) const
  { return StepNote(Tune(settings, results, CellFor(name))); }

  //! Runs that count, with the first step; below 0 if not reached.
  void Run(const std::string& name, const std::vector<double>& times)
  {
    const Cell cell = CellFor(name);
    const double step = ChosenStep(settings, results, cell);
    for (size_t i = 0; i < times.size(); ++i)
    {
      Row row = KeyOf(cell, "run", step, RunSeed(settings, i));
      row.Set("status", times[i] < 0 ? "ok" : "target");
      row.Set("time_to_target", times[i] < 0 ? Unknown : times[i]);
      row.Set("gradients", 1000.0);
      results.Add(row);
    }
  }

  //! A try of serial SGD that gives a target.
  void Reference(const double step,
                 const size_t seed,
                 const std::string& losses,
                 const std::string& test)
  {
    Row row = KeyOf(CellFor("sgd"), "tune", step, seed);
    row.Set("status", "ok");
    row.Set("reference_losses", losses);
    row.Set("reference_test_losses", test);
    results.Add(row);
  }

  Standing Of(const std::string& name) const
  {
    for (const Standing& standing : Standings(settings, results,
        Groups(settings).front()))
    {
      if (standing.cell.Name() == name)
        return standing;
    }
    FAIL("no runs of " + name);
    return Standing();
  }

  Settings settings;
  Folder folder;
  Results results;
  std::map<double, size_t> tries;
};

} // namespace

TEST_CASE("A step is chosen by the median, not by a lucky try", "[study]")
{
  Table table(SmallSettings());
  const double step = table.Choose("dasgd", [](const double step,
                                               const size_t i)
  {
    if (step == 0.4)
      return (i == 0) ? 0.1 : 0.9;
    return (step == 0.2) ? 0.15 : 0.18;
  });
  REQUIRE(step == 0.2);
  REQUIRE(table.tries == std::map<double, size_t>{ { 0.1, 3 }, { 0.2, 3 },
      { 0.4, 3 } });
}

TEST_CASE("Of steps that are about as good, the shortest is taken", "[study]")
{
  Table table(SmallSettings());
  REQUIRE(table.Choose("dasgd", [](const double step, size_t)
      { return (step < 0.15) ? 0.2 : (step < 0.3) ? 0.105 : 0.1; }) == 0.2);
}

TEST_CASE("Steps that are far behind are tried once", "[study]")
{
  Table table(SmallSettings());
  const double step = table.Choose("dasgd", [](const double step, size_t)
      { return (step == 0.2) ? 0.2 : (step == 0.1) ? 0.35 : 0.9; });
  REQUIRE(step == 0.2);
  REQUIRE(table.tries == std::map<double, size_t>{ { 0.1, 3 }, { 0.2, 3 },
      { 0.4, 1 } });
}

TEST_CASE("A try that does not reach the target counts as endless", "[study]")
{
  Table table(SmallSettings());
  const double step = table.Choose("dasgd", [](const double step,
                                               const size_t i)
  {
    if (step == 0.4)
      return (i == 1) ? -1.0 : (i == 2) ? -1.0 : 0.1;
    return (step == 0.2) ? 0.15 : 0.2;
  });
  REQUIRE(step == 0.2);
}

TEST_CASE("The grid grows where the best step is at its end", "[study]")
{
  for (const double best : { 0.025, 0.05, 0.2, 0.8, 1.6 })
  {
    Table table(SmallSettings());
    const double step = table.Choose("dasgd", [&](const double step, size_t)
        { return 0.1 + 0.05 * std::abs(std::log2(step / best)); });
    REQUIRE(step == Approx(best));
    // A neighbour on each side was tried.
    REQUIRE(table.tries.begin()->first < 0.9 * step);
    REQUIRE(table.tries.rbegin()->first > 1.1 * step);
    REQUIRE(table.Note("dasgd") == "");
  }
}

TEST_CASE("The grid does not grow for ever, nor without a reason", "[study]")
{
  Table longer(SmallSettings());
  REQUIRE(longer.Choose("dasgd", [](const double step, size_t)
      { return 1 / (1 + step); }) == Approx(0.4 * 32));
  REQUIRE(longer.Note("dasgd") == "its step is the longest of 8 that were "
      "tried, so another may be better");
  // All diverge: shorter steps may not.
  Table wild(SmallSettings());
  REQUIRE(wild.Choose("dasgd", [](double, size_t) { return -1.0; },
      "diverged") == Approx(0.1 / 32));
  REQUIRE(wild.Note("dasgd").find("no step was found") == 0);
  REQUIRE(wild.Note("dasgd").find("8 steps from 0.003125 to 0.4") !=
      std::string::npos);
  // All fail: shorter steps would, too.
  Table broken(SmallSettings());
  REQUIRE(broken.Choose("dasgd", [](double, size_t) { return -1.0; },
      "failed") == 0.1);
  REQUIRE(broken.Note("dasgd") == "");
  REQUIRE(broken.results.Rows().size() == 3);
}

TEST_CASE("If no step gets to the target, shorter ones are tried", "[study]")
{
  // A longer step has the least loss, but stays above the target.
  const auto loss = [](const double step)
  { return 0.5 + std::abs(step - 0.2); };
  Table steady(SmallSettings());
  REQUIRE(steady.Choose("dasgd", [](const double step, size_t)
      { return (step < 0.06) ? 0.1 / step : -1.0; }, "", loss) ==
      Approx(0.05));
  REQUIRE(steady.Note("dasgd") == "");

  // None does: a shorter one is tried as often as the others, and it is said.
  Table none(SmallSettings());
  REQUIRE(none.Choose("dasgd", [](double, size_t) { return -1.0; }, "",
      loss) == 0.2);
  REQUIRE(none.tries == std::map<double, size_t>{ { 0.025, 3 }, { 0.05, 3 },
      { 0.1, 3 }, { 0.2, 3 }, { 0.4, 1 } });
  REQUIRE(none.Note("dasgd") == "no step was found with which most tries reach "
      "the target; of 5 steps from 0.025 to 0.4 this one had the least loss");
}

TEST_CASE("The default topology is one of DASGD", "[study]")
{
  const Group group{ 2, "auto", "" };
  REQUIRE(CellOf(*FindAlgorithm("dasgd_adam"), group).topology == "auto");
  REQUIRE(CellOf(*FindAlgorithm("dpsgd"), group).topology == "complete");
  REQUIRE(CellOf(*FindAlgorithm("allreduce"), group).topology == "");
}

TEST_CASE("A single step needs no choice", "[study]")
{
  Settings settings = SmallSettings();
  settings.steps = { 0.3 };
  Table table(settings);
  REQUIRE(table.Choose("dasgd", [](double, size_t) { return 1.0; }) == 0.3);
  REQUIRE(table.Note("dasgd") == "");
  REQUIRE(table.results.Rows().empty());
}

TEST_CASE("Algorithms with an update policy", "[study]")
{
  const std::vector<std::pair<std::string, double>> policies = {
      { "momentum", 0.1 }, { "nesterov", 0.1 }, { "adam", 0.01 },
      { "rmsprop", 0.01 } };
  for (const std::string base : { "dasgd", "allreduce", "sgd" })
  {
    const Algorithm& plain = *FindAlgorithm(base);
    for (const auto& policy : policies)
    {
      const Algorithm* const found = FindAlgorithm(base == "sgd" ?
          policy.first : base + "_" + policy.first);
      REQUIRE(found);
      CHECK(found->base->name == base);
      CHECK(found->policy == policy.first);
      CHECK(found->stepScale == policy.second);
      CHECK_FALSE(found->usual);
      CHECK(found->serial == plain.serial);
      CHECK(found->topology == plain.topology);
    }
  }
  CHECK(FindAlgorithm("dasgd_nesterov")->label == "DASGD (Nesterov)");
  CHECK(FindAlgorithm("rmsprop")->label == "serial SGD (RMSProp)");
  CHECK(FindAlgorithm("nesterov")->note == "one process, on one core; "
      "Nesterov's momentum 0.9");
  CHECK(WithNumber(*FindAlgorithm("local_momentum"), "4").label ==
      "LocalSGD (momentum, period 4)");
  CHECK(WithNumber(*FindAlgorithm("local"), "4").label ==
      "LocalSGD (period 4)");
  for (const std::string name : { "ps_adam", "local_nesterov", "sgd_momentum" })
    CHECK_FALSE(FindAlgorithm(name));
}

TEST_CASE("Runs that count have seeds that chose nothing", "[study]")
{
  const Settings settings = SmallSettings();
  for (size_t i = 0; i < settings.seeds; ++i)
    REQUIRE(RunSeed(settings, i) == settings.seed + 3 + i);
}

TEST_CASE("The target is what serial SGD passes early", "[study]")
{
  Settings settings = SmallSettings();
  settings.target = Unknown;
  Table table(settings);
  REQUIRE(std::isnan(TargetOf(table.settings, table.results, "tune")));
  // Start, a quarter, the end: medians of three tries, then the best step.
  const size_t seed = settings.seed;
  table.Reference(0.1, seed, "2;0.9;0.7", "3;1.9;1.7");
  table.Reference(0.2, seed, "2;0.6;0.4", "3;1.6;1.0");
  table.Reference(0.2, seed + 1, "2;0.41;0.4", "3;1.62;1.0");
  table.Reference(0.2, seed + 2, "2;0.405;0.1", "3;1.7;1.0");
  // 1 % of the progress from 2 to 0.4 is left, and the quarter is below that.
  REQUIRE(TargetOf(table.settings, table.results, "tune") == Approx(0.416));
  // On the test points a quarter of the time does not suffice for that.
  REQUIRE(TargetOf(table.settings, table.results, "run") == Approx(1.62));
  // Whoever gives a target gets it.
  table.settings.target = 0.25;
  REQUIRE(TargetOf(table.settings, table.results, "run") == 0.25);
}

TEST_CASE("Speed-up is the ratio of mean times", "[study]")
{
  Settings settings = SmallSettings();
  settings.steps = { 0.1 };
  Table table(settings);
  table.Run("sgd", { 0.4, 0.6, 0.8 });
  table.Run("dasgd", { 0.29, 0.30, 0.31 });
  // The mean of the mean time by each time would be 1.08.
  REQUIRE(table.Of("sgd").speedup.mean == 1);
  REQUIRE_FALSE(table.Of("sgd").speedup.HasInterval());
  REQUIRE(table.Of("dasgd").speedup.mean == Approx(2));
  const Estimate time = table.Of("dasgd").time;
  REQUIRE(time.mean == Approx(0.3));
  const double half = 4.303 * 0.01 / std::sqrt(3.0);
  REQUIRE(time.high - time.mean == Approx(half));
  REQUIRE(time.mean - time.low == Approx(half));
  const Estimate speedup = table.Of("dasgd").speedup;
  REQUIRE(speedup.low == Approx((0.6 - 20 * half) / (0.3 + half)));
  REQUIRE(speedup.high == Approx((0.6 + 20 * half) / (0.3 - half)));
}

TEST_CASE("A run that does not reach the target is not left out", "[study]")
{
  Settings settings = SmallSettings();
  settings.steps = { 0.1 };
  Table table(settings);
  table.Run("sgd", { 0.50, 0.51, 0.52 });
  table.Run("dasgd", { 0.1, -1, -1 });
  const Standing lucky = table.Of("dasgd");
  REQUIRE(lucky.reached == 1);
  REQUIRE(lucky.Bound());
  // The budget is 2 s.
  REQUIRE(lucky.time.mean == Approx((0.1 + 2 + 2) / 3));
  REQUIRE(lucky.speedup.mean < 1);
  const auto standings = Standings(table.settings, table.results,
      Groups(table.settings).front());
  REQUIRE(InOrder(standings).front()->cell.Name() == "sgd");
  const std::string text = StandingsText(table.settings, table.results,
      Groups(table.settings).front());
  // No interval: two of the times are not known.
  REQUIRE(text.find("at least 1.37  ") != std::string::npos);
  REQUIRE(text.find("1 of 3") != std::string::npos);
}

TEST_CASE("A run without an end leaves open who is faster", "[study]")
{
  Settings settings = SmallSettings();
  settings.steps = { 0.1 };
  // Nearly the budget of 2 s, in which two runs did not suffice.
  Table table(settings);
  table.Run("sgd", { 2.50, 2.51, 2.52 });
  table.Run("dasgd", { 1.98, -1, -1 });
  REQUIRE(table.Of("dasgd").place.Text() == "1-2");
  Table sure(settings);
  sure.Run("sgd", { 2.50, 2.51, 2.52 });
  sure.Run("dasgd", { 1.98, 1.99, 1.99 });
  REQUIRE(sure.Of("dasgd").place.Text() == "1");
  // It is behind whoever is faster than its lower end.
  Table behind(settings);
  behind.Run("sgd", { 0.50, 0.51, 0.52 });
  behind.Run("dasgd", { 1.98, -1, -1 });
  REQUIRE(behind.Of("dasgd").place.Text() == "2");
}

TEST_CASE("Whoever never reaches the target is behind", "[study]")
{
  Settings settings = SmallSettings();
  settings.steps = { 0.1 };
  Table table(settings);
  table.Run("sgd", { 0.50, 0.51, 0.52 });
  table.Run("dasgd", { -1, -1, -1 });
  REQUIRE(table.Of("sgd").place.Text() == "1");
  REQUIRE(table.Of("dasgd").place.Text() == "2");
  REQUIRE(std::isnan(table.Of("dasgd").speedup.mean));
}

TEST_CASE("Means whose intervals overlap share their places", "[study]")
{
  // 0.1 to 0.3, 0.25 to 0.35, 0.4 to 0.6, about.
  const std::vector<Estimate> all = { Estimate({ 0.16, 0.20, 0.24 }),
      Estimate({ 0.28, 0.30, 0.32 }), Estimate({ 0.46, 0.50, 0.54 }) };
  REQUIRE(all[0].high > all[1].low);
  REQUIRE(all[1].high < all[2].low);
  const std::vector<Place> places = Places(all);
  REQUIRE(places[0].Text() == "1-2");
  REQUIRE(places[1].Text() == "1-2");
  REQUIRE(places[2].Text() == "3");
  // One run says nothing of a mean.
  const std::vector<Place> single = Places({ Estimate({ 0.1 }),
      Estimate({ 9.0 }) });
  REQUIRE(single[0].Text() == "1-2");
  REQUIRE(single[1].Text() == "1-2");
}

TEST_CASE("A ratio holds 1 if its means cannot be distinguished", "[study]")
{
  const Estimate fast({ 0.20, 0.21, 0.22 });
  for (const double far : { 0.02, 0.03, 0.05, 0.1, 0.2 })
  {
    const Estimate slow({ 0.20 + far, 0.21 + far, 0.24 + far });
    const Estimate ratio = Ratio(slow, fast);
    REQUIRE(ratio.mean > 1);
    REQUIRE(ratio.high > ratio.mean);
    REQUIRE((ratio.low > 1) == fast.Below(slow));
  }
  // Nothing is known of what is divided by about 0.
  REQUIRE_FALSE(Ratio(fast, Estimate({ 0.1, 0.9, 0.1 })).HasInterval());
}

TEST_CASE("Student's t", "[study]")
{
  REQUIRE(StudentQuantile(9) == Approx(2.262));
  REQUIRE(StudentQuantile(40) == Approx(2.021).margin(0.001));
  REQUIRE(StudentQuantile(1000) == Approx(1.962).margin(0.001));
}

TEST_CASE("Large numbers are whole, without an exponent", "[study]")
{
  REQUIRE(NumberText(79.637, 4) == "79.64");
  REQUIRE(NumberText(11862.3, 4) == "11862");
  REQUIRE(NumberText(99.7, 2) == "100");
  REQUIRE(NumberText(-123456.7, 3) == "-123457");
  REQUIRE(NumberText(Unknown).empty());
}

TEST_CASE("How many runs are left", "[study]")
{
  Table table(SmallSettings());
  bool exact = true;
  REQUIRE(RunsLeft(table.settings, table.results, exact) > 3 + 3 + 6 + 6);
  REQUIRE_FALSE(exact);
  for (const std::string name : { "sgd", "dasgd" })
  {
    table.Choose(name, [&](const double step, size_t)
        { return 0.1 + std::abs(step - 0.2); });
  }
  // A limit and three runs of each.
  REQUIRE(RunsLeft(table.settings, table.results, exact) == 7);
  REQUIRE(exact);
  table.Run("sgd", { 1, 1, 1 });
  REQUIRE(RunsLeft(table.settings, table.results, exact) == 4);
}

TEST_CASE("What other programs do to the machine", "[study]")
{
  std::istringstream stat("cpu  100 20 30 4000 500 6 7 8 9 10\ncpu0 1 2 3\n");
  REQUIRE(dasgd::cli::BusySeconds(stat) * double(sysconf(_SC_CLK_TCK)) ==
      Approx(100 + 20 + 30 + 6 + 7 + 8));
  std::istringstream other("no such thing");
  REQUIRE(std::isnan(dasgd::cli::BusySeconds(other)));

  Table table(SmallSettings());
  REQUIRE(BusyText(table.results, 2) == "");
  const auto run = [&](const double load)
  {
    Row row = KeyOf(table.CellFor("dasgd"), "run", 0.1,
        table.results.Rows().size());
    row.Set("other_load", load);
    table.results.Add(row);
  };
  run(0.05);
  run(Unknown);
  run(0.1);
  REQUIRE(LoadOf(table.results).mean == Approx(0.075));
  REQUIRE(BusyText(table.results, 2) == "");
  run(1.5);
  const std::string text = BusyText(table.results, 2);
  REQUIRE(text.find("0.55 of 2 cores busy on average, 1.5 at most") !=
      std::string::npos);
}

TEST_CASE("The same file, by any path or link", "[study]")
{
  const Folder folder;
  std::ofstream(folder / "a") << "1";
  std::ofstream(folder / "b") << "1";
  fs::create_symlink(folder / "a", folder / "symbolic");
  fs::create_hard_link(folder / "a", folder / "hard");
  fs::create_directory(folder / "inner");
  for (const std::string name : { "a", "symbolic", "hard", "./a", "inner/../a",
      "inner/.././symbolic" })
    REQUIRE(SameFile(folder / "a", folder / name));
  REQUIRE_FALSE(SameFile(folder / "a", folder / "b"));
  REQUIRE_FALSE(SameFile(folder / "a", folder / "new"));
  REQUIRE(SameFile(folder / "new", folder / "inner/../new"));
}

TEST_CASE("A run ends soon after its target, even if few points were too good "
    "before", "[study]")
{
  double clock = 0;
  Watch watch(100, &clock);
  const arma::mat model(1, 1, arma::fill::zeros);
  // All points are below the target from 30 s on.
  watch.Observe(model, 10, 0.35, [&](const arma::mat&, const bool all)
  { return (clock >= 30) ? 0.3 : all ? 0.5 : 0.2; });
  watch.Start();
  while (!watch.Step(model, 1))
    clock += 0.5;
  CHECK(clock >= 30);
  CHECK(clock < 40);
}
