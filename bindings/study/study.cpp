/**
 * @file study.cpp
 *
 * The study as a whole: which run comes next, how it is started, and what is
 * written down.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "study.hpp"
#include "page.hpp"
#include "process.hpp"
#include "standing.hpp"

#include <launcher/launch.hpp>
#include <ranks/ranks.hpp>

#include <chrono>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <iostream>

#include <fcntl.h>
#include <sys/file.h>

namespace dasgd {
namespace study {

namespace fs = std::filesystem;

namespace {

// What is in the folder for results.  A file with this line is of a study.
const char* const Mark = "dasgd_study";
const char* const MarkValue = "1";
const char* const LockName = "dasgd_study.lock";
const char* const WorkName = "dasgd_study_work";

//! Is it a number and this ending, as the names of curves and logs are?
bool Numbered(const fs::path& path, const std::string& ending)
{
  const std::string stem = path.stem().string();
  return path.extension() == ending && !stem.empty() &&
      stem.find_first_not_of("0123456789") == std::string::npos;
}

//! Remove what a study has written, and nothing else; its settings stay.
void Forget(const fs::path& folder)
{
  std::error_code ignored;
  fs::remove(folder / "runs.csv", ignored);
  fs::remove(folder / ReportName, ignored);
  fs::remove_all(folder / WorkName, ignored);
  for (const auto& [name, ending] : { std::make_pair("curves", ".csv"),
      std::make_pair("logs", ".txt") })
  {
    std::vector<fs::path> ours;
    for (const auto& entry : fs::directory_iterator(folder / name, ignored))
    {
      if (Numbered(entry.path(), ending))
        ours.push_back(entry.path());
    }
    for (const fs::path& path : ours)
      fs::remove(path, ignored);
    // Unless something else is in it.
    fs::remove(folder / name, ignored);
  }
}

//! How the settings are kept: with the mark, and with what files were like.
Entries Kept(const Settings& settings)
{
  Entries kept;
  kept.Set(Mark, MarkValue);
  for (const auto& entry : settings.parameters.All())
    kept.Set(entry.first, entry.second);
  for (const auto& entry : settings.files.All())
    kept.Set("file:" + entry.first, entry.second);
  return kept;
}

//! May a study go on with another value of it?  Its runs stay what they were.
bool MayChange(const std::string& name)
{ return name == "seeds" || name == "algorithms"; }

//! Refuse to go on with a study of other settings.
void Compare(const Entries& before,
             const Entries& now,
             const std::string& given)
{
  std::vector<std::string> names;
  for (const Entries* entries : { &now, &before })
  {
    for (const auto& entry : entries->All())
      names.push_back(entry.first);
  }
  for (const std::string& name : names)
  {
    const std::string old = before.Text(name), text = now.Text(name);
    if ((before.Has(name) == now.Has(name) && old == text) || MayChange(name))
      continue;
    if (name.compare(0, 5, "file:") == 0)
    {
      throw std::invalid_argument("The study in " + given + " began with "
          "another file of '--" + name.substr(5) + "' (" + old + "; now " +
          text + "); give '--restart' to forget the study, or another "
          "'--results_dir'!");
    }
    throw std::invalid_argument("The study in " + given + " has " +
        (before.Has(name) ? "'--" + name + "' = '" + old + "'" : "no '--" +
        name + "'") + ", but " + (now.Has(name) ? "'" + text + "'" : "none") +
        " was asked for; " + (before.Has(name) ? "give '" + old + "'" :
        "leave it out") + " to go on with it, '--restart' to forget it, or "
        "another '--results_dir'!");
  }
}

} // namespace

std::string OnnxProgram()
{
  return (fs::path(cli::ProgramPath()).parent_path() /
      "dasgd_study_onnx").string();
}

int FolderLock::Take(const std::string& path)
{
  file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  return (file >= 0 && flock(file, LOCK_EX | LOCK_NB) == 0) ? 0 : errno;
}

void OpenFolder(const Settings& settings, const bool restart, FolderLock& lock)
{
  const fs::path folder = settings.resultsDir;
  const std::string path = (folder / "settings.txt").string();
  const std::string given = "'--results_dir' (" + settings.resultsDir + ")";
  const auto refuse = [&](const std::string& why)
  {
    throw std::invalid_argument("Invalid value of " + given + " specified: " +
        why + "!");
  };
  std::error_code failed;
  if (fs::exists(folder, failed) && !fs::is_directory(folder, failed))
    refuse("there is a file of that name; give a folder");
  Entries before;
  before.Load(path);
  if (before.Text(Mark) != MarkValue)
  {
    // Somebody's own files could have the names of ours.
    for (const auto& entry : fs::directory_iterator(folder, failed))
    {
      const std::string name = entry.path().filename().string();
      if (name != LockName)
      {
        refuse("it holds '" + name + "', but no 'settings.txt' of a study; "
            "give a folder that is new or empty");
      }
    }
  }
  fs::create_directories(folder, failed);
  if (failed)
  {
    refuse("it cannot be made (" + failed.message() + "); give a folder that "
        "you may write to");
  }
  const int problem = lock.Take((folder / LockName).string());
  if (problem == EWOULDBLOCK)
  {
    throw std::runtime_error("Another study is writing to '" +
        settings.resultsDir + "'; wait for its end, or give another "
        "'--results_dir'!");
  }
  if (problem != 0)
  {
    refuse(std::string("it cannot be written to (") + std::strerror(problem) +
        "); give another folder");
  }
  // Again: another study may have been there until now.
  before.Load(path);
  const Entries now = Kept(settings);
  if (before.Text(Mark) == MarkValue)
  {
    if (!restart)
      Compare(before, now, given);
    else
      Forget(folder);
  }
  // Last: until then, what is left is known to be of a study.
  now.Save(path);
}

namespace {

//! "3 min", "45 s".
std::string DurationText(const double seconds)
{
  if (seconds < 90)
    return std::to_string(int(std::ceil(seconds))) + " s";
  if (seconds < 90 * 60)
    return std::to_string(int(std::round(seconds / 60))) + " min";
  return NumberText(std::round(seconds / 360) / 10) + " h";
}

std::string Now()
{
  const std::time_t now = std::time(nullptr);
  char text[32];
  std::strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", std::localtime(&now));
  return text;
}

/**
 * What a process that failed said last: the line of its mistake, or else its
 * last line.
 */
