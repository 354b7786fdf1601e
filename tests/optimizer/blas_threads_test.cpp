/**
 * @file blas_threads_test.cpp
 *
 * Ranks that share a machine share its cores.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "catch.hpp"

#include <dasgd.hpp>

#include <dlfcn.h>

namespace {

//! Threads that OpenBLAS would use now, or 0 if there is no OpenBLAS.
int Threads()
{
  const auto get = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT,
      "openblas_get_num_threads"));
  return get ? get() : 0;
}

//! Looks at the number of threads from inside a run.
struct LookInside
{
  int seen = 0;

  template<typename OptimizerType, typename FunctionType, typename MatType>
  bool StepTaken(OptimizerType&, FunctionType&, MatType&)
  {
    seen = Threads();
    return false;
  }
};

} // namespace

TEST_CASE("While Optimize() runs, each rank has its share of the BLAS threads")
{
  const int before = Threads();
  if (before == 0 || std::getenv("OMP_NUM_THREADS") ||
      std::getenv("OPENBLAS_NUM_THREADS"))
  {
    WARN("no OpenBLAS, or the number of its threads was chosen");
    return;
  }
  const dasgd::MpiCommunicator comm(MPI_COMM_WORLD);
  const int ranks = int(comm.Size());

  ens::test::SphereFunction f(64);
  arma::mat iterate = f.GetInitialPoint();
  LookInside look;
  dasgd::DASGD optimizer(0.001, 4, 640);
  optimizer.Optimize(f, iterate, look);

  const int cores = int(std::thread::hardware_concurrency());
  CHECK(look.seen <= std::max({ 1, (ranks == 1) ? before : cores / ranks }));
  CHECK(Threads() == before);
}
