/**
 * @file onnx_run.cpp
 *
 * One run of a study whose network is an ONNX file.  A program of its own, so
 * that mlpack_dasgd_study does not need ONNX Runtime; it is started by a study,
 * with the file of the run.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "data.hpp"
#include "run.hpp"

#include <launcher/spawn.hpp>
#include <onnx/double_iterate.hpp>
#include <ranks/ranks.hpp>
#include <training/captured.hpp>

#include <csignal>
#include <cstdlib>
#include <iostream>

#include <unistd.h>

namespace dasgd {
namespace study {

namespace {

//! A network from an ONNX file, computed in single precision.
class OnnxTask : public Task
{
 public:
  OnnxTask(const std::string& file,
           const LabelledSet& train,
           const OnnxOptions& options) :
      function(file, arma::conv_to<arma::fmat>::from(train.points),
          train.labels, options)
  {
    function.VisitStatistics([](arma::mat&)
    {
      throw std::invalid_argument("BatchNormalization keeps means that are no "
          "parameters, so copies of the model lack them; export the model "
          "without it!");
    });
  }

  void Train(const std::function<void(Separable&, arma::mat&)>& action) override
  {
    onnx_program::DoubleIterate objective(function);
    cli::AnyFunctionOf<onnx_program::DoubleIterate> separable(objective);
    arma::mat iterate = InitialPoint();
    action(separable, iterate);
  }

  bool Sums() const override { return true; }

  void LogProbabilities(const arma::mat& iterate,
                        const arma::mat& points,
                        arma::mat& result) override
  {
    arma::fmat weights, values, output;
    onnx_program::DoubleIterate::Convert(iterate, weights);
    onnx_program::DoubleIterate::Convert(points, values);
    function.Predict(weights, values, output);
    onnx_program::DoubleIterate::Convert(output, result);
    // Whatever the last operator is: of what is normalized this takes nothing.
    result.each_row() -= arma::rowvec(arma::max(result, 0));
    result.each_row() -= arma::rowvec(arma::log(arma::sum(arma::exp(result),
        0)));
  }

 private:
  //! Of each initializer other values with the mean and the deviation of those
  //! in the file: every seed begins elsewhere.
  arma::mat InitialPoint() const
  {
    arma::mat iterate;
    onnx_program::DoubleIterate::Convert(function.GetInitialPoint(), iterate);
    for (const OnnxParameter& parameter : function.Parameters())
    {
      arma::vec values(iterate.memptr() + parameter.offset,
          parameter.elements, false, true);
      const double mean = arma::mean(values);
      const double deviation = (values.n_elem > 1) ? arma::stddev(values) : 0;
      values = mean + deviation * arma::randn<arma::vec>(values.n_elem);
    }
    return iterate;
  }

  OnnxFunction<arma::fmat> function;
};

void RunOnnx(const std::string& path)
{
  Entries run;
  if (!run.Load(path) || !run.Has("algorithm"))
  {
    throw std::invalid_argument("Cannot open file '" + path + "'; it is "
        "written by mlpack_dasgd_study for its own runs!");
  }
  // End even if mpirun is killed.
  cli::SignalWithParent(SIGKILL);
  alarm(unsigned(std::min(1e8, run.Number("timeout"))) + 10);
  DataSet data = LoadData(run.Text("data"));
  arma::arma_rng::set_seed(arma::arma_rng::seed_type(run.Count("seed")));
  OnnxOptions options;
  options.seed = run.Count("seed") * cli::Ranks() + cli::Rank();
  const char* threads = std::getenv("OMP_NUM_THREADS");
  options.threads = size_t(std::max(1, threads ? std::atoi(threads) : 1));
  OnnxTask task(run.Text("model_file"), data.train, options);
  data.train = LabelledSet(); // The task has its own copy.
  Run(run, data, task);
}

} // namespace

} // namespace study
} // namespace dasgd

int main(int argc, char** argv)
{
  try
  {
    dasgd::study::RunOnnx(argc == 2 ? argv[1] : "");
    return 0;
  }
  catch (const std::exception& e)
  {
    // As bindings say it; a study looks for it.
    std::cerr << "[FATAL] rank " << dasgd::cli::Rank() << ": " << e.what()
        << std::endl;
    return 1;
  }
}
