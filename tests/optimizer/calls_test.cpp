/**
 * @file calls_test.cpp
 *
 * Calls of Optimize() that could miss each other: by several threads, within
 * another call, on communicators that are none.  They work or are refused on
 * all ranks; nobody waits for ever, and nobody trains the model of somebody
 * else.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "probe.hpp"

#include "catch.hpp"

#include <condition_variable>
#include <mutex>
#include <thread>

using namespace tests;

namespace {

//! The rank that does something alone.
size_t Lonely() { return Ranks() - 1; }

//! A communicator that may be spoilt.
struct Duplicate
{
  MPI_Comm comm = MPI_COMM_NULL;

  Duplicate() { MPI_Comm_dup(MPI_COMM_WORLD, &comm); }
  ~Duplicate() { MPI_Comm_free(&comm); }
  Duplicate(const Duplicate&) = delete;
  Duplicate& operator=(const Duplicate&) = delete;
};

struct Run
{
  //! @param points How many are visited; 0 for no end.
  explicit Run(const size_t points, const MPI_Comm comm = MPI_COMM_WORLD) :
      optimizer(1e-3, 1, points, -1)
  { optimizer.Communicator() = comm; }

  Ending Train()
  { return Try([&]() { return Optimize(optimizer, probe, iterate, hooks); }); }

  Probe probe{ 20 * Ranks(), 3 };
  arma::mat iterate{ 3, 1, arma::fill::ones };
  FixedDASGD optimizer;
  Hooks hooks;
};

//! Something that threads wait for.
class Event
{
 public:
  void Set()
  {
    const std::lock_guard<std::mutex> lock(mutex);
    set = true;
    changed.notify_all();
  }

  void Await()
  {
    std::unique_lock<std::mutex> lock(mutex);
    changed.wait(lock, [this]() { return set; });
  }

 private:
  std::mutex mutex;
  std::condition_variable changed;
  bool set = false;
};

const char* const severalThreads = "several threads call Optimize()";

//! All ranks are told the same, or so that each knows which one it was.
void CheckNested(const Ending& ending, const Run& outer)
{
  INFO(ending);
  CHECK(ending.kind == (Rank() == Lonely() ? Ending::Other :
      Ending::RuntimeError));
  CHECK(ending.Says("Optimize() was called within another training"));
  CHECK(ending.Says("of rank " + std::to_string(Lonely())));
  CHECK(ending.Says("MPI_COMM_SELF"));
  CHECK(outer.optimizer.Report().stopRank == Lonely());
  CHECK(Same(outer.iterate));
  CHECK(StillWorks());
}

} // namespace

TEST_CASE("Two threads that train at a time are refused on all ranks",
    "[calls]")
{
  const Duplicate duplicate;
  const bool alone = (Ranks() == 1);
  // As the others would have it, these two would be mixed up.
  const bool otherWay = (Rank() % 2 == 1);
  Run first(alone ? 2000 : 0, duplicate.comm);
  Run second(alone ? 2000 : 0, duplicate.comm);
  Event trains;
  Run& before = otherWay ? second : first;
  Run& after = otherWay ? first : second;
  before.hooks.step = [&]()
  {
    trains.Set();
    return false;
  };
  Ending one, other;
  std::thread thread([&]()
  {
    one = before.Train();
    // Another rank may have ended it before this one took a step.
    trains.Set();
  });
  trains.Await();
  std::thread late([&]() { other = after.Train(); });
  thread.join();
  late.join();
  for (const Ending& ending : { one, other })
  {
    INFO(ending);
    CHECK(ending.kind == (alone ? Ending::Returned : Ending::InvalidArgument));
    CHECK(ending.Says(severalThreads) == !alone);
    CHECK(ending.Says("MPI_Comm_dup") == !alone);
  }
  if (alone)
  {
    // They are shuffled by random numbers of their threads.
    CHECK(first.iterate.is_finite());
    CHECK(second.iterate.is_finite());
    return;
  }
  // There is no telling how far each rank has got: it stays refused.
  Run again(1000, duplicate.comm);
  const Ending ending = again.Train();
  INFO(ending);
  CHECK(ending.Says(severalThreads));
  CHECK(StillWorks());
}

TEST_CASE("Threads that begin to train at once are refused on all ranks",
    "[calls]")
{
  if (Ranks() == 1)
    return;
  for (size_t round = 0; round < 10; ++round)
  {
    const Duplicate duplicate;
    const size_t count = 3;
    std::vector<std::unique_ptr<Run>> runs;
    std::vector<Ending> endings(count);
    std::vector<std::thread> threads;
    for (size_t i = 0; i < count; ++i)
      runs.push_back(std::make_unique<Run>(200, duplicate.comm));
    for (size_t i = 0; i < count; ++i)
      threads.emplace_back([&, i]() { endings[i] = runs[i]->Train(); });
    for (std::thread& thread : threads)
      thread.join();
    // A short one may be over before the others begin, but not all of them.
    bool refused = false;
    for (const Ending& ending : endings)
    {
      INFO(ending);
      const bool returned = ending.kind == Ending::Returned;
      CHECK((returned || ending.Says(severalThreads)));
      refused = refused || !returned;
    }
    CHECK(All(refused));
  }
  CHECK(StillWorks());
}

TEST_CASE("Threads whose order is a matter of chance are refused",
    "[calls]")
{
  if (Ranks() == 1)
    return;
  for (const bool otherWay : { false, true })
  {
    const Duplicate duplicate;
    Run first(200, duplicate.comm), second(200, duplicate.comm);
    const bool swapped = otherWay && Rank() == 0;
    Run& before = swapped ? second : first;
    Run& after = swapped ? first : second;
    Event over;
    Ending one, other;
    std::thread late([&]()
    {
      over.Await();
      other = after.Train();
    });
    std::thread early([&]() { one = before.Train(); });
    early.join();
    over.Set();
    late.join();
    INFO(one);
    INFO(other);
    CHECK(one.kind == Ending::Returned);
    CHECK(other.Says(severalThreads));
    CHECK(other.kind == Ending::InvalidArgument);
  }
  CHECK(StillWorks());
}

TEST_CASE("Threads that are made one after the other train", "[calls]")
{
  const Duplicate duplicate;
  for (size_t i = 0; i < 4; ++i)
  {
    Run run(200, duplicate.comm);
    Ending ending;
    std::thread([&]() { ending = run.Train(); }).join();
    INFO(ending);
    CHECK(ending.kind == Ending::Returned);
    CHECK(Same(run.iterate));
    // And the main thread in between.
    CHECK(Run(200, duplicate.comm).Train().kind == Ending::Returned);
  }
}

TEST_CASE("Threads with communicators of their own train at a time", "[calls]")
{
  const size_t count = 3;
  std::vector<std::unique_ptr<Duplicate>> duplicates;
  for (size_t i = 0; i < count; ++i)
    duplicates.push_back(std::make_unique<Duplicate>());
  std::vector<std::unique_ptr<Run>> runs;
  std::vector<Ending> endings(count);
  for (size_t i = 0; i < count; ++i)
  {
    runs.push_back(std::make_unique<Run>(2000, duplicates[i]->comm));
    runs[i]->iterate.fill(double(i)); // Each another model.
    runs[i]->optimizer.StepSize() = 0;
  }
  std::vector<std::thread> threads;
  // In another order on each rank.
  for (size_t i = 0; i < count; ++i)
  {
    const size_t which = (i + Rank()) % count;
    threads.emplace_back([&, which]()
    { endings[which] = runs[which]->Train(); });
  }
  for (std::thread& thread : threads)
    thread.join();
  for (size_t i = 0; i < count; ++i)
  {
    INFO(endings[i]);
    CHECK(endings[i].kind == Ending::Returned);
    CHECK(arma::all(arma::vectorise(runs[i]->iterate) == double(i)));
    CHECK(runs[i]->optimizer.Report().ranks.size() == Ranks());
  }
}

TEST_CASE("A call within another one works where all ranks make it", "[calls]")
{
  for (const char* topology : { "auto", "complete" })
  {
    const auto check = [&](const auto& set, const bool works = true)
    {
      Run outer(0), inner(300);
      outer.optimizer.MaxIterations() = 8 * 20 * Ranks();
      outer.optimizer.Topology() = topology;
      bool made = false;
      Ending within;
      set(outer, [&]()
      {
        if (!std::exchange(made, true))
          within = inner.Train();
        return false;
      });
      const Ending ending = outer.Train();
      INFO(topology);
      INFO(ending);
      INFO(within);
      CHECK(ending.kind == Ending::Returned);
      CHECK(made);
      CHECK((within.kind == Ending::Returned || (!works &&
          within.Says("was called within another training"))));
      CHECK((Same(inner.iterate) || !works));
      CHECK(Same(outer.iterate));
    };
    check([](Run& run, const auto& call)
    { run.hooks.begin = [=]() mutable { call(); }; });
    check([](Run& run, const auto& call)
    { run.hooks.end = [=]() mutable { call(); }; });
    check([](Run& run, const auto& call)
    { run.hooks.step = [=]() mutable { return call(); }; });
    check([](Run& run, const auto& call)
    { run.probe.onGradient = [=]() mutable { call(); }; });
    // The frame that ends the epoch of another rank may not be sent before.
    check([](Run& run, const auto& call)
    {
      run.hooks.endEpoch = [=](size_t, double) mutable { return call(); };
    }, std::string(topology) == "auto");
  }
}

TEST_CASE("A call within another one is refused where not all make it",
    "[calls]")
{
  if (Ranks() == 1)
    return;
  for (const char* topology : { "auto", "complete" })
  {
    INFO(topology);
    {
      Run outer(20 * Ranks() * 10), inner(300);
      outer.optimizer.Topology() = topology;
      outer.hooks.step = [&]()
      {
        if (Rank() == Lonely() && outer.hooks.steps == 3)
          Optimize(inner.optimizer, inner.probe, inner.iterate);
        return false;
      };
      CheckNested(outer.Train(), outer);
    }
    {
      Run outer(20 * Ranks() * 10), inner(300);
      outer.optimizer.Topology() = topology;
      outer.hooks.end = [&]()
      {
        if (Rank() == Lonely())
          Optimize(inner.optimizer, inner.probe, inner.iterate);
      };
      CheckNested(outer.Train(), outer);
    }
  }
}

TEST_CASE("A call on this rank alone works within another one", "[calls]")
{
  Run outer(20 * Ranks() * 10), inner(300, MPI_COMM_SELF);
  outer.hooks.step = [&]()
  {
    if (Rank() == Lonely() && outer.hooks.steps == 3)
      CHECK(inner.Train().kind == Ending::Returned);
    return false;
  };
  const Ending ending = outer.Train();
  INFO(ending);
  CHECK(ending.kind == Ending::Returned);
  CHECK(inner.optimizer.Report().ranks.size() == (Rank() == Lonely() ? 1 :
      0));
  CHECK(Same(outer.iterate));
}

TEST_CASE("A communicator that is none is refused", "[calls]")
{
  if (Ranks() == 1)
    return;
  MPI_Comm half = MPI_COMM_NULL, inter = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, Rank() == 0, int(Rank()), &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, Rank() == 0 ? 1 : 0, 9, &inter);
  for (const MPI_Comm none : { MPI_COMM_NULL, inter })
  {
    const Ending ending = Run(0, none).Train();
    INFO(ending);
    CHECK(ending.kind == Ending::InvalidArgument);
    CHECK(ending.Says((none == inter) ? "intercommunicator" :
        "MPI_COMM_NULL"));
    CHECK(StillWorks());
  }
  // Ranks that are no part of a communicator do not disturb those that are.
  MPI_Comm some = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, Rank() == Lonely() ? MPI_UNDEFINED : 0,
      int(Rank()), &some);
  const Ending ending = Run(200, some).Train();
  INFO(ending);
  CHECK(ending.kind == (Rank() == Lonely() ? Ending::InvalidArgument :
      Ending::Returned));
  CHECK(StillWorks());
  for (MPI_Comm* comm : { &half, &inter, &some })
  {
    if (*comm != MPI_COMM_NULL)
      MPI_Comm_free(comm);
  }
}

TEST_CASE("A sparse iterate on one rank only is refused on all", "[calls]")
{
  if (Ranks() == 1)
    return;
  struct Sparse
  {
    size_t NumFunctions() const { return 10; }
    void Shuffle() { }
    double Evaluate(const arma::sp_mat&, const size_t, const size_t)
    { return 0; }
    void Gradient(const arma::sp_mat& x,
                  const size_t,
                  arma::sp_mat& gradient,
                  const size_t)
    { gradient.zeros(x.n_rows, x.n_cols); }
  };
  Run run(0);
  const Ending ending = (Rank() != Lonely()) ? run.Train() : Try([]()
  {
    Sparse function;
    arma::sp_mat iterate(3, 1);
    dasgd::DASGD<> optimizer(1e-3, 1, 10, -1);
    return optimizer.Optimize(function, iterate);
  });
  INFO(ending);
  CHECK(ending.kind == Ending::InvalidArgument);
  CHECK(ending.Says("sparse matrices"));
  CHECK(ending.Says("ranks 0 and " + std::to_string(Lonely())));
  CHECK(StillWorks());
}