std::string LastWords(const std::string& path)
{
  std::ifstream file(path);
  std::string line, last, fatal;
  while (std::getline(file, line))
  {
    // Colours are for terminals.
    for (size_t at; (at = line.find('\033')) != std::string::npos; )
    {
      const size_t end = line.find('m', at);
      line.erase(at, end == std::string::npos ? end : end - at + 1);
    }
    const size_t mark = line.find("[FATAL] ");
    if (mark != std::string::npos && fatal.empty())
      fatal = line.substr(mark + 8);
    else if (line.find_first_not_of(" -=*") != std::string::npos)
      last = line;
  }
  return OneLine(fatal.empty() ? last : fatal).substr(0, 400);
}

//! Carries out the runs of one study.
class Conductor
{
 public:
  Conductor(const Settings& settings,
            const std::function<void(const std::string&)>& prepare) :
      settings(settings), prepare(prepare),
      folder(fs::absolute(settings.resultsDir)), work(folder / WorkName),
      terminal(isatty(STDERR_FILENO))
  {
    results.Open((folder / "runs.csv").string());
    fs::create_directories(folder / "curves");
    fs::create_directories(work);
  }

  int Conduct()
  {
    // One core for each rank, as serial SGD has one: unless set otherwise.
    bool chosen = false;
    for (const char* name : { "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS",
        "GOTO_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS" })
      chosen = chosen || std::getenv(name);
    if (!chosen)
      setenv("OMP_NUM_THREADS", "1", 1);

    const Interruption interruption;
    Count();
    Announce();
    const bool complete = Runs();
    Wipe();
    SavePage(settings, results);
    if (!complete)
    {
      std::cout << "Interrupted: " << Counted(results.Rows().size(), "run")
          << " of " << Total() << (results.Rows().size() == 1 ? " is" : " are")
          << " kept in '" << settings.resultsDir
          << "', and '" << settings.reportFile << "' shows them.\nTo go on: "
          << settings.command << std::endl;
      return Interruption::Signal();
    }
    std::error_code ignored;
    fs::remove_all(work, ignored);
    Summarize();
    return 0;
  }

 private:
  //! Say what is to be run.
  void Announce() const
  {
    if (!results.Rows().empty())
    {
      std::cout << "Going on in '" << settings.resultsDir << "', where "
          << Counted(results.Rows().size(), "run") << " of " << Total()
          << (results.Rows().size() == 1 ? " was" : " were") << " kept."
          << std::endl;
    }
    if (left > 0 && !settings.simulation.wanted)
      WarnOfLoad();
    if (left > 0 && settings.simulation.wanted)
    {
      std::cout << RunsToMake() << ", on virtual time; each computes "
          "as many gradients\nas one rank does in up to " << NumberText(4 *
          settings.budget, 3) << " s." << std::endl;
    }
    else if (left > 0)
    {
      std::cout << RunsToMake() << ", of up to " << NumberText(
          settings.budget, 3) << " s each: " << DurationText(Left())
          << " if all take that long." << std::endl;
    }
  }

