/**
 * @file hogwild.hpp
 *
 * What ens::ParallelSGD needs: logistic regression on sparse points, and a
 * callback that several threads may call.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BINDINGS_STUDY_HOGWILD_HPP
#define DASGD_BINDINGS_STUDY_HOGWILD_HPP

#include "slowed.hpp"
#include "watch.hpp"

#include <atomic>

#if defined(_OPENMP)
#include <omp.h>
#endif

namespace dasgd {
namespace study {

//! Which of the threads this is.
inline size_t ThreadNumber()
{
#if defined(_OPENMP)
  return size_t(omp_get_thread_num());
#else
  return 0;
#endif
}

//! For its lifetime, parallel regions have so many threads.
class Threads
{
 public:
  explicit Threads(const size_t count)
  {
#if defined(_OPENMP)
    before = omp_get_max_threads();
    omp_set_num_threads(int(count));
#else
    (void) count;
#endif
  }

  ~Threads()
  {
#if defined(_OPENMP)
    omp_set_num_threads(before);
#endif
  }

  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

 private:
  int before = 1;
};

/**
 * Logistic regression as mlpack has it, intercept first, with gradients that
 * hold no zeros.  mlpack's own are dense.
 */
class SparseLogistic
{
 public:
  //! @param factors How many times as long each thread takes.
  SparseLogistic(const LabelledSet& train,
                 const std::vector<double>& factors) :
      points(train.points), labels(train.labels), factors(factors) { }

  size_t NumFunctions() const { return points.n_cols; }

  //! Over some points.
  double Evaluate(const arma::mat& iterate,
                  const size_t begin,
                  const size_t size) const
  {
    double sum = 0;
    for (size_t i = begin; i < begin + size; ++i)
    {
      const double score = Score(iterate, i);
      sum += std::log1p(std::exp(-std::abs(score))) +
          std::max(0.0, labels[i] ? -score : score);
    }
    return sum;
  }

  //! Over all points; ens::ParallelSGD asks for it in each pass.
  double Evaluate(const arma::mat& iterate) const
  { return Evaluate(iterate, 0, NumFunctions()); }

  //! Of one point.
  void Gradient(const arma::mat& iterate,
                const size_t i,
                arma::sp_mat& gradient,
                const size_t /* batchSize */) const
  {
    const double factor = factors[ThreadNumber() % factors.size()];
    const auto compute = [&]()
    {
      const double difference = 1 / (1 + std::exp(-Score(iterate, i))) -
          double(labels[i]);
      const arma::uword begin = points.col_ptrs[i];
      const arma::uword count = points.col_ptrs[i + 1] - begin;
      arma::uvec rows(count + 1), starts = { 0, count + 1 };
      arma::vec values(count + 1);
      rows[0] = 0;
      values[0] = difference;
      for (arma::uword j = 0; j < count; ++j)
      {
        rows[j + 1] = points.row_indices[begin + j] + 1;
        values[j + 1] = difference * points.values[begin + j];
      }
      gradient = arma::sp_mat(rows, starts, values, iterate.n_elem, 1);
    };
    Slowly(factor, compute);
  }

 private:
  double Score(const arma::mat& iterate, const size_t i) const
  {
    double score = iterate[0];
    for (arma::uword j = points.col_ptrs[i]; j < points.col_ptrs[i + 1]; ++j)
      score += iterate[points.row_indices[j] + 1] * points.values[j];
    return score;
  }

  arma::sp_mat points;
  const arma::Row<size_t>& labels;
  std::vector<double> factors;
};

//! Lets one thread watch, and counts the points of all.
class ThreadWatch
{
 public:
  //! @param batch Points that count as one gradient.
  ThreadWatch(Watch& watch, const double batch) : watch(watch), batch(batch) { }

  template<typename OptimizerType, typename FunctionType, typename MatType>
  bool StepTaken(OptimizerType&, FunctionType&, MatType& iterate)
  {
    const std::uint64_t all = points.fetch_add(1, std::memory_order_relaxed);
    return ThreadNumber() == 0 && watch.Step(iterate, std::uint64_t(
        double(all + 1) / batch));
  }

  //! How many points all threads have visited.
  std::uint64_t Points() const { return points; }

 private:
  Watch& watch;
  double batch;
  std::atomic<std::uint64_t> points{ 0 };
};

} // namespace study
} // namespace dasgd

#endif
