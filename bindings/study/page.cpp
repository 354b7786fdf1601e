/**
 * @file page.cpp
 *
 * From the table of runs to the page.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "curve.hpp"
#include "page.hpp"
#include "standing.hpp"

#include <ranks/launch.hpp>
#include <dasgd/version.hpp>

#include <armadillo>
#include <ensmallen_bits/ens_version.hpp>
#include <mlpack/core/util/version.hpp>
#include <mpi.h>

#include <ctime>
#include <filesystem>

#include <dlfcn.h>
#include <sys/utsname.h>

namespace dasgd {
namespace study {

// Made of report_page.html when the program is built.
extern const unsigned char reportPage[];
extern const size_t reportPageSize;

namespace {

//! Text of JSON, safe within a page.
std::string Quoted(const std::string& text)
{
  std::string quoted = "\"";
  for (const char c : text)
  {
    char code[8];
    if (c == '"' || c == '\\')
      quoted += std::string("\\") + c;
    else if (c == '<' || static_cast<unsigned char>(c) < 32)
    {
      std::snprintf(code, sizeof(code), "\\u%04x", static_cast<unsigned>(c));
      quoted += code;
    }
    else
      quoted += c;
  }
  return quoted + "\"";
}

std::string Number(const double value)
{
  return std::isfinite(value) ? NumberText(value, 6) : "null";
}

template<typename T, typename TextType>
std::string List(const std::vector<T>& values, TextType&& text)
{
  std::string all = "[";
  for (size_t i = 0; i < values.size(); ++i)
    all += (i == 0 ? "" : ", ") + text(values[i]);
  return all + "]";
}

using Pairs = std::vector<std::pair<std::string, std::string>>;

std::string PairList(const Pairs& pairs)
{
  return List(pairs, [](const std::pair<std::string, std::string>& pair)
      { return "[" + Quoted(pair.first) + ", " + Quoted(pair.second) + "]"; });
}

//! Mean and standard deviation of what is known.
std::string Spread(const std::vector<double>& values)
{
  const Estimate estimate(values);
  return "{\"mean\": " + Number(estimate.mean) + ", \"sd\": " +
      Number(estimate.sd) + "}";
}

//! A mean with its interval; none of both if it is not known.
std::string Interval(const Estimate& estimate)
{
  return "\"mean\": " + Number(estimate.mean) + ", \"low\": " +
      Number((estimate.low < 0) ? 0 : estimate.low) + ", \"high\": " +
      Number(estimate.high);
}

//! Mean, least and largest loss of several runs at common places.
struct Band
{
  std::vector<double> places;
  std::vector<std::string> values;

  Band(const std::vector<Curve>& curves,
       std::vector<double> Curve::* where)
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
        const double loss = curve.At(curve.*where, place);
        sum += loss;
        low = (low <= loss) ? low : loss;
        high = (high >= loss) ? high : loss;
      }
      places.push_back(place);
      values.push_back("[" + Number(sum / double(curves.size())) + ", " +
          Number(low) + ", " + Number(high) + "]");
    }
  }

  std::string Places() const { return List(places, &Number); }
  std::string Values() const
  { return List(values, [](const std::string& value) { return value; }); }
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

//! What a group says of one algorithm.
struct Entry
{
  std::string row, curve, staleness;
};

class PageMaker
{
 public:
  PageMaker(const Settings& settings, const Results& results) :
      settings(settings), results(results) { }

  std::string Json() const
  {
    const std::time_t now = std::time(nullptr);
    char created[32];
    std::strftime(created, sizeof(created), "%Y-%m-%d %H:%M",
        std::localtime(&now));
    return "{\n\"title\": " + Quoted("Study: " + settings.problem + " on " +
        settings.data) + ",\n\"created\": " + Quoted(created) +
        ",\n\"command\": " + Quoted(settings.command) + ",\n\"machine\": " +
        Quoted(Machine()) + ",\n\"settings\": " + PairList(AllSettings()) +
        ",\n\"versions\": " + PairList(Versions()) + ",\n\"groups\": " +
        List(Groups(settings), [&](const Group& group)
            { return OneGroup(group); }) + "\n}\n";
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
    if (!std::isfinite(settings.target))
    {
      replace("target_loss", (std::isfinite(target) ? NumberText(target, 4) :
          "not known") + ": what serial SGD with its best step has after a "
          "quarter of its time, or where it has made 99 % of its progress, "
          "whichever is easier; medians of the runs that chose the step");
    }
    replace("time_budget", NumberText(settings.budget, 3) + " s for each run");
    replace("timeout", NumberText(settings.timeout, 3) + " s for each run");
    pairs.emplace_back("data used", settings.remark);
    pairs.emplace_back("choice of steps", "a step is along the mean gradient "
        "of a batch; each algorithm tried every step size once on the "
        "validation points, and those up to twice as slow as the best with " +
        Counted(settings.tuningSeeds, "seed") + "; the least median time to "
        "the target won; where that was the smallest or the largest step, "
        "smaller or larger ones were tried, too; none of these runs counts");
    pairs.emplace_back("certainty", "intervals are 95 % confidence intervals "
        "of the mean over the seeds, by Student's t; algorithms whose "
        "intervals overlap are not told apart; they say nothing of how another "
        "choice of steps, or a machine that was busy with something else, "
        "would have changed the means");
    pairs.emplace_back("target not reached", "such a run counts with its whole "
        "time budget, so that the mean is a lower bound");
    pairs.emplace_back("losses", "means over the test points; computed after "
        "each run, of copies of the model that were taken while it ran");
    pairs.emplace_back("curves", "of the model of the first rank that is not "
        "slow; the last point is the model that all have in the end; mean over "
        "the seeds, on straight lines between copies; a run that has stopped "
        "counts with its last loss");
    pairs.emplace_back("throughput", "gradients per second of all ranks, as "
        "part of what as many separate processes of serial SGD reach "
        "together at the same time, with the same slow ranks");
    pairs.emplace_back("slow ranks", "wait after each gradient, and leave "
        "their core alone meanwhile");
    return pairs;
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

  std::string OneGroup(const Group& group) const
  {
    Cell cell;
    cell.ranks = group.ranks;
    cell.slow = group.slow;
    const Row* limit = results.Find(KeyOf(cell, "limit",
        settings.steps.front(), settings.seed));
    const double rate = (limit && Succeeded(*limit)) ?
        limit->Number("gradients_per_second") : Unknown;

    std::vector<Entry> entries;
    for (const Standing& standing : Standings(settings, results, group))
      entries.push_back(OneAlgorithm(standing, rate));

    std::vector<std::string> curves, staleness;
    for (const Entry& entry : entries)
    {
      if (!entry.curve.empty())
        curves.push_back(entry.curve);
      if (!entry.staleness.empty())
        staleness.push_back(entry.staleness);
    }
    const auto same = [](const std::string& text) { return text; };
    return "\n{\"name\": " + Quoted(GroupName(settings, group)) +
        ", \"ranks\": " +
        std::to_string(group.ranks) + ", \"topology\": " +
        Quoted(group.topology) + ", \"slow\": " + Quoted(group.slow) +
        ", \"oversubscribed\": " + (group.ranks > cli::Cores() ? "true" :
        "false") +
        ", \"target\": " + Number(TargetOf(settings, results,
        "run")) +
        ", \"measure\": \"test loss\",\n\"rows\": " + List(entries,
        [](const Entry& entry) { return "\n" + entry.row; }) +
        ",\n\"curves\": " + List(curves, same) + ",\n\"staleness\": " +
        List(staleness, same) + "}";
  }

  //! What a reader should know of an algorithm under these conditions.
  static std::string NoteOf(const Cell& cell)
  {
    std::string note = cell.algorithm->note;
    if (HasServer(cell.algorithm->name) &&
        SlowFactors(cell.slow, cell.ranks).front() > 1)
      note.insert(ServerNote().size(), ", so its slowness does not matter");
    return note;
  }

  Entry OneAlgorithm(const Standing& standing, const double limit) const
  {
    const Cell& cell = standing.cell;
    const std::vector<Row>& rows = standing.rows;
    std::string failure;
    std::vector<Curve> curves;
    std::vector<double> buckets;
    for (const Row& row : rows)
    {
      if (!Succeeded(row))
      {
        if (failure.empty())
          failure = row.Text("status") + ": " + row.Text("reason");
        continue;
      }
      Curve curve;
      if (!row.Text("curve").empty() && curve.Load((std::filesystem::path(
          settings.resultsDir) / row.Text("curve")).string()))
        curves.push_back(curve);
      const std::vector<std::string> counts = Split(row.Text(
          "staleness_histogram"), ';');
      buckets.resize(std::max(buckets.size(), counts.size()), 0.0);
      for (size_t i = 0; i < counts.size(); ++i)
        buckets[i] += NumberOf(counts[i]);
    }

    std::vector<double> throughput = Column(rows, "gradients_per_second");
    for (double& value : throughput)
      value /= limit;
    const auto spread = [&](const std::string& column)
    { return Spread(Column(rows, column)); };
    // Where no run has reached the target there is no time to speak of.
    const auto toTarget = [&](const Estimate& estimate)
    {
      return "{" + Interval(standing.reached > 0 ? estimate : Estimate()) +
          ", \"reached\": " + std::to_string(standing.reached) + "}";
    };

    Entry entry;
    const std::string label = Quoted(cell.algorithm->label);
    entry.row = "{\"algorithm\": " + label + ", \"note\": " +
        Quoted(NoteOf(cell)) + ", \"serial\": " +
        (cell.algorithm->serial ? "true" : "false") + ", \"place\": {" +
        "\"first\": " + std::to_string(standing.place.first) +
        ", \"last\": " + std::to_string(standing.place.last) +
        "}, \"step\": " + Number(ChosenStep(settings, results, cell)) +
        ", \"runs\": " + std::to_string(rows.size()) + ", \"failed\": " +
        std::to_string(standing.failed) + ", \"failure\": " +
        Quoted(failure) + ", \"time_to_target\": " +
        toTarget(standing.time) + ", \"gradients_to_target\": " +
        toTarget(standing.gradients) + ", \"speedup\": {" +
        Interval(standing.speedup) + "}, \"throughput\": " +
        Spread(throughput) + ", \"idle\": " + spread("idle_share") +
        ", \"bytes\": " + spread("bytes_per_gradient") +
        ", \"staleness\": " + spread("staleness_mean") +
        ", \"accuracy\": " + spread("accuracy") + "}";
    if (!curves.empty())
    {
      const Band time(curves, &Curve::seconds);
      const Band gradients(curves, &Curve::gradients);
      entry.curve = "{\"algorithm\": " + label + ", \"seconds\": " +
          time.Places() + ", \"loss_by_time\": " + time.Values() +
          ", \"gradients\": " + gradients.Places() +
          ", \"loss_by_gradients\": " + gradients.Values() + "}";
    }
    double all = 0;
    for (const double count : buckets)
      all += count;
    if (all > 0)
    {
      entry.staleness = "{\"algorithm\": " + label + ", \"buckets\": " +
          List(buckets, [&](const double count) { return Number(count / all); })
          + "}";
    }
    return entry;
  }

  const Settings& settings;
  const Results& results;
};

} // namespace

std::vector<std::pair<std::string, std::string>> Versions()
{
  Pairs versions;
  const auto add = [&](const std::string& name, const std::string& version)
  { versions.emplace_back(name, Trim(version)); };
  const auto dotted = [](const int major, const int minor, const int patch)
  {
    return std::to_string(major) + "." + std::to_string(minor) + "." +
        std::to_string(patch);
  };
  add("dasgd", dotted(DASGD_VERSION_MAJOR, DASGD_VERSION_MINOR,
      DASGD_VERSION_PATCH));
  add("mlpack", dotted(MLPACK_VERSION_MAJOR, MLPACK_VERSION_MINOR,
      MLPACK_VERSION_PATCH));
  add("ensmallen", dotted(ENS_VERSION_MAJOR, ENS_VERSION_MINOR,
      ENS_VERSION_PATCH));
  add("Armadillo", dotted(ARMA_VERSION_MAJOR, ARMA_VERSION_MINOR,
      ARMA_VERSION_PATCH));
  // Without MPI_Init(): only this may be asked before it.
  char library[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  if (MPI_Get_library_version(library, &length) == MPI_SUCCESS)
  {
    const std::string text = OneLine(std::string(library, size_t(length)));
    add("MPI", text.substr(0, std::min(text.find(','), size_t(80))));
  }
  const auto config = reinterpret_cast<const char* (*)()>(dlsym(RTLD_DEFAULT,
      "openblas_get_config"));
  add("BLAS", config ? config() : "not known");
#if defined(__VERSION__)
#if defined(__clang__)
  add("compiler", __VERSION__);
#else
  add("compiler", std::string("GCC ") + __VERSION__);
#endif
#endif
  return versions;
}

void SavePage(const Settings& settings, const Results& results)
{
  const std::string page(reinterpret_cast<const char*>(reportPage),
      reportPageSize);
  const std::string mark = "@DATA@";
  const size_t at = page.find(mark);
  if (at == std::string::npos)
    throw std::logic_error("the page of the report has no place for its data");
  const std::string json = PageMaker(settings, results).Json();
  SaveFile(settings.reportFile, [&](std::ostream& out)
      { out << page.substr(0, at) << json << page.substr(at + mark.size()); });
}

} // namespace study
} // namespace dasgd
