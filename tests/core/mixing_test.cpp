/**
 * @file mixing_test.cpp
 *
 * The weights with which models are averaged keep their mean, and bring all of
 * them to it.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include <dasgd/topology/mixing.hpp>
#include <dasgd/core/random.hpp>

#include <armadillo>

#include "catch.hpp"

using namespace dasgd;

namespace {

//! Topologies of every sort that fit this many ranks.
std::vector<Topology> MixedTopologies(const size_t ranks)
{
  std::vector<Topology> all = { "complete", "ring", "exponential", "tree:1",
      "tree:2", "tree:3" };
  for (size_t rows = 1; rows <= ranks; ++rows)
  {
    if (ranks % rows == 0)
      all.push_back(Topology::Mesh(rows, ranks / rows));
  }
  if (ranks < 2)
    return all;

  std::vector<std::pair<size_t, size_t>> star, bell;
  for (size_t i = 0; i + 1 < ranks; ++i)
    star.emplace_back(ranks - 1, i);
  // All of one half are linked with each other, the rest is a chain.
  for (size_t i = 1; i < ranks; ++i)
  {
    bell.emplace_back(i - 1, i);
    for (size_t j = 0; i < ranks / 2 && j + 1 < i; ++j)
      bell.emplace_back(j, i);
  }
  all.push_back(Topology::Graph(star));
  all.push_back(Topology::Graph(bell));

  // Every rank is linked to one before it, and then some more.
  for (std::uint64_t seed = 1; seed <= 3; ++seed)
  {
    Random random(Mix(seed, ranks));
    std::vector<std::pair<size_t, size_t>> edges;
    for (size_t i = 1; i < ranks; ++i)
      edges.emplace_back(i, random.Below(i));
    for (size_t i = random.Below(2 * ranks); i > 0; --i)
    {
      const size_t from = random.Below(ranks), to = random.Below(ranks);
      if (from != to)
        edges.emplace_back(from, to);
    }
    all.push_back(Topology::Graph(edges));
  }
  return all;
}

//! Call something with every topology and number of ranks.
template<typename ActionType>
void ForAll(ActionType&& action)
{
  for (size_t ranks = 1; ranks <= 20; ++ranks)
  {
    for (const Topology& topology : MixedTopologies(ranks))
    {
      INFO(topology.Name() << ", " << ranks << " ranks");
      action(topology, ranks);
    }
  }
}

//! All rows as one matrix.
arma::mat Weights(const Topology& topology, const size_t ranks)
{
  arma::mat weights(ranks, ranks, arma::fill::zeros);
  for (size_t i = 0; i < ranks; ++i)
  {
    const Mixing mixing(topology, ranks, i);
    weights(i, i) = mixing.Own();
    for (size_t k = 0; k < mixing.Neighbours().size(); ++k)
      weights(i, mixing.Neighbours()[k]) += mixing.Weights()[k];
  }
  return weights;
}

} // namespace

TEST_CASE("neighbours in mixing are mutual, ascending, and others", "[mixing]")
{
  ForAll([](const Topology& topology, const size_t ranks)
  {
    std::vector<std::vector<size_t>> all;
    for (size_t i = 0; i < ranks; ++i)
    {
      const Mixing mixing(topology, ranks, i);
      all.push_back(mixing.Neighbours());
      CHECK(mixing.Weights().size() == all[i].size());
      CHECK(std::is_sorted(all[i].begin(), all[i].end()));
      CHECK(std::adjacent_find(all[i].begin(), all[i].end()) == all[i].end());
    }
    size_t oneSided = 0, strange = 0;
    for (size_t i = 0; i < ranks; ++i)
    {
      for (const size_t peer : all[i])
      {
        strange += (peer == i || peer >= ranks);
        oneSided += peer < ranks && !std::binary_search(all[peer].begin(),
            all[peer].end(), i);
      }
    }
    CHECK(strange == 0);
    CHECK(oneSided == 0);
  });
}

TEST_CASE("the weights of mixing are symmetric, and rows and columns sum to 1",
    "[mixing]")
{
  ForAll([](const Topology& topology, const size_t ranks)
  {
    const arma::mat weights = Weights(topology, ranks);
    CHECK(weights.min() >= 0);
    CHECK(weights.diag().min() > 0);
    CHECK(arma::abs(weights - weights.t()).max() == 0);
    CHECK(arma::abs(arma::sum(weights, 0) - 1).max() < 1e-12);
    CHECK(arma::abs(arma::sum(weights, 1) - 1).max() < 1e-12);
  });
}

TEST_CASE("neighbours weigh what the one with more of them can give",
    "[mixing]")
{
  ForAll([](const Topology& topology, const size_t ranks)
  {
    const arma::mat weights = Weights(topology, ranks);
    std::vector<size_t> degrees(ranks, 0);
    for (size_t i = 0; i < ranks; ++i)
      for (size_t j = 0; j < ranks; ++j)
        degrees[i] += (i != j && weights(i, j) > 0);
    double worst = 0;
    for (size_t i = 0; i < ranks; ++i)
    {
      for (size_t j = 0; j < ranks; ++j)
      {
        if (i == j || weights(i, j) == 0)
          continue;
        worst = std::max(worst, std::abs(weights(i, j) - 1.0 /
            double(1 + std::max(degrees[i], degrees[j]))));
      }
    }
    CHECK(worst < 1e-15);
  });
}

TEST_CASE("mixing again and again makes all models their mean", "[mixing]")
{
  // The slowest is the chain of 20 ranks, whose second eigenvalue is
  // 1 - 2 / 3 * (1 - cos(pi / 20)) = 0.992; its power 2^14 is nothing, while
  // rounding grows with the power to about 1e-12.
  ForAll([](const Topology& topology, const size_t ranks)
  {
    arma::mat power = Weights(topology, ranks);
    for (size_t i = 0; i < 14; ++i)
      power = power * power;
    CHECK(arma::abs(power - 1.0 / double(ranks)).max() < 1e-10);
  });
}
