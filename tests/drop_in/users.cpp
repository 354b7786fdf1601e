/**
 * @file users.cpp
 *
 * Five programs of the kinds that users of mlpack write, in one file; the first
 * argument chooses one.  They know nothing of ranks.  Compiled as they are, and
 * with `-include dasgd/drop_in.hpp`; see users.py, which compares the two.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
// A part of <mlpack.hpp>, which compiles in less time.
#include <mlpack/core.hpp>
#include <mlpack/core/cv/k_fold_cv.hpp>
#include <mlpack/core/cv/metrics/accuracy.hpp>
#include <mlpack/core/hpt/hpt.hpp>
#include <mlpack/methods/ann/ann.hpp>
#include <mlpack/methods/softmax_regression/softmax_regression.hpp>
#if __has_include(<mlpack/namespace_compat.hpp>)
#include <mlpack/namespace_compat.hpp>
#endif

#include <iostream>
#include <string>
#include <thread>
#include <vector>

using namespace mlpack;

using Network = FFN<NegativeLogLikelihood, GlorotInitialization>;

//! Three clouds of points, which overlap.
template<typename MatType>
void Clouds(const size_t points, MatType& data, arma::Row<size_t>& labels)
{
  data.randn(8, points);
  labels.set_size(points);
  for (size_t i = 0; i < points; ++i)
  {
    labels[i] = i % 3;
    data.col(i) *= 1.0 + 0.5 * double(labels[i]);
    data.col(i) += 1.5 * double(labels[i]);
  }
}

template<typename MatType>
double AccuracyOf(const MatType& output, const arma::Row<size_t>& labels)
{
  size_t right = 0;
  for (size_t i = 0; i < output.n_cols; ++i)
    right += (output.col(i).index_max() == labels[i]);
  return double(right) / double(output.n_cols);
}

//! A number that two models have in common only if they predict the same.
template<typename MatType>
std::string Digits(const MatType& output)
{
  std::ostringstream text;
  text.precision(17);
  text << arma::accu(arma::abs(output));
  return text.str();
}

void Build(Network& model)
{
  model.Add<Linear>(16);
  model.Add<ReLU>();
  model.Add<Linear>(3);
  model.Add<LogSoftMax>();
}

/**
 * What many programs have: after each epoch, look at points that are held out,
 * and save the model if it was never as good.
 */
class SaveBest
{
 public:
  SaveBest(Network& model, const arma::mat& data, const arma::mat& labels,
           const std::string& file) :
      model(model), data(data), labels(labels), file(file) { }

  template<typename OptimizerType, typename FunctionType, typename MatType>
  bool EndEpoch(OptimizerType&, FunctionType&, const MatType&, const size_t,
                const double)
  {
    const double loss = model.Evaluate(data, labels);
    if (loss >= best)
      return false;
    best = loss;
    mlpack::data::Save(file, model.Parameters(), true);
    return false;
  }

 private:
  Network& model;
  const arma::mat& data;
  const arma::mat& labels;
  std::string file;
  double best = std::numeric_limits<double>::max();
};

//! A network that stops early, and the best model in a file.
void Validate(const std::string& file)
{
  arma::mat all, data, held;
  arma::Row<size_t> labels, trainLabels, heldLabels;
  Clouds(1200, all, labels);
  mlpack::data::Split(all, labels, data, held, trainLabels, heldLabels, 0.25);
  const arma::mat targets = arma::conv_to<arma::mat>::from(trainLabels);
  const arma::mat heldTargets = arma::conv_to<arma::mat>::from(heldLabels);

  Network model;
  Build(model);
  ens::Adam optimizer(0.05, 30, 0.9, 0.999, 1e-8, 60 * data.n_cols, 1e-8);
  model.Train(data, targets, optimizer, ens::EarlyStopAtMinLoss(
      [&](const arma::mat&) { return model.Evaluate(held, heldTargets); }, 5),
      SaveBest(model, held, heldTargets, file));

  arma::mat output;
  model.Predict(held, output);
  std::cout << "accuracy " << AccuracyOf(output, heldLabels) << "\n"
      << "model " << Digits(output) << std::endl;

  Network best;
  Build(best);
  best.Reset(data.n_rows);
  arma::mat parameters;
  mlpack::data::Load(file, parameters, true);
  best.Parameters() = parameters;
  best.Predict(held, output);
  std::cout << "best " << AccuracyOf(output, heldLabels) << "\nbestModel "
      << Digits(output) << std::endl;
}

//! Softmax regression with the settings that are to be found.
class Classifier
{
 public:
  Classifier() { }

  Classifier(const arma::mat& data, const arma::Row<size_t>& labels,
             const size_t classes, const double step, const double lambda)
  { Train(data, labels, classes, step, lambda); }

  double Train(const arma::mat& data, const arma::Row<size_t>& labels,
               const size_t classes, const double step, const double lambda)
  {
    ens::RMSProp optimizer(step, 20, 0.99, 1e-8, 20 * data.n_cols);
    return model.Train(data, labels, classes, optimizer, lambda, true);
  }

  void Classify(const arma::mat& data, arma::Row<size_t>& predictions) const
  { model.Classify(data, predictions); }

