/**
 * @file board_links.hpp
 *
 * Who shares a board with whom.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_DASGD_BOARD_LINKS_HPP
#define DASGD_DASGD_BOARD_LINKS_HPP

#include "../topology/topology.hpp"

#include <cstddef>
#include <map>
#include <numeric>
#include <vector>

namespace dasgd {

//! Which ranks share a board, and how machines are connected.
class BoardLinks
{
 public:
  /**
   * @param places The machine of each rank, numbered in any way.
   * @param topology Of machines; Auto chooses one.
   */
  explicit BoardLinks(const std::vector<size_t>& places,
                      const Topology& topology = Topology::Auto())
  {
    std::map<size_t, size_t> numbers;
    for (size_t rank = 0; rank < places.size(); ++rank)
    {
      const size_t machine = numbers.emplace(places[rank],
          carriers.size()).first->second;
      if (machine == carriers.size())
        carriers.push_back(rank);
      machines.push_back(machine);
    }
    between = topology.On(Numbers(Machines()));
  }

  //! All ranks share one.
  static BoardLinks SingleMachine(const size_t ranks)
  { return BoardLinks(std::vector<size_t>(ranks, 0)); }

  //! Each rank has one of its own, connected by a topology of ranks.
  static BoardLinks Own(const size_t ranks, const Topology& topology)
  { return BoardLinks(Numbers(ranks), topology); }

  size_t Machines() const { return carriers.size(); }
  //! The machine of each rank, numbered from 0.
  const std::vector<size_t>& All() const { return machines; }
  size_t Of(const size_t rank) const { return machines[rank]; }
  //! The rank of a machine that exchanges with others for it.
  size_t Carrier(const size_t machine) const { return carriers[machine]; }
  //! Ranks of these machines.
  std::vector<size_t> Carriers(const std::vector<size_t>& which) const
  {
    std::vector<size_t> ranks;
    for (const size_t machine : which)
      ranks.push_back(carriers[machine]);
    return ranks;
  }

  //! The topology of machines.
  const Topology& Between() const { return between; }

 private:
  static std::vector<size_t> Numbers(const size_t count)
  {
    std::vector<size_t> numbers(count);
    std::iota(numbers.begin(), numbers.end(), size_t(0));
    return numbers;
  }

  Topology between;
  std::vector<size_t> machines;
  std::vector<size_t> carriers;
};

} // namespace dasgd

#endif
