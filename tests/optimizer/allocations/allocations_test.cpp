/**
 * @file allocations_test.cpp
 *
 * Memory is taken at the start, not on the way; and what happens if rank 0
 * lacks some for a checkpoint.  A program of its own, since every allocation of
 * the process is counted, or fails on request.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "catch.hpp"

#include <ensmallen.hpp>

#include <dasgd.hpp>

#include <cerrno>
#include <cstdio>
#include <string>

#include <unistd.h>

namespace {

//! Allocations of this thread while it counts; MPI has threads of its own.
thread_local size_t counted = 0;
thread_local bool counting = false;

//! Allocations of so many bytes, or up to 100 more, are large; 0: none.
thread_local size_t large = 0;
//! Which of the large ones fails, counted down.
thread_local size_t failing = 0;

//! Count an allocation; does it fail?
bool Fails(const size_t bytes)
{
  counted += counting;
  return large > 0 && bytes >= large && bytes <= large + 100 && failing > 0 &&
      --failing == 0;
}

} // namespace

// The C library lets programs put their own functions in the place of these.
extern "C" {

void* __libc_malloc(size_t bytes);
void* __libc_calloc(size_t number, size_t bytes);
void* __libc_realloc(void* memory, size_t bytes);
void* __libc_memalign(size_t alignment, size_t bytes);

void* malloc(size_t bytes)
{
  return Fails(bytes) ? nullptr : __libc_malloc(bytes);
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

//! The same points; a large allocation fails after they are counted first.
struct Arming : public Points
{
  size_t bytes = 0;
  size_t which = 0;

  size_t NumFunctions()
  {
    if (which > 0)
    {
      large = bytes;
      failing = which;
      which = 0;
    }
    return Points::NumFunctions();
  }
};

//! Once the run has begun, no more allocations fail.
struct Disarm
{
  template<typename OptimizerType, typename FunctionType, typename MatType>
  void BeginEpoch(OptimizerType&, FunctionType&, const MatType&, size_t, double)
  { large = 0; }
};

//! The next large allocation after the last epoch fails.
struct ArmAtEnd
{
  size_t bytes;

  template<typename OptimizerType, typename FunctionType, typename MatType>
  void EndEpoch(OptimizerType&, FunctionType&, const MatType&,
                const size_t epoch, const double)
  {
    if (epoch == 4)
    {
      large = bytes;
      failing = 1;
    }
  }
};

//! Rank 0's number.
size_t FromRoot(const size_t number)
{
  std::uint64_t value = number;
  MPI_Bcast(&value, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
  return size_t(value);
}

//! Where rank 0 keeps checkpoints: nothing else in the process is so long.
struct Path
{
  // Many slashes are as good as one.
  std::string name = "." + std::string(3900, '/');
  bool mine;

  Path()
  {
    name += "allocations." + std::to_string(getpid());
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    mine = (rank == 0);
  }
  ~Path() { std::remove(name.c_str()); }
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

TEST_CASE("rank 0 lacks memory for a checkpoint when the run begins",
    "[allocations]")
{
  // Each of the large allocations in turn: an error on all ranks, or a warning.
  const Path path;
  size_t refused = 0, warned = 0;
  for (size_t which = 1; which <= 1000; ++which)
  {
    INFO("allocation " << which);
    dasgd::DASGD<> optimizer(1e-3, 4, 4 * 512, -1);
    if (path.mine)
      optimizer.Checkpoint(path.name, 1e6);
    Arming points;
    points.bytes = path.mine ? path.name.size() : 0;
    points.which = which;
    arma::mat iterate(10, 1, arma::fill::zeros);
    bool returned = false;
    try
    {
      optimizer.Optimize(points, iterate, Disarm());
      returned = true;
    }
    catch (const std::invalid_argument& e)
    {
      CHECK(e.what() == std::string("DASGD::Optimize(): rank 0: "
          "std::bad_alloc"));
    }
    // Rank 0's number of allocations that were yet to come says how far it got.
    const bool failed = FromRoot(failing) == 0;
    large = failing = 0;
    CHECK(FromRoot(returned) == size_t(returned));
    if (!failed)
    {
      CHECK(returned);
      CHECK(optimizer.Report().checkpoints == 1);
      break;
    }
    refused += !returned;
    if (returned)
    {
      CHECK(optimizer.Report().reason == dasgd::StopReason::Budget);
      // The standard library may do with less memory in places.
      const bool saved = (optimizer.Report().checkpoints == 1);
      CHECK(optimizer.Report().checkpointProblem == (saved ? "" :
          "std::bad_alloc"));
      warned += !saved;
    }
    // Whether the next is another training does not matter here.
    dasgd::FinishedCheckpoints().clear();
    std::remove(path.name.c_str());
  }
  CHECK(refused > 0);
  CHECK(warned > 0);
}

TEST_CASE("rank 0 lacks memory for a checkpoint when the run ends",
    "[allocations]")
{
  const Path path;
  dasgd::DASGD<> optimizer(1e-3, 4, 4 * 512, -1);
  if (path.mine)
    optimizer.Checkpoint(path.name, 0); // The last is one of many.
  Points points;
  arma::mat iterate(10, 1, arma::fill::zeros);
  optimizer.Optimize(points, iterate, ArmAtEnd{ path.mine ? path.name.size() :
      0 });
  CHECK(FromRoot(failing) == 0);
  large = failing = 0;
  const dasgd::Report& report = optimizer.Report();
  CHECK(report.reason == dasgd::StopReason::Budget);
  CHECK(report.checkpointProblem == "std::bad_alloc");
  CHECK(report.checkpoints >= 1);
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
