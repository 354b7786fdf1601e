/**
 * @file replay.hpp
 *
 * The path of every model of a recorded run: a history says in which order each
 * model applied which gradients, and with the function that is all there is to
 * know.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_EXAMPLES_PAPER_REPLAY_HPP
#define DASGD_EXAMPLES_PAPER_REPLAY_HPP

#include <dasgd/staleness/loose_staleness.hpp>

#include <armadillo>

#include <optional>

namespace example {

//! The norms of the gradient of f along the path of each model.
class Replay
{
 public:
  /**
   * @param function Has `double Value(x, gradient)`.
   * @param start Where all models began.
   * @param step Size of the plain steps they took.
   */
  template<typename FunctionType>
  Replay(const dasgd::History& history,
         FunctionType& function,
         const arma::mat& start,
         const double step)
  {
    const size_t ranks = history.size();
    std::vector<Model> models(ranks);
    for (size_t i = 0; i < ranks; ++i)
    {
      Model& model = models[i];
      model.x = start;
      model.computed.set_size(start.n_elem, history[i].Computed());
      dasgd::HistoryStaleness::Walk(history[i], i, [&model](
          const size_t origin, const std::uint64_t first,
          const std::uint64_t count)
      {
        for (std::uint64_t k = 0; k < count; ++k)
          model.steps.push_back({ std::uint32_t(origin), first + k });
      });
    }

    norms.resize(ranks);
    values.resize(ranks);
    for (size_t i = 0; i < ranks; ++i)
      Look(function, models[i], i);
    // Each goes on as far as gradients are known, by its own order: no clock is
    // needed, and there is always one that can go on.
    for (bool moved = true; moved; )
    {
      moved = false;
      for (size_t i = 0; i < ranks; ++i)
      {
        Model& model = models[i];
        for (; model.taken < model.steps.size(); ++model.taken)
        {
          const Step& next = model.steps[model.taken];
          Model& origin = models[next.origin];
          if (next.origin == i)
            model.computed.col(model.known++) = model.gradient;
          else if (next.number > origin.known)
            break;
          model.x -= step * origin.computed.col(size_t(next.number - 1));
          Look(function, model, i);
          moved = true;
        }
      }
    }
    for (const Model& model : models)
      if (model.taken < model.steps.size())
        throw std::runtime_error("a history cannot be replayed: it is not "
            "complete");
  }

  //! ||grad f(x^t)|| of a model, t = 0, 1, ..., T.
  const std::vector<double>& Norms(const size_t rank) const
  { return norms[rank]; }

  //! f at the start and at the end of a model's path.
  double First(const size_t rank) const { return values[rank].first; }
  double Last(const size_t rank) const { return values[rank].second; }

  /**
   * The error of Section 5: the mean norm over the last 30 iterations.
   *
   * @return The first iteration of a model at which it is at most epsilon.
   */
  std::optional<size_t> Reached(const size_t rank, const double epsilon) const
  {
    constexpr size_t window = 30;
    double sum = 0;
    for (size_t t = 0; t < norms[rank].size(); ++t)
    {
      // Summed anew now and then, so that large early terms leave no trace.
      if (t % window == 0 && t >= window)
      {
        sum = 0;
        for (size_t k = t - window; k < t; ++k)
          sum += norms[rank][k];
      }
      sum += norms[rank][t] - (t >= window ? norms[rank][t - window] : 0);
      if (t + 1 >= window && sum <= epsilon * double(window))
        return t;
    }
    return std::nullopt;
  }

  //! Psi_T: the mean of the squared norms; the largest of all models.
  double MeanSquare() const
  {
    double largest = 0;
    for (const std::vector<double>& path : norms)
    {
      double sum = 0;
      for (const double norm : path)
        sum += norm * norm;
      largest = std::max(largest, sum / double(path.size()));
    }
    return largest;
  }

  //! Q, as far as these paths tell: the largest norm of all models.
  double LargestNorm() const
  {
    double largest = 0;
    for (const std::vector<double>& path : norms)
      for (const double norm : path)
        largest = std::max(largest, norm);
    return largest;
  }

 private:
  struct Step
  {
    std::uint32_t origin;
    std::uint64_t number;
  };

  struct Model
  {
    arma::mat x;
    //! At x.
    arma::mat gradient;
    std::vector<Step> steps;
    size_t taken = 0;
    //! Its own gradients so far, one in each column.
    arma::mat computed;
    size_t known = 0;
  };

  template<typename FunctionType>
  void Look(FunctionType& function, Model& model, const size_t rank)
  {
    const double value = function.Value(model.x, model.gradient);
    if (norms[rank].empty())
      values[rank].first = value;
    values[rank].second = value;
    norms[rank].push_back(arma::norm(model.gradient));
  }

  std::vector<std::vector<double>> norms;
  std::vector<std::pair<double, double>> values;
};

} // namespace example

#endif
