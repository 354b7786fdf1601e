/**
 * @file baselines_test.cpp
 *
 * The simulator's cases of the algorithms that DASGD is compared with, over
 * MPI: with real frames, lent, sent, in pieces and all of it at once.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "catch.hpp"
#include "mpi/play.hpp"
#include "baselines.hpp"

using namespace conformance;

namespace {

template<typename TraitsType>
void PlayMany(const std::uint64_t count)
{
  const MpiCommunicator comm(MPI_COMM_WORLD);
  size_t stopped = 0, fine = 0;
  for (std::uint64_t seed = 1; seed <= count; ++seed)
  {
    Random random(Mix(seed, comm.Size()));
    Case script = RandomCase(random, comm.Size());
    Suit<TraitsType>(script, seed);
    typename TraitsType::Options options;
    Vary(options, script, seed);
    INFO("seed " << seed << " (" << script.Text() << ")");
    const std::vector<Ending> ends = Play<TraitsType>(comm, script,
        Way(seed % 4), options);
    CHECK(BrokenBaseline<TraitsType>(script, ends) == "");
    (ends[0].stopped ? stopped : fine) += 1;
  }
  // Both kinds of endings were seen.
  CHECK(stopped > 0);
  CHECK(fine > 0);
}

/**
 * All of them with a model so long that frames take their time, and are sent in
 * pieces.
 */
template<typename TraitsType>
void PlayLarge()
{
  const MpiCommunicator comm(MPI_COMM_WORLD);
  Case script;
  script.ranks = comm.Size();
  script.elements = 1 << 17;
  script.points = 16;
  script.batchSize = 1;
  script.maxIterations = 32;
  Suit<TraitsType>(script, 1);
  for (const Way way : { Lent, Sent })
  {
    INFO((way == Lent ? "lent" : "sent"));
    CHECK(BrokenBaseline<TraitsType>(
              script, Play<TraitsType>(comm, script, way)) == "");
  }
}

//! A server alone has nobody to serve.
bool Alone() { return MpiCommunicator(MPI_COMM_WORLD).Size() == 1; }

} // namespace

TEST_CASE("D-PSGD keeps the mean of all models over MPI", "[mpi]")
{
  PlayMany<DpsgdTraits>(20);
  PlayLarge<DpsgdTraits>();
}

TEST_CASE("AD-PSGD keeps the mean of all models over MPI", "[mpi]")
{
  PlayMany<AdpsgdTraits>(20);
  PlayLarge<AdpsgdTraits>();
}

TEST_CASE("SWIFT loses no news and stays within its models over MPI", "[mpi]")
{
  PlayMany<SwiftTraits>(20);
  PlayLarge<SwiftTraits>();
}

TEST_CASE("a parameter server applies every gradient exactly once over MPI",
    "[mpi]")
{
  if (Alone())
    return;
  PlayMany<ServerTraits>(20);
  PlayLarge<ServerTraits>();
}
