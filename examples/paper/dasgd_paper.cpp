/**
 * @file dasgd_paper.cpp
 *
 * The experiments of "Convergence Analysis of Decentralized ASGD", Section 5.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "paper.hpp"

#include <CLI/CLI.hpp>

#include <functional>
#include <iostream>

int main(int argc, char** argv)
{
  CLI::App app("The experiments of \"Convergence Analysis of Decentralized "
      "ASGD\".  Each run becomes a row of a CSV file; rows that are there "
      "already are not computed again.");
  app.require_subcommand(1);

  const auto common = [](CLI::App& command, example::Options& options)
  {
    command.add_option("--out", options.out, "CSV file to add to")
        ->capture_default_str();
    command.add_option("--runs", options.runs, "runs for each point")
        ->check(CLI::PositiveNumber)->capture_default_str();
    command.add_option("--first_run", options.firstRun,
        "number, and seed, of the first one")->capture_default_str();
    command.add_option("--step", options.step, "step size")
        ->check(CLI::PositiveNumber)->capture_default_str();
    command.add_option("--error", options.error, "error to reach: a mean "
        "gradient norm, or for cifar a mean loss, of 30 iterations")
        ->check(CLI::PositiveNumber)->capture_default_str();
    command.add_option("--seconds", options.seconds, "seconds that a gradient "
        "takes, of virtual time or with --mpi at least")
        ->check(CLI::PositiveNumber)->capture_default_str();
    command.add_option("--window", options.window,
        "frames under way to each neighbour")->check(CLI::Range(1, 4096))
        ->capture_default_str();
    command.add_flag("--mpi", options.mpi,
        "over MPI instead of on virtual time; start it with mpirun");
  };
  const auto noiseless = [&](const std::string& name,
      example::Options& options)
  {
    options.out = name + ".csv";
    options.step = 0.002;
    options.error = 1e-12;
    options.seconds = 0.05;
    options.slower = { 0, 1, 2, 5, 10, 20, 40, 60, 80, 100 };
    CLI::App* command = app.add_subcommand(name, "two workers, one of them "
        "slower, on a " + name + " function without noise");
    common(*command, options);
    command->add_option("--slower", options.slower, "how many times slower the "
        "second worker is, one or more (0: no second worker)")->delimiter(',')
        ->capture_default_str();
    return command;
  };
  example::Options quadratic, logistic, cifar;
  CLI::App* runQuadratic = noiseless("quadratic", quadratic);
  CLI::App* runLogistic = noiseless("logistic", logistic);

  cifar.out = "cifar.csv";
  cifar.step = 1e-4;
  cifar.error = 1;
  cifar.seconds = 0.1;
  cifar.window = 2;
  cifar.workers = { 1, 2, 4, 8, 16, 25 };
  cifar.update = "adam";
  cifar.points = 1000;
  cifar.batch = 32;
  cifar.maxGradients = 20000;
  CLI::App* runCifar = app.add_subcommand("cifar", "a convolutional network on "
      "CIFAR-10");
  common(*runCifar, cifar);
  runCifar->add_option("--workers", cifar.workers, "how many workers, one or "
      "more")->delimiter(',')->capture_default_str();
  runCifar->add_option("--data", cifar.data, "folder with the binary files of "
      "CIFAR-10 (default: where fetch_cifar.sh puts them)");
  runCifar
      ->add_option("--update", cifar.update,
          "adam, as in the tutorial that "
          "the network is from, or sgd")
      ->check(CLI::IsMember({ "adam", "sgd" }))
      ->capture_default_str();
  runCifar->add_option("--points", cifar.points, "images to train with")
      ->capture_default_str();
  runCifar->add_option("--batch", cifar.batch, "images in a gradient")
      ->capture_default_str();
  runCifar->add_option("--max_gradients", cifar.maxGradients,
      "give up after so many")->capture_default_str();

  CLI11_PARSE(app, argc, argv);
  try
  {
    if (*runQuadratic)
      return example::RunQuadratic(quadratic);
    if (*runLogistic)
      return example::RunLogistic(logistic);
    return example::RunCifar(cifar);
  }
  catch (const std::exception& e)
  {
    std::cerr << "dasgd_paper: " << e.what() << std::endl;
    return 1;
  }
}
