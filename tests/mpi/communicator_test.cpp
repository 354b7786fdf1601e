/**
 * @file communicator_test.cpp
 *
 * The collective operations that open and close a run.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "catch.hpp"

#include <dasgd/mpi/mpi_communicator.hpp>
#include <dasgd/mpi/mpi_root_stream.hpp>

using namespace dasgd;

TEST_CASE("Gather() brings everybody's text, by rank", "[communicator]")
{
  const MpiCommunicator comm(MPI_COMM_WORLD);
  // Of different lengths, empty ones and bytes that end C strings among them.
  const auto text = [](const size_t rank)
  {
    return std::string(rank % 3 * 1000, char('a' + rank)) +
        std::string(rank % 2, '\0');
  };
  const std::vector<std::string> all = comm.Gather(text(comm.Rank()));
  CHECK(all.size() == comm.Size());
  for (size_t i = 0; i < all.size(); ++i)
    CHECK(all[i] == text(i));
  for (const std::string& nothing : comm.Gather(std::string()))
    CHECK(nothing.empty());
}

TEST_CASE("Gather() brings everybody's number, by rank", "[communicator]")
{
  const MpiCommunicator comm(MPI_COMM_WORLD);
  const std::uint64_t large = std::numeric_limits<std::uint64_t>::max();
  const std::vector<std::uint64_t> counts = comm.Gather(large -
      std::uint64_t(comm.Rank()));
  const std::vector<double> values = comm.Gather(0.1 * double(comm.Rank()));
  CHECK(counts.size() == comm.Size());
  CHECK(values.size() == comm.Size());
  for (size_t i = 0; i < comm.Size(); ++i)
  {
    CHECK(counts[i] == large - i);
    CHECK(values[i] == 0.1 * double(i));
  }
}

TEST_CASE("Broadcast() makes rank 0's bytes everybody's", "[communicator]")
{
  const MpiCommunicator comm(MPI_COMM_WORLD);
  for (const size_t size : { 0, 1, 1000, 3000000 })
  {
    std::vector<std::uint8_t> bytes(size, std::uint8_t(comm.Rank()));
    if (comm.Rank() == 0)
    {
      for (size_t i = 0; i < size; ++i)
        bytes[i] = std::uint8_t(i * 7);
    }
    comm.Broadcast(bytes.data(), size);
    bool same = true;
    for (size_t i = 0; i < size; ++i)
      same = same && bytes[i] == std::uint8_t(i * 7);
    CHECK(same);
  }
}

TEST_CASE("A communicator is a duplicate of the user's", "[communicator]")
{
  // In reverse order, so that ranks differ from the world's.
  int world = 0, ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &world);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm reversed;
  MPI_Comm_split(MPI_COMM_WORLD, 0, -world, &reversed);
  const MpiCommunicator comm(reversed);
  CHECK(comm.Size() == size_t(ranks));
  CHECK(comm.Rank() == size_t(ranks - 1 - world));
  // One of a single rank needs none of its own.
  int relation = MPI_CONGRUENT;
  if (ranks > 1)
    MPI_Comm_compare(comm.Handle(), reversed, &relation);
  CHECK(relation == MPI_CONGRUENT);

  // It outlives the one it was made from.
  MPI_Comm_free(&reversed);
  CHECK(comm.Gather(std::uint64_t(1)).size() == size_t(ranks));
}

TEST_CASE("A communicator that this rank is not part of is refused",
    "[communicator]")
{
  CHECK_THROWS_AS(MpiCommunicator(MPI_COMM_NULL), std::invalid_argument);
}

TEST_CASE("Ranks on this machine are counted", "[communicator]")
{
  // The tests run on one machine.
  const MpiCommunicator world(MPI_COMM_WORLD);
  CHECK(world.Machines() == std::vector<size_t>(world.Size(), 0));
  const MpiCommunicator alone(MPI_COMM_SELF);
  CHECK(alone.Machines() == std::vector<size_t>(1, 0));
}

TEST_CASE("An error code becomes an exception that names the call",
    "[communicator]")
{
  CHECK_NOTHROW(mpi::Check(MPI_SUCCESS, "MPI_Nothing"));
  CHECK_THROWS_WITH(mpi::Check(MPI_ERR_TRUNCATE, "MPI_Something"),
      Catch::Matchers::ContainsSubstring("MPI_Something"));

  // Ours return codes instead of ending the program.
  const MpiCommunicator comm(MPI_COMM_WORLD);
  int value = 0;
  CHECK_THROWS_AS(mpi::Check(MPI_Send(&value, 1, MPI_INT, int(comm.Size()), 0,
      comm.Handle()), "MPI_Send"), std::runtime_error);
}

TEST_CASE("Initialize() leaves an initialised MPI alone", "[communicator]")
{
  CHECK_NOTHROW(mpi::Initialize());
  CHECK_NOTHROW(mpi::Initialize());
}
