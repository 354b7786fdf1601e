/**
 * @file program.cpp
 *
 * A program that knows nothing of ranks: what users of mlpack write.  Compiled
 * with `-include dasgd/drop_in.hpp`; see run.py, which starts it with mpirun
 * and reads what it prints.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include <mlpack.hpp>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <sstream>

//! Counts the steps that this process takes.
struct CountSteps
{
  size_t& steps;

  template<typename OptimizerType, typename FunctionType, typename MatType>
  bool StepTaken(OptimizerType&, FunctionType&, const MatType&)
  {
    ++steps;
    return false;
  }
};

//! A number that two matrices have in common only if all their bits are equal.
template<typename MatType>
size_t Hash(const MatType& values)
{
  return std::hash<std::string_view>()(std::string_view(
      reinterpret_cast<const char*>(values.memptr()),
      values.n_elem * sizeof(*values.memptr())));
}

//! Train a classifier, keep the best, save it, use it.
void Train(const std::string& file, const size_t seed)
{
  mlpack::RandomSeed(seed);

  // Three clouds of points, of different sizes, which overlap.
  const size_t points = 1200;
  arma::mat data(8, points, arma::fill::randn);
  arma::Row<size_t> labels(points);
  for (size_t i = 0; i < points; ++i)
  {
    labels[i] = i % 3;
    data.col(i) *= 1.0 + 0.5 * double(labels[i]);
    data.col(i) += 1.5 * double(labels[i]);
  }
  arma::mat trainData, validData;
  arma::Row<size_t> trainLabels, validLabels;
  mlpack::data::Split(data, labels, trainData, validData, trainLabels,
      validLabels, 0.25);
  const arma::mat trainTargets = arma::conv_to<arma::mat>::from(trainLabels);
  const arma::mat validTargets = arma::conv_to<arma::mat>::from(validLabels);

  mlpack::FFN<mlpack::NegativeLogLikelihood, mlpack::GlorotInitialization>
      model;
  model.Add<mlpack::Linear>(16);
  // With a moving average of its statistics: the mean over all batches, which
  // is the default, holds those of the first models, and accuracies scatter.
  model.Add<mlpack::BatchNorm>(0, 0, 1e-8, false, 0.1);
  model.Add<mlpack::ReLU>();
  model.Add<mlpack::Linear>(3);
  model.Add<mlpack::LogSoftMax>();

  ens::Adam optimizer(0.01, 30, 0.9, 0.999, 1e-8, 8 * trainData.n_cols, 1e-8);
  ens::StoreBestCoordinates<arma::mat> best;
  size_t steps = 0;
  CountSteps count{ steps };
  size_t looks = 0;
  model.Train(trainData, trainTargets, optimizer, ens::PrintLoss(),
      ens::ProgressBar(), ens::EarlyStopAtMinLoss(
      [&](const arma::mat&)
      {
        ++looks;
        return model.Evaluate(validData, validTargets);
      }, 20), best, count);

  const auto accuracy = [&](size_t& hash)
  {
    arma::mat output;
    model.Predict(validData, output);
    hash = Hash(output);
    size_t right = 0;
    for (size_t i = 0; i < output.n_cols; ++i)
      right += (output.col(i).index_max() == validLabels[i]);
    return double(right) / double(output.n_cols);
  };
  size_t predictions = 0, bestPredictions = 0;
  const double last = accuracy(predictions);
  model.Parameters() = best.BestCoordinates();
  const double accuracyOfBest = accuracy(bestPredictions);

  mlpack::data::Save(file, model.Parameters(), true);
  arma::mat loaded;
  loaded.load(file);

  std::cout << "accuracy " << last << std::endl;
  std::cerr << "result steps " + std::to_string(steps) + " accuracy " +
      std::to_string(last) + " bestAccuracy " + std::to_string(accuracyOfBest) +
      " data " + std::to_string(Hash(trainData) % 1000000) + " predictions " +
      std::to_string(predictions) + " best " + std::to_string(bestPredictions) +
      " random " + std::to_string(mlpack::Random()) + " looks " +
      std::to_string(looks) + " loaded " +
      std::to_string(loaded.n_elem == model.Parameters().n_elem) + "\n";
}

//! Save one file again and again.
void SaveOften(const std::string& file)
{
  for (size_t i = 0; i < 200; ++i)
  {
    arma::mat numbers(40, 500);
    numbers.fill(double(i));
    mlpack::data::Save(file, numbers, true);
    numbers.load(file);
    if (numbers.n_elem != 20000)
      std::cerr << "not whole\n";
  }
}

//! An optimizer that is not decentralized.
void Serial()
{
  ens::test::RosenbrockFunction function;
  arma::mat iterate = function.GetInitialPoint<arma::mat>();
  ens::L_BFGS optimizer;
  optimizer.Optimize(function, iterate);
  optimizer.Optimize(function, iterate);
  std::cout << "done" << std::endl;
}

//! Print in all the ways that there are.
void Print()
{
  std::printf("by printf\n");
  std::puts("by puts");
  std::fflush(stdout);
  std::cout << "by cout" << std::endl;
  // Somebody's own buffer comes and goes.
  std::ostringstream other;
  std::streambuf* const before = std::cout.rdbuf(other.rdbuf());
  std::cout.rdbuf(before);
  std::cout << "by cout again" << std::endl;
  if (std::system("echo by system") != 0)
    std::cerr << "no system" << std::endl;
  std::fprintf(stderr, "by stderr\n");
  // What was read is what the launcher gives this rank.
  std::string word;
  std::cin >> word;
  std::cerr << "read '" + word + "'\n";
}

//! An optimizer that runs another one, some steps at a time.
void HoldAnother()
{
  ens::test::GeneralizedRosenbrockFunction function(40);
  arma::mat iterate = function.GetInitialPoint<arma::mat>();
  ens::Adam inner(0.01, 1, 0.9, 0.999, 1e-8, 5, -1, true, false);
  ens::Lookahead<ens::Adam> optimizer(inner, 0.5, 5, 300, -1);
  size_t steps = 0;
  CountSteps count{ steps };
  mlpack::RandomSeed(5);
  const double objective = optimizer.Optimize(function, iterate, count);
  std::cerr << "result steps " + std::to_string(steps) + " objective " +
      std::to_string(objective) + " hash " + std::to_string(Hash(iterate)) +
      "\n";
}

int main(int argc, char** argv)
{
  std::ios::sync_with_stdio(false);
  const std::string what = (argc > 1) ? argv[1] : "";
  const std::string file = (argc > 2) ? argv[2] : "";
  if (what == "train")
  {
    // Clocks of several machines are not the same.
    const char* rank = std::getenv("OMPI_COMM_WORLD_RANK");
    Train(file, (argc > 3) ? std::stoul(argv[3]) : size_t(std::time(nullptr)) +
        (rank ? std::stoul(rank) : 0));
  }
  else if (what == "save")
    SaveOften(file);
  else if (what == "serial")
    Serial();
  else if (what == "print")
    Print();
  else if (what == "lookahead")
    HoldAnother();
  else
    return 2;
  return 0;
}