  //! Print the ranking, when all has been run.
  void Summarize() const
  {
    for (const Group& group : Groups(settings))
      std::cout << "\n" << StandingsText(settings, results, group);
    const std::string busy = BusyText(results, cli::Cores());
    if (!busy.empty())
      std::cout << "\n" << busy << "\n";
    if (settings.seeds == 1)
      std::cout << "\nOne run of each algorithm tells nothing apart.";
    else
    {
      std::cout << "\nIn brackets: the 95 % confidence interval of the mean "
          "over " << settings.seeds << " runs.  Algorithms whose intervals\n"
          "overlap cannot be distinguished, and share their places.";
    }
    std::cout << "  A run that did not reach\nthe target counts with its whole "
        "time budget.\n\nAll " << results.Rows().size() << " runs are in '"
        << settings.resultsDir << "/runs.csv'; look at '"
        << settings.reportFile << "' with a browser." << std::endl;
  }

  //! Times are worth little if others use the cores; the user may not know.
  static void WarnOfLoad()
  {
    double load = 0;
    if (getloadavg(&load, 1) == 1 && load > 0.5)
    {
      std::cout << "Other programs are using this machine (load average "
          << NumberText(load, 2) << "), so times will vary more, and another "
          "study may come to\nanother order; better wait until they have "
          "ended." << std::endl;
    }
  }

  //! All that has to be run, in order; false if interrupted.
  bool Runs()
  {
    const std::vector<Cell> cells = CellsNow(settings);
    // What the machine can do.
    for (const Cell& cell : LimitCells(settings))
    {
      if (!One(cell, "limit", settings.steps.front(), settings.seed))
        return false;
      // It only computes gradients: if it fails with a model that nobody has
      // checked, or that is to tell how long they take, nothing would work.
      const Row& row = *results.Find(LimitKey(settings, cell));
      if (!Succeeded(row) && (!settings.modelFile.empty() ||
          settings.simulation.wanted))
      {
        throw std::runtime_error("No algorithm would work: a run that only "
            "computes gradients failed (" + row.Text("reason") + "); see '" +
            (folder / "logs").string() + "', and start again with '--restart' "
            "when it is mended!");
      }
    }
    // Step sizes, serial SGD's first: the target comes from it.
    for (const Cell& cell : cells)
    {
      Tuning next;
      while (!(next = Tune(settings, results, cell)).done)
      {
        if (!One(cell, "tune", next.step, next.seed))
          return false;
      }
      const std::string note = StepNote(next);
      if (!note.empty())
      {
        std::cout << About(cell, "", next.step, 0) << ": " << note << " ("
            << NumberText(next.step) << "); '--step_sizes' names those to "
            "start from" << std::endl;
      }
    }
    // Seed by seed: whatever else happens to the machine meanwhile happens to
    // all algorithms.
    for (size_t i = 0; i < settings.seeds; ++i)
    {
      for (const Cell& cell : cells)
      {
        if (!One(cell, "run", ChosenStep(settings, results, cell),
            RunSeed(settings, i)))
          return false;
      }
    }
    return true;
  }

  //! One run, unless it is there; false if interrupted.
  bool One(const Cell& cell,
           const std::string& phase,
           const double step,
           const size_t seed)
  {
    const Entries key = KeyOf(cell, phase, step, seed);
    if (results.Find(key))
      return true;
    if (Interruption::Signal() != 0)
      return false;
    if (!prepared)
    {
      prepare((work / "data").string());
      prepared = true;
    }
    number = results.Rows().size() + 1;
    const std::string id = NextId();
    const bool limit = (phase == "limit");
    const std::string curve = limit ? "" : "curves/" +
        std::string(4 - std::min<size_t>(4, id.size()), '0') + id + ".csv";
    const Entries run = Order(cell, key, curve);
    run.Save(RunFile());
    std::error_code ignored;
    fs::remove(ResultFile(), ignored);

    Row row = key;
    row.Set("run", id);
    row.Set("started", Now());
    const std::string about = About(cell, phase, step, seed);
    const auto start = std::chrono::steady_clock::now();
    const auto elapsed = [&]()
    {
      return std::chrono::duration<double>(std::chrono::steady_clock::now() -
          start).count();
    };
    const cli::OtherLoad load;
    if (!Execute(cell, row, [&]() { Show(about, elapsed()); }))
      return false;
    row.Set("target_loss", ByAccuracy(settings) ? Unknown :
        run.Number("target"));
    row.Set("target_accuracy", settings.accuracy);
    row.Set("judged_on", run.Text("judged_on"));
    row.Set("oversubscribed", Oversubscribed(settings, cell.ranks) ? "yes" :
        "no");
    if (!settings.simulation.wanted)
      row.Set("other_load", NumberText(load.Cores(), 3));
    row.Set("curve", fs::exists(folder / curve, ignored) ? curve : "");
    row.Set("wall_seconds", elapsed());
    results.Add(row);
    // The limit of the machine takes a second or two, whatever a training does.
    if (!limit)
    {
      spent += elapsed();
      ++made;
    }
    Count();
    Say(about, row);
    return true;
  }