  SoftmaxRegression<> model;
};

//! Cross-validation, a search for settings, and a model with the best ones.
void Tune(const std::string& file)
{
  arma::mat data;
  arma::Row<size_t> labels;
  Clouds(600, data, labels);
  const size_t classes = 3;
  KFoldCV<Classifier, Accuracy> validation(5, data, labels, classes);
  std::cout << "folds " << validation.Evaluate(0.01, 0.001) << std::endl;

  HyperParameterTuner<Classifier, Accuracy, KFoldCV> tuner(5, data, labels,
      classes);
  double step, lambda;
  std::tie(step, lambda) = tuner.Optimize(arma::vec("0.00001 0.01"),
      arma::vec("0.001 10"));
  std::cout << "step " << step << "\nlambda " << lambda << "\ntuned "
      << tuner.BestObjective() << std::endl;

  Classifier best(data, labels, classes, step, lambda);
  mlpack::data::Save(file, "model", best.model, true);
  SoftmaxRegression<> loaded;
  mlpack::data::Load(file, "model", loaded, true);
  std::cout << "accuracy " << loaded.ComputeAccuracy(data, labels) / 100
      << "\nmodel " << Digits(loaded.Parameters()) << std::endl;
}

//! Batch normalization, in single precision.
void Normalize()
{
  arma::fmat data;
  arma::Row<size_t> labels;
  Clouds(900, data, labels);
  FFN<NegativeLogLikelihoodType<arma::fmat>, GlorotInitialization, arma::fmat>
      model;
#if MLPACK_VERSION_MAJOR == 4 && MLPACK_VERSION_MINOR < 8
  model.Add<LinearType<arma::fmat>>(16);
  model.Add<BatchNormType<arma::fmat>>(0, 0, 1e-5, false, 0.1);
  model.Add<ReLUType<arma::fmat>>();
  model.Add<LinearType<arma::fmat>>(3);
  model.Add<LogSoftMaxType<arma::fmat>>();
#else
  model.Add<Linear>(16);
  model.Add<BatchNorm>(0, 0, 1e-5, false, 0.1);
  model.Add<ReLU>();
  model.Add<Linear>(3);
  model.Add<LogSoftMax>();
#endif
  ens::Adam optimizer(0.01, 30, 0.9, 0.999, 1e-8, 10 * data.n_cols);
  model.Train(data, arma::conv_to<arma::fmat>::from(labels), optimizer);
  arma::fmat output;
  model.Predict(data, output);
  std::cout << "accuracy " << AccuracyOf(output, labels) << "\nmodel "
      << Digits(output) << std::endl;
}

//! Sequences of which the first two numbers tell the kind.
void Remember()
{
  const size_t points = 300, length = 5;
  arma::cube data(1, points, length, arma::fill::randn), targets(1, points, 1);
  arma::Row<size_t> labels(points);
  data *= 0.3;
  for (size_t i = 0; i < points; ++i)
  {
    labels[i] = i % 2;
    targets(0, i, 0) = double(labels[i]);
    data.slice(0)(0, i) += (i % 2 == 0) ? 1.0 : -1.0;
    data.slice(1)(0, i) += (i % 2 == 0) ? 1.0 : -1.0;
  }
  RNN<NegativeLogLikelihood, GlorotInitialization> model(length, true);
  model.Add<LSTM>(4);
  model.Add<Linear>(2);
  model.Add<LogSoftMax>();
  ens::Adam optimizer(0.02, 10, 0.9, 0.999, 1e-8, 20 * points);
  model.Train(data, targets, optimizer);
  arma::cube output;
  model.Predict(data, output);
  const arma::mat last = output.slice(output.n_slices - 1);
  std::cout << "accuracy " << AccuracyOf(last, labels) << "\nmodel "
      << Digits(last) << std::endl;
}

//! Models that vote, each trained by a thread of its own.
void Vote()
{
  arma::mat data;
  arma::Row<size_t> labels;
  Clouds(600, data, labels);
  const arma::mat targets = arma::conv_to<arma::mat>::from(labels);
  std::vector<Network> models(3);
  std::vector<std::thread> threads;
  for (Network& model : models)
  {
    Build(model);
    threads.emplace_back([&]()
    {
      ens::Adam optimizer(0.02, 30, 0.9, 0.999, 1e-8, 40 * data.n_cols);
      model.Train(data, targets, optimizer);
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  arma::mat sum(3, data.n_cols, arma::fill::zeros), output;
  for (Network& model : models)
  {
    model.Predict(data, output);
    sum += output;
  }
  std::cout << "accuracy " << AccuracyOf(sum, labels) << std::endl;
}

int main(int argc, char** argv)
{
  const std::string what = (argc > 1) ? argv[1] : "";
  const std::string file = (argc > 2) ? argv[2] : "";
  RandomSeed(argc > 3 ? std::stoul(argv[3]) : 1);
  if (what == "validate")
    Validate(file);
  else if (what == "tune")
    Tune(file);
  else if (what == "normalize")
    Normalize();
  else if (what == "remember")
    Remember();
  else if (what == "vote")
    Vote();
  else
    return 2;
  return 0;
}
