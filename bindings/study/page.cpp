/**
 * @file page.cpp
 *
 * From the table of runs to the page.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "curve.hpp"
#include "page.hpp"
#include "study.hpp"

#include <common/ranks.hpp>
#include <dasgd/version.hpp>

#include <armadillo>
#include <ensmallen_bits/ens_version.hpp>
#include <mlpack/core/util/version.hpp>

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
struct Summary
{
  double mean = Unknown;
  double sd = Unknown;
  size_t count = 0;

  explicit Summary(const std::vector<double>& values)
  {
    double sum = 0, squares = 0;
    for (const double value : values)
    {
      if (std::isfinite(value))
      {
        sum += value;
        ++count;
      }
    }
    if (count == 0)
      return;
    mean = sum / double(count);
    for (const double value : values)
      squares += std::isfinite(value) ? (value - mean) * (value - mean) : 0;
    if (count > 1)
      sd = std::sqrt(squares / double(count - 1));
  }

  std::string Json(const bool reached = false) const
  {
    return "{\"mean\": " + Number(mean) + ", \"sd\": " + Number(sd) +
        (reached ? ", \"reached\": " + std::to_string(count) : "") + "}";
  }
};

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

//! All runs of a cell, apart from those that chose its step.
std::vector<Row> RunsOf(const Settings& settings,
                        const Results& results,
                        const Cell& cell)
{
  std::vector<Row> rows;
  const double step = ChosenStep(settings, results, cell);
  for (size_t seed = 1; seed <= settings.seeds && std::isfinite(step); ++seed)
  {
    const Row* row = results.Find(KeyOf(cell, "run", step,
        settings.seed + seed));
    if (row)
      rows.push_back(*row);
  }
  return rows;
}

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
          "not known") + ": what ens::SGD with its best step has after half of "
          "the time budget (the median from a quarter to three quarters), in "
          "the run that chose the step");
    }
    replace("time_budget", NumberText(settings.budget, 3) + " s for each run");
    replace("timeout", NumberText(settings.timeout, 3) + " s for each run");
    pairs.emplace_back("data used", settings.remark);
    pairs.emplace_back("step sizes", "steps are along the mean gradient of a "
        "batch; each algorithm tried all of them once, with a seed that is not "
        "used again, and took the one that reached the target first on the "
        "validation points");
    pairs.emplace_back("losses", "means over the test points; computed after "
        "each run, of copies of the model that were taken while it ran");
    pairs.emplace_back("curves", "of the model of the first rank that is not "
        "slow; the last point is the model that all have in the end; mean over "
        "the seeds, on straight lines between copies; a run that has stopped "
        "counts with its last loss");
    pairs.emplace_back("throughput", "gradients per second of all ranks, as "
        "part of what as many separate ens::SGD reach together at the same "
        "time, with the same slow ranks");
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
    return Counted(std::max(1u, std::thread::hardware_concurrency()), "core") +
        (known ? std::string(", ") + name.machine : "") + (system.empty() ?
        (known ? std::string(", ") + name.sysname : "") : ", " + system);
  }

  std::string OneGroup(const Group& group) const
  {
    std::string name = Counted(group.ranks, "rank");
    if (settings.topologies.size() > 1 || group.topology != "complete")
      name += ", " + group.topology;
    if (!group.slow.empty())
      name += ", " + SlowText(group.slow);

    Cell cell;
    cell.ranks = group.ranks;
    cell.slow = group.slow;
    const Row* limit = results.Find(KeyOf(cell, "limit",
        settings.steps.front(), settings.seed));
    const double rate = (limit && Succeeded(*limit)) ?
        limit->Number("gradients_per_second") : Unknown;

    const Cell serial = CellOf(*FindAlgorithm("sgd"), group);
    const double serialTime = Summary(Column(RunsOf(settings, results, serial),
        "time_to_target")).mean;
    std::vector<Cell> cells;
    for (const Algorithm& algorithm : settings.algorithms)
      cells.push_back(CellOf(algorithm, group));
    if (!std::count(cells.begin(), cells.end(), serial))
      cells.push_back(serial);
    std::vector<Entry> entries;
    for (const Cell& of : cells)
    {
      const std::vector<Row> rows = RunsOf(settings, results, of);
      if (!rows.empty())
        entries.push_back(OneAlgorithm(of, rows, rate, serialTime));
    }

    std::vector<std::string> curves, staleness;
    for (const Entry& entry : entries)
    {
      if (!entry.curve.empty())
        curves.push_back(entry.curve);
      if (!entry.staleness.empty())
        staleness.push_back(entry.staleness);
    }
    const auto same = [](const std::string& text) { return text; };
    return "\n{\"name\": " + Quoted(name) + ", \"ranks\": " +
        std::to_string(group.ranks) + ", \"topology\": " +
        Quoted(group.topology) + ", \"slow\": " + Quoted(group.slow) +
        ", \"oversubscribed\": " + (group.ranks > std::max(1u,
        std::thread::hardware_concurrency()) ? "true" : "false") +
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

  Entry OneAlgorithm(const Cell& cell,
                     const std::vector<Row>& rows,
                     const double limit,
                     const double serialTime) const
  {
    size_t failed = 0;
    std::string failure;
    std::vector<Curve> curves;
    std::vector<double> buckets;
    for (const Row& row : rows)
    {
      if (!Succeeded(row))
      {
        ++failed;
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
    std::vector<double> speedup = Column(rows, "time_to_target");
    for (double& value : speedup)
      value = serialTime / value;
    const auto summary = [&](const std::string& column,
                             const bool reached = false)
    { return Summary(Column(rows, column)).Json(reached); };

    Entry entry;
    const std::string label = Quoted(cell.algorithm->label);
    entry.row = "{\"algorithm\": " + label + ", \"note\": " +
        Quoted(NoteOf(cell)) + ", \"step\": " +
        Number(ChosenStep(settings, results, cell)) + ", \"runs\": " +
        std::to_string(rows.size()) + ", \"failed\": " +
        std::to_string(failed) + ", \"failure\": " + Quoted(failure) +
        ", \"time_to_target\": " + summary("time_to_target", true) +
        ", \"gradients_to_target\": " + summary("gradients_to_target", true) +
        ", \"throughput\": " + Summary(throughput).Json() + ", \"idle\": " +
        summary("idle_share") + ", \"bytes\": " +
        summary("bytes_per_gradient") + ", \"staleness\": " +
        summary("staleness_mean") + ", \"accuracy\": " + summary("accuracy") +
        ", \"speedup\": " + Summary(speedup).Json() + "}";
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