  std::string RunFile() const { return (work / "run.txt").string(); }
  std::string ResultFile() const { return (work / "result.txt").string(); }

  //! Rows may have been taken out of the table, and numbers name files.
  std::string NextId() const
  {
    size_t last = 0;
    for (const Row& row : results.Rows())
      last = std::max(last, row.Count("run"));
    return std::to_string(last + 1);
  }

  //! What the process of a run is to do.
  Entries Order(const Cell& cell,
                const Entries& key,
                const std::string& curve) const
  {
    const std::string phase = key.Text("phase");
    const bool limit = (phase == "limit");
    const bool tunes = (phase == "tune");
    const bool gives = tunes && GivesTarget(settings, cell);
    Entries run = key;
    run.Set("problem", settings.problem);
    run.Set("layers", settings.layers);
    run.Set("model_file", settings.modelFile);
    run.Set("data", (work / "data").string());
    run.Set("batch_size", std::to_string(settings.batchSize));
    run.Set("budget", limit ? std::min(settings.budget, 2.0) : tunes ?
        TryBudget(settings, results, cell, key.Count("seed")) :
        BudgetOf(settings, cell.ranks));
    run.Set("timeout", settings.timeout);
    run.Set("target", (limit || gives) ? Unknown : TargetOf(settings, results,
        phase));
    run.Set("target_measure", ByAccuracy(settings) ? "error" : "loss");
    run.Set("judged_on", tunes ? "validation" : "test");
    if (gives)
      run.Set("gives_target", "yes");
    if (settings.simulation.wanted && !limit)
    {
      run.Set("gradient_seconds", GradientSeconds(settings, results));
      run.Set("bandwidth", settings.simulation.bandwidth);
      run.Set("latency", settings.simulation.latency);
      run.Set("ranks_per_machine", std::to_string(
          settings.simulation.ranksPerMachine));
    }
    run.Set("curve_file", limit ? "" : (folder / curve).string());
    run.Set("result_file", ResultFile());
    return run;
  }

  //! Run the process, and put what it has found out into the row; false if
  //! interrupted.
  bool Execute(const Cell& cell, Row& row, const std::function<void()>& wait)
  {
    std::vector<std::string> command = { cli::ProgramPath(), "--run_file",
        RunFile() };
    if (!settings.modelFile.empty())
      command = { OnnxProgram(), RunFile() };
    if (cell.algorithm && cell.algorithm->allCores)
    {
      command.insert(command.begin(), { "env", "OMP_NUM_THREADS=" +
          std::to_string(cli::Cores()) });
    }
    std::string mpirun;
    if (cell.ranks > 1 && !settings.simulation.wanted)
    {
      mpirun = cli::PrepareMpirun(cell.ranks > cli::Cores());
      command.insert(command.begin(), { mpirun, "-n",
          std::to_string(cell.ranks) });
    }
    const std::string log = (work / "log.txt").string();
    const Ending ending = RunProcess(command, log, settings.timeout, wait);
    if (ending.interrupted)
      return false;
    if (ending.startError != 0)
    {
      Wipe();
      throw std::runtime_error(mpirun.empty() ? "'" + command[0] + "' cannot "
          "be started (" + std::strerror(ending.startError) + ")!" :
          cli::MpirunProblem(mpirun, std::strerror(ending.startError)) + "!");
    }
    Entries result;
    if (ending.Fine() && result.Load(ResultFile()))
    {
      for (const auto& entry : result.All())
        row.Set(entry.first, entry.second);
      return true;
    }
    row.Set("status", ending.timeout ? "timeout" : "failed");
    row.Set("reason", ending.timeout ? "not done after " +
        DurationText(settings.timeout) : Failure(ending, log));
    std::error_code ignored;
    fs::create_directories(folder / "logs", ignored);
    fs::rename(log, folder / "logs" / (row.Text("run") + ".txt"), ignored);
    return true;
  }

