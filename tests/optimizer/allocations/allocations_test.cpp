/**
 * @file allocations_test.cpp
 *
 * Memory is taken at the start, not on the way: a program of its own, since it
 * counts every allocation of the process.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "catch.hpp"

#include <ensmallen.hpp>

#include <dasgd.hpp>

#include <cerrno>

namespace {

//! Allocations of this thread while it counts; MPI has threads of its own.
thread_local size_t counted = 0;
thread_local bool counting = false;

} // namespace

// The C library lets programs put their own functions in the place of these.
extern "C" {

void* __libc_malloc(size_t bytes);
void* __libc_calloc(size_t number, size_t bytes);
void* __libc_realloc(void* memory, size_t bytes);
void* __libc_memalign(size_t alignment, size_t bytes);

void* malloc(size_t bytes)
{
  counted += counting;
  return __libc_malloc(bytes);
}

void* calloc(size_t number, size_t bytes)
{
  counted += counting;
  return __libc_calloc(number, bytes);
}

void* realloc(void* memory, size_t bytes)
{
  counted += counting;
  return __libc_realloc(memory, bytes);
}

void* aligned_alloc(size_t alignment, size_t bytes)
{
  counted += counting;
  return __libc_memalign(alignment, bytes);
}

int posix_memalign(void** memory, size_t alignment, size_t bytes)
{
  counted += counting;
  *memory = __libc_memalign(alignment, bytes);
  return *memory ? 0 : ENOMEM;
}

} // extern "C"

namespace {

/**
 * A function whose gradients allocate nothing: half the squared distance to
 * points on a line.  Ranks wait for each other now and then, since one that is
 * many epochs ahead does keep more and more sums.
 */
struct Points
{
  size_t NumFunctions() const { return 512; }
  void Shuffle() { }

  double Evaluate(const arma::mat& x, const size_t begin, const size_t size)
  {
    double sum = 0;
    for (size_t i = begin; i < begin + size; ++i)
    {
      for (const double value : x)
        sum += 0.5 * (value - double(i)) * (value - double(i));
    }
    return sum;
  }

  void Gradient(const arma::mat& x, const size_t begin, arma::mat& gradient,
                const size_t size)
  {
    gradient.zeros();
    for (size_t i = begin; i < begin + size; ++i)
    {
      for (size_t j = 0; j < x.n_elem; ++j)
        gradient[j] += x[j] - double(i);
    }
  }

  double EvaluateWithGradient(const arma::mat& x, const size_t begin,
                              arma::mat& gradient, const size_t size)
  {
    if (++calls % 32 == 0)
    {
      const bool before = counting;
      counting = false;
      MPI_Barrier(MPI_COMM_WORLD);
      counting = before;
    }
    Gradient(x, begin, gradient, size);
    return Evaluate(x, begin, size);
  }

  size_t calls = 0;
};

//! Counts from the end of one epoch to the end of another.
struct Count
{
  size_t from, to;
  //! How many epochs it counted in.
  size_t* epochs;

  template<typename OptimizerType, typename FunctionType, typename MatType>
  void EndEpoch(OptimizerType&, FunctionType&, const MatType&,
                const size_t epoch, const double)
  {
    counting = (epoch >= from && epoch < to);
    *epochs += counting;
  }
};

//! Allocations between two epochs of a run.
template<typename OptimizerType>
size_t Allocations(OptimizerType& optimizer, const size_t elements)
{
  arma::mat iterate(elements, 1, arma::fill::zeros);
  Points points;
  counted = 0;
  counting = false;
  size_t epochs = 0;
  optimizer.Optimize(points, iterate, Count{ 4, 36, &epochs });
  counting = false;
  CHECK(epochs == 32);
  return counted;
}

} // namespace

TEST_CASE("the counter counts", "[allocations]")
{
  counted = 0;
  counting = true;
  const std::vector<double> vector(1000);
  const arma::mat matrix(100, 100);
  counting = false;
  CHECK(counted == 2);
  CHECK(vector.size() + matrix.n_elem == 11000);
}

TEST_CASE("nothing is allocated in the loop", "[allocations]")
{
  for (const char* topology : { "complete", "ring", "tree" })
  {
    for (const size_t elements : { 10, 20000 })
    {
      INFO(topology << ", " << elements << " elements");
      // 40 epochs.
      dasgd::DASGD<> optimizer(1e-3, 4, 40 * 512, -1);
      optimizer.Topology() = topology;
      CHECK(Allocations(optimizer, elements) == 0);
    }
  }
}

TEST_CASE("nothing is allocated in the loop, whatever the format",
    "[allocations]")
{
  for (const char* format : { "float32", "bfloat16", "topk:0.1" })
  {
    INFO(format);
    dasgd::DASGD<> optimizer(1e-3, 4, 40 * 512, -1);
    optimizer.WireFormat() = format;
    CHECK(Allocations(optimizer, 1000) == 0);
  }
}

TEST_CASE("nothing is allocated in the loop with another policy",
    "[allocations]")
{
  dasgd::DASGD<ens::MomentumUpdate> optimizer(1e-4, 4, 40 * 512, -1, true,
      ens::MomentumUpdate(0.5));
  CHECK(Allocations(optimizer, 1000) == 0);
}
