/**
 * @file page.cpp
 *
 * From the table of runs to the page.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "page.hpp"
#include "curve.hpp"
#include "standing.hpp"

#include <launcher/launch.hpp>
#include <page/filled_page.hpp>
#include <page/page_json.hpp>

#include <ctime>
#include <filesystem>

#include <sys/utsname.h>

namespace dasgd {
namespace study {

// Made of report.js and what is in page/ when the program is built.
extern const unsigned char reportPage[];
extern const size_t reportPageSize;

namespace {

Json Number(const double value) { return PageNumber(value); }

Json Numbers(const std::vector<double>& values)
{
  Json all = Json::array();
  for (const double value : values)
    all.push_back(Number(value));
  return all;
}

//! Mean and standard deviation of what is known.
Json Spread(const std::vector<double>& values)
{
  const Estimate estimate(values);
  return { { "mean", Number(estimate.mean) }, { "sd", Number(estimate.sd) } };
}

//! A mean with its interval; none of both if it is not known, and no interval
//! of what is a bound only.
Json Interval(const Estimate& estimate, const bool bound)
{
  return { { "mean", Number(estimate.mean) },
      { "low", Number(bound ? Unknown : (estimate.low < 0) ? 0 :
          estimate.low) },
      { "high", Number(bound ? Unknown : estimate.high) } };
}

//! Mean, least and largest loss, or part of wrong answers, of several runs at
//! common places.
struct Band
{
  Json places = Json::array();
  Json values = Json::array();

  Band(const std::vector<Curve>& curves,
       std::vector<double> Curve::* where,
       const bool errors)
  {
    double end = 0;
    for (const Curve& curve : curves)
      end = std::max(end, (curve.*where).back());
    constexpr size_t count = 48;
    for (size_t i = 0; i <= count && !curves.empty(); ++i)
    {
      // Denser at the start, as the copies are.
      const double place = end * std::pow(double(i) / double(count), 2);
      double sum = 0, low = Unknown, high = Unknown;
      for (const Curve& curve : curves)
      {
        const double loss = Curve::At(errors ? curve.Errors() : curve.losses,
            curve.*where, place);
        sum += loss;
        low = (low <= loss) ? low : loss;
        high = (high >= loss) ? high : loss;
      }
      places.push_back(Number(place));
      values.push_back(Numbers({ sum / double(curves.size()), low, high }));
    }
  }
};

//! The column of all runs that came to an end.
std::vector<double> Column(const std::vector<Row>& rows,
                           const std::string& name)
{
  std::vector<double> values;
  for (const Row& row : rows)
  {
    if (Succeeded(row))
      values.push_back(row.Number(name));
  }
  return values;
}

//! How the first run failed that did.
std::string Failure(const std::vector<Row>& rows)
{
  for (const Row& row : rows)
  {
    if (!Succeeded(row))
      return row.Text("status") + ": " + row.Text("reason");
  }
  return "";
}

std::string Today()
{
  const std::time_t now = std::time(nullptr);
  char text[32];
  std::strftime(text, sizeof(text), "%Y-%m-%d %H:%M", std::localtime(&now));
  return text;
}

//! What a group says of one algorithm; curve and staleness may be null.
struct Entry
{
  Json row, curve, staleness;
};

class PageMaker
{
 public:
  PageMaker(const Settings& settings, const Results& results) :
      settings(settings), results(results) { }

  //! The data of the page.
  Json Data() const
  {
    Json groups = Json::array();
    for (const Group& group : Groups(settings))
      groups.push_back(OneGroup(group));
    return {
        { "title", "Study: " + (settings.modelFile.empty() ? settings.problem :
            std::filesystem::path(settings.modelFile).filename().string()) +
            " on " + settings.data },
        { "created", Today() },
        { "command", settings.command },
        { "machine", settings.simulation.wanted ? VirtualMachine() :
            Machine() },
        { "warning", BusyText(results, cli::Cores()) },
        { "settings", PageTable(AllSettings()) },
        { "versions", PageTable(Versions()) },
        { "groups", groups } };
  }

 private:
  Pairs AllSettings() const
  {
    Pairs pairs = settings.parameters.All();
    const double target = TargetOf(settings, results, "run");
    const auto replace = [&](const std::string& name, const std::string& value)
    {
      for (auto& pair : pairs)
      {
        if (pair.first == name)
          pair.second = value;
      }
    };
    if (FindsTarget(settings))
    {
      replace("target_loss", (std::isfinite(target) ? NumberText(target, 4) :
          "not known") + ": what serial SGD with its best step has after a "
          "quarter of its time, or where it has made 99 % of its progress, "
          "whichever is easier; medians of the runs that chose the step");
    }
    replace("time_budget", NumberText(settings.budget, 3) + " s for each run" +
        (settings.simulation.wanted ? ", but four times as many gradients as "
        "one rank can compute in it are enough" : ""));
    replace("timeout", NumberText(settings.timeout, 3) + " s for each run");
    pairs.emplace_back("data used", settings.remark);
    pairs.emplace_back("choice of steps", std::string("a step is along the "
        "mean gradient of a batch; ") + (settings.steps.size() == 1 ? "it was "
        "given (a tenth of it with momentum, a hundredth with Adam and "
        "RMSProp), and nothing else was tried" : "each algorithm tried every "
        "step size once on the validation points, and those up to twice as "
        "slow as the best with " +
        Counted(settings.tuningSeeds, "seed") + "; the least median time to "
        "the target won, or a shorter step at most a tenth slower; where that "
        "was the smallest or the largest step, smaller or larger ones were "
        "tried, too; none of these runs counts"));
    pairs.emplace_back("certainty", "intervals are 95 % confidence intervals "
        "of the mean over the seeds, by Student's t; algorithms whose "
        "intervals overlap cannot be distinguished; they say nothing of how "
        "another choice of steps, or a machine that was busy with something "
        "else, would have changed the means");
    pairs.emplace_back("target not reached", "such a run counts with its whole "
        "time budget, so that the mean is a lower bound");
    pairs.emplace_back("losses", "means over the test points; computed after "
        "each run, of copies of the model that were taken while it ran");
    pairs.emplace_back("curves", "of the model of the first rank that is not "
        "slow; the last point is the model that all have in the end; mean over "
        "the seeds, on straight lines between copies; a run that has stopped "
        "counts with its last loss");
    pairs.emplace_back("throughput", std::string("gradients per second of all "
        "ranks, as part of what ") + (settings.simulation.wanted ? "they could "
        "compute if they never waited" : "as many separate processes of serial "
        "SGD reach together at the same time, with the same slow ranks"));
    if (settings.simulation.wanted)
      pairs.emplace_back("virtual time", SimulationText());
    else
    {
      const Load load = LoadOf(results);
      pairs.emplace_back("other programs", std::isfinite(load.mean) ? "kept " +
          LoadText(load, cli::Cores()) + ", during the runs" : "what they did "
          "is not known");
      pairs.emplace_back("slow ranks", "wait after each gradient, and leave "
          "their core alone meanwhile");
    }
    return pairs;
  }

  //! What the ranks are that there are not.
  std::string SimulationText() const
  {
    const Simulation& simulation = settings.simulation;
    return "one process computed the gradients of all ranks, in the order in "
        "which they would on such machines: " +
        Counted(simulation.ranksPerMachine, "rank") + " on each machine, a "
        "gradient in " + NumberText(1e3 * GradientSeconds(settings, results), 3)
        + " ms give or take " + NumberText(100 * SimulatedSpread, 3) + " %, "
        "between machines " + NumberText(simulation.bandwidth, 4) + " Mbit/s "
        "and " + NumberText(1e6 * simulation.latency, 3) + " us for a message, "
        "to apply an update " +
        NumberText(1e9 * SimulatedSecondsPerParameter, 3) + " ns for each "
        "parameter; gradients and messages are real, seconds are not";
  }

  //! The same in a few words.
  std::string VirtualMachine() const
  {
    // Not known while it has not been measured.
    const double seconds = GradientSeconds(settings, results);
    return "simulated on virtual time: " + (std::isfinite(seconds) ?
        "a gradient takes " + NumberText(1e3 * seconds, 3) + " ms, " : "") +
        NumberText(settings.simulation.bandwidth, 4) + " Mbit/s between "
        "machines";
  }

  static std::string Machine()
  {
    std::string system;
    std::ifstream file("/etc/os-release");
    for (std::string line; std::getline(file, line); )
    {
      const std::string key = "PRETTY_NAME=";
      if (line.compare(0, key.size(), key) == 0)
        system = line.substr(key.size());
    }
    system.erase(std::remove(system.begin(), system.end(), '"'), system.end());
    struct utsname name;
    const bool known = uname(&name) == 0;
    return Counted(cli::Cores(), "core") +
        (known ? std::string(", ") + name.machine : "") + (system.empty() ?
        (known ? std::string(", ") + name.sysname : "") : ", " + system);
  }

  Json OneGroup(const Group& group) const
  {
    const double rate = LimitOf(settings, results, group);
    Json rows = Json::array(), curves = Json::array(),
        staleness = Json::array();
    for (const Standing& standing : Standings(settings, results, group))
    {
      const Entry entry = OneAlgorithm(standing, rate);
      rows.push_back(entry.row);
      if (!entry.curve.is_null())
        curves.push_back(entry.curve);
      if (!entry.staleness.is_null())
        staleness.push_back(entry.staleness);
    }
    return {
        { "name", GroupName(settings, group) },
        { "ranks", group.ranks },
        { "topology", group.topology },
        { "slow", group.slow },
        { "oversubscribed", Oversubscribed(settings, group.ranks) },
        { "target", Number(TargetOf(settings, results, "run")) },
        { "measure", ByAccuracy(settings) ? "test error" : "test loss" },
        { "target_text", TargetText(settings, results) },
        { "rows", rows },
        { "curves", curves },
        { "staleness", staleness },
        { "not_run_yet", NotRunYet(settings, results, group) } };
  }

  //! What a reader should know of an algorithm under these conditions.
  std::string NoteOf(const Cell& cell) const
  {
    std::string note = cell.algorithm->note;
    if (cell.algorithm->HasServer() &&
        SlowFactors(cell.slow, cell.ranks).front() > 1)
    {
      note.insert(std::string(DASGD_STUDY_SERVER).size(), ", so its slowness "
          "does not matter");
    }
    const std::string step = StepNote(Tune(settings, results, cell));
    return note + (note.empty() || step.empty() ? "" : "; ") + step;
  }

  //! The mean curve of all runs; null if there is none.
  Json CurveOf(const std::string& label, const std::vector<Row>& rows) const
  {
    std::vector<Curve> curves;
    for (const Row& row : rows)
    {
      Curve curve;
      if (Succeeded(row) && !row.Text("curve").empty() && curve.Load((
          std::filesystem::path(settings.resultsDir) / row.Text("curve")).
          string()))
        curves.push_back(curve);
    }
    if (curves.empty())
      return Json();
    const bool errors = ByAccuracy(settings);
    const Band time(curves, &Curve::seconds, errors);
    const Band gradients(curves, &Curve::gradients, errors);
    return {
        { "algorithm", label },
        { "seconds", time.places },
        { "loss_by_time", time.values },
        { "gradients", gradients.places },
        { "loss_by_gradients", gradients.values } };
  }

  //! How often each staleness was met; null if none was.
  static Json StalenessOf(const std::string& label,
                          const std::vector<Row>& rows)
  {
    std::vector<double> buckets;
    for (const Row& row : rows)
    {
      if (!Succeeded(row))
        continue;
      const std::vector<std::string> counts = Split(row.Text(
          "staleness_histogram"), ';');
      buckets.resize(std::max(buckets.size(), counts.size()), 0.0);
      for (size_t i = 0; i < counts.size(); ++i)
        buckets[i] += NumberOf(counts[i]);
    }
    double all = 0;
    for (const double count : buckets)
      all += count;
    if (!(all > 0))
      return Json();
    for (double& count : buckets)
      count /= all;
    return { { "algorithm", label }, { "buckets", Numbers(buckets) } };
  }

  Entry OneAlgorithm(const Standing& standing, const double limit) const
  {
    const Cell& cell = standing.cell;
    const std::vector<Row>& rows = standing.rows;
    std::vector<double> throughput = Column(rows, "gradients_per_second");
    for (double& value : throughput)
      value /= limit;
    const auto spread = [&](const std::string& column)
    { return Spread(Column(rows, column)); };
    // If no run has reached the target, no time to it is known.
    const auto toTarget = [&](const Estimate& estimate)
    {
      Json interval = Interval(standing.reached > 0 ? estimate :
          Estimate(), standing.Bound());
      interval["reached"] = standing.reached;
      return interval;
    };

    Entry entry;
    const std::string label = cell.algorithm->label;
    entry.row = {
        { "algorithm", label },
        { "note", NoteOf(cell) },
        { "serial", cell.algorithm->serial },
        { "place", { { "first", standing.place.first },
            { "last", standing.place.last } } },
        { "step", Number(ChosenStep(settings, results, cell)) },
        { "step_found", Tune(settings, results, cell).found },
        { "runs", rows.size() },
        { "failed", standing.failed },
        { "failure", Failure(rows) },
        { "time_to_target", toTarget(standing.time) },
        { "gradients_to_target", toTarget(standing.gradients) },
        { "speedup", Interval(standing.speedup, standing.Bound()) },
        { "throughput", Spread(throughput) },
        { "idle", spread("idle_share") },
        { "bytes", spread("bytes_per_gradient") },
        { "staleness", spread("staleness_mean") },
        { "accuracy", spread("accuracy") } };
    entry.curve = CurveOf(label, rows);
    entry.staleness = StalenessOf(label, rows);
    return entry;
  }

  const Settings& settings;
  const Results& results;
};

} // namespace

bool Oversubscribed(const Settings& settings, const size_t ranks)
{ return !settings.simulation.wanted && ranks > cli::Cores(); }

namespace {

std::string TextOf(const Json& data)
{
  // Texts of failures may hold anything.
  return data.dump(1, ' ', false, Json::error_handler_t::replace);
}

void Fill(const std::string& file, const Json& data)
{
  SaveFilledPage(file, std::string(reinterpret_cast<const char*>(reportPage),
      reportPageSize), TextOf(data));
}

} // namespace

void SavePage(const Settings& settings, const Results& results)
{
  const Json data = PageMaker(settings, results).Data();
  Fill(settings.reportFile, data);
  SaveFile((std::filesystem::path(settings.resultsDir) / ReportName).string(),
      [&](std::ostream& out) { out << TextOf(data) << "\n"; });
}

void SavePageOf(const std::vector<std::string>& folders,
                const std::string& file)
{
  Json studies = Json::array(), groups = Json::array();
  for (const std::string& folder : folders)
  {
    std::ifstream input((std::filesystem::path(folder) / ReportName).string());
    Json one = Json::parse(input, nullptr, false);
    if (!one.is_object() || !one["groups"].is_array() ||
        !one["title"].is_string())
    {
      throw std::invalid_argument("Invalid value of '--studies' specified: '" +
          folder + "' has no file '" + ReportName + "' of a study; name "
          "folders that were given by '--results_dir', and give the command of "
          "an older study again, which writes that file!");
    }
    for (Json& group : one["groups"])
    {
      group["study"] = studies.size();
      groups.push_back(group);
    }
    one.erase("groups");
    studies.push_back(one);
  }
  Fill(file, {
      { "title", std::to_string(folders.size()) + (folders.size() == 1 ?
          " study" : " studies") },
      { "created", Today() }, { "studies", studies }, { "groups", groups } });
}

} // namespace study
} // namespace dasgd
