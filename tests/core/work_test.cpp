/**
 * @file work_test.cpp
 *
 * Division of work: all ranks together do what one ens::SGD would.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "catch.hpp"

#include <dasgd/run/work.hpp>

#include <map>

using namespace dasgd;

namespace {

//! Points, by number, that a rank visits in each epoch.
std::map<std::uint64_t, std::vector<size_t>> Walk(Work work)
{
  std::map<std::uint64_t, std::vector<size_t>> epochs;
  while (work.Left(0))
  {
    const Batch batch = work.Next(0);
    for (size_t i = 0; i < batch.size; ++i)
      epochs[batch.epoch].push_back(batch.begin + i);
  }
  return epochs;
}

} // namespace

TEST_CASE("every point is visited once in every epoch", "[core]")
{
  for (size_t ranks = 1; ranks <= 9; ++ranks)
  {
    for (const size_t points : { ranks, ranks + 1, size_t(20), size_t(97) })
    {
      for (const size_t batch : { 1, 4, 32, 1000 })
      {
        if (points < ranks)
          continue;
        std::map<std::uint64_t, std::vector<size_t>> visits;
        for (size_t rank = 0; rank < ranks; ++rank)
        {
          const Work work(std::vector<size_t>(ranks, points), rank,
              Data::Replicated, Sharing::Static, batch, 3 * points);
          for (const auto& epoch : Walk(work))
          {
            std::vector<size_t>& all = visits[epoch.first];
            all.resize(points, 0);
            for (const size_t point : epoch.second)
              ++all[point];
          }
        }
        INFO(ranks << " ranks, " << points << " points, batch " << batch);
        CHECK(visits.size() == 3);
        for (const auto& epoch : visits)
          CHECK(epoch.second == std::vector<size_t>(points, 1));
      }
    }
  }
}

TEST_CASE("MaxIterations counts points over all ranks", "[core]")
{
  for (const Data data : { Data::Replicated, Data::Sharded })
  {
    for (size_t ranks = 1; ranks <= 7; ++ranks)
    {
      std::vector<size_t> points(ranks, 23);
      for (size_t i = 0; data == Data::Sharded && i < ranks; ++i)
        points[i] = 3 + 7 * i;
      for (const size_t most : { 1, 5, 22, 23, 24, 46, 100, 1000, 4321 })
      {
        std::uint64_t total = 0;
        for (size_t rank = 0; rank < ranks; ++rank)
        {
          Work work(points, rank, data, Sharing::Static, 4, most);
          while (work.Left(0))
          {
            const Batch batch = work.Next(0);
            CHECK(batch.size > 0);
            CHECK(batch.begin + batch.size <= points[rank]);
          }
          total += work.Walked();
        }
        INFO(ranks << " ranks, " << ToString(data));
        CHECK(total == most);
      }
    }
  }
}

TEST_CASE("one rank takes the batches of ens::SGD", "[core]")
{
  // Written down from ens::SGD's loop.
  const size_t points = 10, batchSize = 4, most = 23;
  std::vector<std::pair<size_t, size_t>> expected, seen;
  for (size_t i = 0, current = 0; i < most; )
  {
    const size_t size = std::min(std::min(batchSize, most - i),
        points - current);
    expected.emplace_back(current, size);
    i += size;
    current = (current + size) % points;
  }
  Work work({ points }, 0, Data::Replicated, Sharing::Static, batchSize, most);
  while (work.Left(0))
  {
    const Batch batch = work.Next(0);
    seen.emplace_back(batch.begin, batch.size);
  }
  CHECK(seen == expected);
}

TEST_CASE(
    "the batches of an epoch are those of ens::SGD on any number of ranks",
    "[core]")
{
  for (size_t ranks = 1; ranks <= 8; ++ranks)
  {
    for (const size_t points : { 64, 67, 100, 1000 })
    {
      const size_t batchSize = 8;
      std::vector<std::pair<size_t, size_t>> expected, seen;
      for (size_t i = 0; i < points; i += batchSize)
        expected.emplace_back(i, std::min(batchSize, points - i));
      for (size_t rank = 0; rank < ranks; ++rank)
      {
        Work work(std::vector<size_t>(ranks, points), rank, Data::Replicated,
            Sharing::Static, batchSize, points);
        while (work.Left(0))
        {
          const Batch batch = work.Next(0);
          seen.emplace_back(batch.begin, batch.size);
        }
      }
      std::sort(seen.begin(), seen.end());
      INFO(ranks << " ranks, " << points << " points");
      CHECK(seen == expected);
    }
  }
}

TEST_CASE("a last epoch that is cut short has at most one short batch more",
    "[core]")
{
  for (size_t ranks = 1; ranks <= 6; ++ranks)
  {
    for (const size_t points : { 48, 50, 97 })
    {
      for (size_t most = 1; most < 3 * points; ++most)
      {
        size_t total = 0, odd = 0;
        for (size_t rank = 0; rank < ranks; ++rank)
        {
          Work work(std::vector<size_t>(ranks, points), rank, Data::Replicated,
              Sharing::Static, 8, most);
          while (work.Left(0))
          {
            const Batch batch = work.Next(0);
            total += batch.size;
            odd += (batch.size != 8 && batch.begin + batch.size != points);
            if (batch.begin + batch.size > points)
              FAIL_CHECK("beyond the data");
          }
        }
        if (total != most || odd > 1)
        {
          FAIL_CHECK(ranks << " ranks, " << points << " points, max " << most
              << ": visited " << total << ", " << odd << " short batches");
        }
      }
    }
  }
}

TEST_CASE("a rank comes past all points before it shuffles", "[core]")
{
  for (size_t ranks = 1; ranks <= 5; ++ranks)
  {
    for (size_t rank = 0; rank < ranks; ++rank)
    {
      Work work(std::vector<size_t>(ranks, 17), rank, Data::Replicated,
          Sharing::Static, 3, 0);
      std::vector<size_t> visits(17, 0);
      do
      {
        const Batch batch = work.Next(0);
        for (size_t i = 0; i < batch.size; ++i)
          ++visits[batch.begin + i];
      } while (!work.PassEnded());
      CHECK(visits == std::vector<size_t>(17, 1));
    }
  }
}

TEST_CASE("dynamic sharing goes on until enough is known to be done", "[core]")
{
  Work work({ 10, 10 }, 1, Data::Replicated, Sharing::Dynamic, 4, 30);
  CHECK(work.Left(29));
  CHECK(!work.Left(30));
  CHECK(!work.Left(31));
  const Batch first = work.Next(0);
  CHECK(first.begin == 4); // Its own slice first: the second batch of three.
  CHECK(first.size == 4);
  CHECK(first.epoch == 1);
  CHECK(work.Next(12).epoch == 2);
  CHECK(work.Next(29).size == 1);
}

TEST_CASE("a rank can go where another was", "[core]")
{
  for (size_t ranks = 1; ranks <= 5; ++ranks)
  {
    for (const Data data : { Data::Replicated, Data::Sharded })
    {
      for (const Sharing sharing : { Sharing::Static, Sharing::Dynamic })
      {
        for (const std::uint64_t before : { 0, 3, 45, 46, 100 })
        {
          const std::vector<size_t> points(ranks, 23);
          const Work start(points, ranks - 1, data, sharing, 4, 1000, before);
          Work work = start;
          std::uint64_t known = before;
          while (work.Left(known))
          {
            const Batch batch = work.Next(known);
            known += batch.size * (sharing == Sharing::Dynamic ? ranks : 1);
            // Straight there, and on.
            Work other = start;
            other.Walk(work.Walked());
            INFO(ranks << " ranks, " << ToString(data) << ", "
                << ToString(sharing) << ", " << before << " before, at "
                << work.Walked());
            REQUIRE(other.Walked() == work.Walked());
            REQUIRE(other.Left(known) == work.Left(known));
            REQUIRE(other.PassEnded() == work.PassEnded());
            REQUIRE(other.Passes() == work.Passes());
            if (work.Left(known))
            {
              Work next = work;
              const Batch mine = next.Next(known), theirs = other.Next(known);
              REQUIRE(theirs.begin == mine.begin);
              REQUIRE(theirs.size == mine.size);
              REQUIRE(theirs.epoch == mine.epoch);
            }
          }
        }
      }
    }
  }
}

TEST_CASE("passes end as often as all points were walked past", "[core]")
{
  for (const Data data : { Data::Replicated, Data::Sharded })
  {
    for (const Sharing sharing : { Sharing::Static, Sharing::Dynamic })
    {
      for (const std::uint64_t before : { 0, 57, 150, 1000 })
      {
        for (size_t rank = 0; rank < 2; ++rank)
        {
          Work work({ 203, 203 }, rank, data, sharing, 5, 0, before);
          size_t passes = 0;
          while (work.Walked() < 10 * 203)
          {
            work.Next(before);
            passes += work.PassEnded();
          }
          INFO(ToString(data) << ", " << ToString(sharing) << ", " << before
              << " before, rank " << rank);
          CHECK(passes >= 9);
          CHECK(passes <= 11);
        }
      }
    }
  }
}

TEST_CASE("an epoch that had begun before is completed first", "[core]")
{
  for (size_t ranks = 1; ranks <= 6; ++ranks)
  {
    for (const size_t batch : { 1, 4, 50 })
    {
      for (std::uint64_t before = 0; before <= 140; before += 7)
      {
        std::map<std::uint64_t, size_t> visited;
        std::map<std::uint64_t, std::vector<size_t>> whole;
        for (size_t rank = 0; rank < ranks; ++rank)
        {
          const Work work(std::vector<size_t>(ranks, 40), rank,
              Data::Replicated, Sharing::Static, batch, 200, before);
          for (const auto& epoch : Walk(work))
          {
            visited[epoch.first] += epoch.second.size();
            std::vector<size_t>& all = whole[epoch.first];
            all.resize(40, 0);
            for (const size_t point : epoch.second)
              ++all[point];
          }
        }
        INFO(ranks << " ranks, batch " << batch << ", " << before
            << " before");
        for (std::uint64_t epoch = 1; epoch <= 5; ++epoch)
        {
          const std::uint64_t begin = std::max(40 * (epoch - 1), before);
          const size_t due = (begin < 40 * epoch) ? size_t(40 * epoch - begin) :
              0;
          CHECK(visited[epoch] == due);
          if (due == 40)
            CHECK(whole[epoch] == std::vector<size_t>(40, 1));
        }
      }
    }
  }
}
