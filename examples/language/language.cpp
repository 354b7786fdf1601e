/**
 * @file language.cpp
 *
 * Which language is a word of?  Softmax regression on groups of letters: sparse
 * data of ten million points, of which each rank holds only its part.
 *
 *     examples/language/fetch_words.sh
 *     mpirun -n 2 language --seconds 20
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "sparse_softmax.hpp"

#include <dasgd.hpp>

#include <CLI/CLI.hpp>

#include "../example.hpp"

#include <chrono>
#include <memory>

#include <sys/resource.h>

namespace {

using namespace example;
using Clock = std::chrono::steady_clock;

struct Settings
{
  std::string folder = WordsFolder();
  std::uint64_t points = 0;
  double testShare = 0.01;
  size_t features = 16384;
  size_t letters = 3;
  std::string optimizer = "sgd";
  double step = 0;
  size_t batch = 1024;
  double epochs = 1;
  double seconds = 0;
  std::string format = "exact";
  std::string topology = "auto";
  size_t seed = 1;
  std::string curve;
  double targetAccuracy = 0;
  bool byLanguage = false;

  bool KeepsCopies() const { return !curve.empty() || targetAccuracy > 0; }
};

void AddOptions(CLI::App& app, Settings& settings)
{
  const auto add = [&app](const char* name, auto& value, const char* what)
  { return app.add_option(name, value, what)->capture_default_str(); };
  add("--words", settings.folder, "folder with a list <language>.txt for each "
      "language, as fetch_words.sh makes it");
  add("--points", settings.points, "words to train with, from all lists alike; "
      "0: all");
  add("--test_share", settings.testShare, "share of the words that is kept for "
      "testing")->check(CLI::Range(1e-6, 0.9));
  add("--features", settings.features, "rows that groups of letters are hashed "
      "to")->check(CLI::Range(2, 1 << 24));
  add("--letters", settings.letters, "largest group of letters")
      ->check(CLI::Range(1, 8));
  add("--optimizer", settings.optimizer, "sgd or adam")
      ->check(CLI::IsMember({ "sgd", "adam" }));
  add("--step", settings.step, "step along the mean gradient of a batch; 0: "
      "30, or with adam 0.02")->check(CLI::NonNegativeNumber);
  add("--batch", settings.batch, "words in a gradient")
      ->check(CLI::PositiveNumber);
  add("--epochs", settings.epochs, "visits to each word")
      ->check(CLI::PositiveNumber);
  add("--seconds", settings.seconds, "stop after so many; 0: no limit")
      ->check(CLI::NonNegativeNumber);
  add("--format", settings.format, "how updates travel: exact, float32, "
      "bfloat16 or topk:FRACTION");
  add("--topology", settings.topology, "which ranks exchange updates");
  add("--seed", settings.seed, "of the order of words");
  add("--curve", settings.curve, "CSV file for the accuracy in the course of "
      "time");
  add("--target_accuracy", settings.targetAccuracy, "per cent of the test "
      "words; tell when it was reached")->check(CLI::Range(0, 100));
  app.add_flag("--by_language", settings.byLanguage, "tell the accuracy on the "
      "words of each language");
}

//! An error that all ranks know of, so that one of them can tell it.
struct CommonError : std::runtime_error
{
  using std::runtime_error::runtime_error;
};

//! Do something that may fail on some of the ranks; then it fails on all.
template<typename ActionType>
void OnAllRanks(const dasgd::MpiCommunicator& comm, ActionType&& action)
{
  std::string error;
  try
  {
    action();
  }
  catch (const std::exception& e)
  {
    error = e.what();
  }
  for (const std::string& text : comm.Gather(error))
  {
    if (!text.empty())
      throw CommonError(text);
  }
}

template<typename NumberType>
NumberType Sum(const std::vector<NumberType>& numbers)
{
  return std::accumulate(numbers.begin(), numbers.end(), NumberType(0));
}

//! The lists, which must be the same on all ranks.
WordLists FindWords(const dasgd::MpiCommunicator& comm,
                    const Settings& settings)
{
  std::unique_ptr<WordLists> lists;
  std::string summary;
  OnAllRanks(comm, [&]()
  {
    lists = std::make_unique<WordLists>(settings.folder, settings.testShare);
    for (const Language& language : lists->Languages())
    {
      summary += language.name + " " + std::to_string(language.training) + " " +
          std::to_string(language.test) + "\n";
    }
  });
  const std::vector<std::string> all = comm.Gather(summary);
  const std::vector<std::uint64_t> words = comm.Gather(lists->Training());
  for (size_t i = 1; i < all.size(); ++i)
  {
    if (all[i] != all[0])
    {
      throw CommonError("the word lists in " + settings.folder + " differ: "
          "rank " + std::to_string(i) + " has " + std::to_string(words[i]) +
          " words to train with, rank 0 has " + std::to_string(words[0]) +
          "; copy the same lists to all machines");
    }
  }
  const std::uint64_t wanted = (settings.points == 0) ? words[0] :
      std::min(settings.points, words[0]);
  if (wanted < comm.Size())
  {
    throw CommonError("there are " + std::to_string(wanted) + " words to train "
        "with for " + std::to_string(comm.Size()) + " ranks; use fewer ranks, "
        "or more words");
  }
  if (lists->Test() == 0)
    throw CommonError("there are no words to test; increase --test_share");
  return std::move(*lists);
}

//! Right and all test words of each language, by mlpack.
class Judge
{
 public:
  Judge(const dasgd::MpiCommunicator& comm, const Points& test) :
      comm(&comm), test(&test) { }

  //! Row 0: right answers, row 1: words; a column for each language.  All ranks
  //! must call it with the same parameters.
  arma::mat operator()(const arma::mat& parameters) const
  {
    arma::mat counts(2, parameters.n_rows, arma::fill::zeros);
    if (test->data.n_cols > 0)
    {
      // ComputeAccuracy() and Classify() without probabilities do not compile
      // for sparse data.
      arma::Row<size_t> answers;
      arma::mat probabilities;
      MakeModel(parameters).Classify(test->data, answers, probabilities);
      for (size_t i = 0; i < answers.n_elem; ++i)
      {
        counts(0, test->labels[i]) += answers[i] == test->labels[i];
        counts(1, test->labels[i]) += 1;
      }
    }
    if (comm->Size() > 1)
      comm->Sum(counts.memptr(), counts.n_elem, false);
    return counts;
  }

  //! Per cent of all test words.
  static double Accuracy(const arma::mat& counts)
  { return 100 * arma::accu(counts.row(0)) / arma::accu(counts.row(1)); }

 private:
  const dasgd::MpiCommunicator* comm;
  const Points* test;
};

//! A model in the course of training.
struct Copy
{
  double seconds;
  std::uint64_t gradients;
  arma::mat parameters;
};

//! Looks at the clock on rank 0: stops the run (ens::TimerStop does so only at
//! the end of an epoch, which takes a minute here), and keeps copies of the
//! model, which are judged when the clock has stopped.
class Watch
{
 public:
  Watch(std::vector<Copy>& copies, const Settings& settings) :
      copies(&copies), keeps(settings.KeepsCopies()), limit(settings.seconds)
  { }

  template<typename OptimizerType, typename FunctionType, typename MatType>
  void BeginOptimization(OptimizerType&, FunctionType&, MatType&)
  { begin = Clock::now(); }

  template<typename OptimizerType, typename FunctionType, typename MatType>
  bool StepTaken(OptimizerType& optimizer,
                 FunctionType&,
                 const MatType& parameters)
  {
    const double seconds =
        std::chrono::duration<double>(Clock::now() - begin).count();
    if (keeps && seconds >= next)
    {
      const dasgd::RankReport* live = optimizer.Live();
      copies->push_back({ seconds, live == nullptr ? 0 : live->applied,
          parameters });
      // Ever rarer, so that there are never many.
      next = seconds + std::max(0.1, 0.08 * seconds);
    }
    return limit > 0 && seconds >= limit;
  }

 private:
  std::vector<Copy>* copies;
  bool keeps;
  double limit;
  Clock::time_point begin;
  double next = 0;
};

} // namespace

namespace dasgd {

template<> struct OnRankZero<Watch> : std::true_type { };
template<> struct LeavesIterate<Watch> : std::true_type { };

} // namespace dasgd

namespace {

//! What a training leaves besides the model.
struct Result
{
  dasgd::Report report;
  std::vector<Copy> copies;
};

template<typename OptimizerType>
Result TrainModel(OptimizerType&& optimizer,
                  const dasgd::MpiCommunicator& comm,
                  SparseSoftmax& function,
                  arma::mat& parameters,
                  const Settings& settings)
{
  const std::uint64_t batches = Sum(comm.Gather(
      std::uint64_t(function.NumFunctions())));
  optimizer.BatchSize() = 1;
  optimizer.MaxIterations() = std::max<size_t>(1,
      size_t(settings.epochs * double(batches)));
  optimizer.Tolerance() = -1;
  optimizer.Data() = dasgd::Data::Sharded;
  optimizer.WireFormat() = settings.format;
  optimizer.Topology() = settings.topology;
  optimizer.Seed() = settings.seed;

  Result result;
  optimizer.Optimize(function, parameters, Watch(result.copies, settings));
  result.report = optimizer.Report();
  if (settings.KeepsCopies())
  {
    result.copies.push_back({ result.report.seconds,
        result.report.Gradients(), parameters });
  }
  return result;
}

//! How many elements of gradients are not zero, in per cent.
struct Density
{
  double one = 0;
  //! Of eight gradients together, as they may be summed up in one frame.
  double eight = 0;

  Density(SparseSoftmax& function, const arma::mat& parameters)
  {
    const size_t count = std::min<size_t>(8, function.NumFunctions());
    arma::mat gradient, sum(arma::size(parameters), arma::fill::zeros);
    for (size_t i = 0; i < count; ++i)
    {
      function.Gradient(parameters, i, gradient, 1);
      one += Percent(gradient) / double(count);
      sum += arma::abs(gradient);
    }
    eight = Percent(sum);
  }

  static double Percent(const arma::mat& matrix)
  { return 100 * double(arma::accu(matrix != 0)) / double(matrix.n_elem); }
};

//! The most memory that this process has held so far, in MB.
double PeakMegabytes()
{
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return double(usage.ru_maxrss) * 1024 / 1e6;
}

//! A line of the results.
template<typename... Types>
void Line(const std::string& name, const Types&... values)
{
  std::ostringstream text;
  text << std::left << std::setw(26) << name << std::fixed
      << std::setprecision(2);
  (text << ... << values);
  dasgd::RootStream() << text.str() << std::endl;
}

std::string Hex(const std::uint64_t number)
{
  std::ostringstream text;
  text << std::hex << std::setw(16) << std::setfill('0') << number;
  return text.str();
}

//! Judge the copies that rank 0 has, and tell when the target was reached.
void JudgeCopies(const dasgd::MpiCommunicator& comm,
                 const Judge& judge,
                 std::vector<Copy>& copies,
                 arma::mat parameters,
                 const Settings& settings)
{
  std::string rows = "seconds,gradients,accuracy\n";
  double reached = -1;
  const std::uint64_t count = comm.Gather(std::uint64_t(copies.size()))[0];
  for (size_t i = 0; i < count; ++i)
  {
    if (comm.Rank() == 0)
      parameters = std::move(copies[i].parameters);
    comm.Broadcast(parameters.memptr(), parameters.n_elem * sizeof(double));
    const double accuracy = Judge::Accuracy(judge(parameters));
    if (comm.Rank() != 0)
      continue;
    rows += std::to_string(copies[i].seconds) + "," +
        std::to_string(copies[i].gradients) + "," + std::to_string(accuracy) +
        "\n";
    if (reached < 0 && accuracy >= settings.targetAccuracy)
      reached = copies[i].seconds;
  }
  if (settings.targetAccuracy > 0 && reached >= 0)
    Line("seconds to target", reached, " (", settings.targetAccuracy, " %)");
  else if (settings.targetAccuracy > 0)
    Line("seconds to target", "not reached (", settings.targetAccuracy, " %)");
  if (settings.curve.empty())
    return;
  OnAllRanks(comm, [&]()
  {
    if (comm.Rank() == 0 && !(std::ofstream(settings.curve) << rows).flush())
      throw std::runtime_error("cannot write " + settings.curve);
  });
}

void LearnLanguages(const dasgd::MpiCommunicator& comm,
                    const Settings& settings)
{
  OnAllRanks(comm, [&]() { dasgd::WireFormat format(settings.format); });
  arma::arma_rng::set_seed(settings.seed);

  const Clock::time_point begin = Clock::now();
  const WordLists lists = FindWords(comm, settings);
  const size_t classes = lists.Languages().size();
  const std::uint64_t words = (settings.points == 0) ? lists.Training() :
      std::min(settings.points, lists.Training());
  Points train, test;
  OnAllRanks(comm, [&]()
  {
    train = ReadPoints(lists, { false, lists.Training(), words, comm.Rank(),
        comm.Size() }, settings.features, settings.letters);
    test = ReadPoints(lists, { true, lists.Test(), lists.Test(), comm.Rank(),
        comm.Size() }, settings.features, settings.letters);
  });
  const double reading =
      std::chrono::duration<double>(Clock::now() - begin).count();

  std::string shards;
  for (const std::uint64_t own : comm.Gather(std::uint64_t(train.data.n_cols)))
    shards += (shards.empty() ? "" : " ") + std::to_string(own);
  const std::uint64_t nonzeros = Sum(comm.Gather(
      std::uint64_t(train.data.n_nonzero)));
  Line("languages", classes);
  Line("words to train with", words, " (checksum ",
      Hex(Sum(comm.Gather(train.checksum))), ")");
  Line("words to test", Sum(comm.Gather(std::uint64_t(test.data.n_cols))),
      " (checksum ", Hex(Sum(comm.Gather(test.checksum))), ")");
  Line("words of each rank", shards);
  Line("nonzeros", nonzeros, ", ", double(nonzeros) / double(words),
      " of ", settings.features, " for each word");
  Line("seconds of reading", reading);

  SparseSoftmax function(train, classes, settings.batch);
  // Words come language by language, and on one rank the first epoch of
  // ens::SGD and of dasgd takes points as they come.
  function.Shuffle();
  arma::mat parameters(classes, settings.features + 1, arma::fill::zeros);
  const double step = settings.step > 0 ? settings.step :
      settings.optimizer == "adam" ? 0.02 : 30;
  Result result = (settings.optimizer == "adam") ?
      TrainModel(dasgd::Adam(step), comm, function, parameters, settings) :
      TrainModel(dasgd::DASGD<>(step), comm, function, parameters, settings);
  const std::uint64_t visited = Sum(comm.Gather(function.Visited()));

  // The clock has stopped.
  const dasgd::Report& report = result.report;
  std::uint64_t bytes = 0;
  for (const dasgd::RankReport& rank : report.ranks)
    bytes += rank.bytesSent;
  dasgd::RootStream() << "\n" << report << "\n";
  Line("seconds of training", report.seconds);
  Line("gradients per second", double(report.Gradients()) / report.seconds);
  Line("words per second", double(visited) / report.seconds);
  Line("words visited", visited);
  Line("MB sent", double(bytes) / 1e6, ", kB for each gradient ",
      double(bytes) / 1e3 / double(report.Gradients()));
  const Density density(function, parameters);
  Line("nonzeros of a gradient", density.one, " %, of eight together ",
      density.eight, " %");
  std::string memory;
  for (const double megabytes : comm.Gather(PeakMegabytes()))
    memory += " " + std::to_string(std::llround(megabytes));
  Line("peak MB of each rank", memory.substr(1));

  const Judge judge(comm, test);
  const arma::mat counts = judge(parameters);
  if (settings.byLanguage)
  {
    for (size_t i = 0; i < classes; ++i)
    {
      Line("  " + lists.Languages()[i].name, 100 * counts(0, i) /
          std::max(1.0, counts(1, i)), " % of ", std::uint64_t(counts(1, i)));
    }
  }
  // What knows nothing but how many words each language has.
  Line("largest language", 100 * arma::max(counts.row(1)) /
      arma::accu(counts.row(1)), " %");
  Line("test accuracy", Judge::Accuracy(counts), " %");
  if (settings.KeepsCopies())
    JudgeCopies(comm, judge, result.copies, parameters, settings);
}

} // namespace

int main(int argc, char** argv)
{
  const dasgd::MpiCommunicator comm(MPI_COMM_WORLD);
  Settings settings;
  CLI::App app("Learns to tell which language a word is of.");
  AddOptions(app, settings);
  try
  {
    app.parse(argc, argv);
    LearnLanguages(comm, settings);
  }
  catch (const CLI::ParseError& e)
  {
    return comm.Rank() == 0 ? app.exit(e) : e.get_exit_code();
  }
  catch (const CommonError& e)
  {
    return comm.Rank() == 0 ? example::Failed(e) : 1;
  }
  catch (const std::exception& e)
  {
    return example::Failed(e);
  }
}