  //! Why a process failed.
  static std::string Failure(const Ending& ending, const std::string& log)
  {
    const std::string words = LastWords(log);
    const std::string how = (ending.signal != 0) ? "ended by signal " +
        std::to_string(ending.signal) + " (" + strsignal(ending.signal) + ")" :
        (ending.status != 0) ? "exit status " + std::to_string(ending.status) :
        "it left no result";
    return how + (words.empty() ? "" : ": " + words);
  }

  static std::string About(const Cell& cell,
                           const std::string& phase,
                           const double step,
                           const size_t seed)
  {
    std::string text = (phase == "limit") ? "limit of the machine" :
        cell.algorithm->label;
    if (phase == "limit" || !cell.algorithm->serial)
      text += ", " + Counted(cell.ranks, "rank");
    if (!cell.topology.empty() && cell.topology != "complete" &&
        cell.topology != "auto")
      text += ", " + cell.topology;
    if (!cell.slow.empty())
      text += ", slow " + cell.slow;
    if (phase == "tune")
    {
      text += ", step " + NumberText(step) + ", seed " + std::to_string(seed) +
          " (tuning)";
    }
    else if (phase == "run")
      text += ", seed " + std::to_string(seed);
    return text;
  }

  //! Seconds that the runs to make still take: as long as those before, or,
  //! before the first, as long as they may.
  double Left() const
  {
    const double each = (made > 0) ? spent / double(made) :
        settings.budget + Overhead;
    return each * double(left);
  }

  //! How many runs are left after those that were made.
  void Count() { left = RunsLeft(settings, results, exact); }

  std::string Total() const
  {
    return (exact ? "" : "about ") + std::to_string(results.Rows().size() +
        left);
  }

  std::string RunsToMake() const
  { return (exact ? "" : "about ") + Counted(left, "run") + " to make"; }

  //! A line for a run that has ended.
  void Say(const std::string& about, const Row& row)
  {
    const std::string status = row.Text("status");
    const bool accuracy = ByAccuracy(settings);
    const std::string target = row.Text(accuracy ? "target_accuracy" :
        "target_loss");
    const std::string loss = (accuracy ? "accuracy " : "loss ") +
        NumberText(row.Number(accuracy ? "accuracy" : "loss"), 4);
    const std::string seconds = NumberText(row.Number("seconds"), 3) + " s";
    std::string text;
    if (row.Text("phase") == "limit" && Succeeded(row))
    {
      text = NumberText(row.Number("gradients_per_second"), 4) +
          " gradients/s";
    }
    else if (status == "target")
    {
      text = "target " + NumberText(NumberOf(target), 4) + " after " +
          NumberText(row.Number("time_to_target"), 3) + " s";
    }
    else if (status == "ok")
    {
      text = loss + " after " + seconds + (target.empty() ? "" :
          ", target " + NumberText(NumberOf(target), 4) + " not reached");
    }
    else
      text = status + ": " + row.Text("reason");
    Wipe();
    std::cout << "[" << number << " of " << Total() << "] " << about << ": "
        << text << (left == 0 || made == 0 ? "" :
            "; " + DurationText(Left()) + " left")
        << std::endl;
  }

  //! On a terminal: what runs now.
  void Show(const std::string& about, const double seconds)
  {
    if (!terminal)
      return;
    Wipe();
    const std::string line = "[" + std::to_string(number) + " of " + Total() +
        "] " + about + ": " + std::to_string(int(seconds)) + " s";
    shown = line.size();
    std::fputs(line.c_str(), stderr);
    std::fflush(stderr);
  }

  void Wipe()
  {
    if (shown > 0)
    {
      std::fputs(("\r" + std::string(shown, ' ') + "\r").c_str(), stderr);
      std::fflush(stderr);
    }
    shown = 0;
  }

  const Settings& settings;
  const std::function<void(const std::string&)>& prepare;
  fs::path folder;
  //! For the points and for the run of the moment.
  fs::path work;
  bool terminal;
  Results results;
  bool prepared = false;
  size_t number = 0;
  size_t made = 0;
  //! Runs to make still, and is that their exact number?
  size_t left = 0;
  bool exact = true;
  double spent = 0;
  size_t shown = 0;
};

} // namespace

int Conduct(const Settings& settings,
            const std::function<void(const std::string&)>& prepare)
{ return Conductor(settings, prepare).Conduct(); }

} // namespace study
} // namespace dasgd
