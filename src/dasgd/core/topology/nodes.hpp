/**
 * @file nodes.hpp
 *
 * Two levels: ranks of a machine, and machines.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_CORE_TOPOLOGY_NODES_HPP
#define DASGD_CORE_TOPOLOGY_NODES_HPP

#include "complete.hpp"
#include "exponential.hpp"

#include <algorithm>
#include <map>
#include <memory>

namespace dasgd {
namespace detail {

//! Up to so many, everyone sends to everyone; beyond, `exponential` is better.
constexpr size_t mostComplete = 8;

//! The shape of one level.
inline std::shared_ptr<const Shape> LevelShape(const size_t members)
{
  if (members <= mostComplete)
    return std::make_shared<const CompleteShape>();
  return std::make_shared<const ExponentialShape>();
}

/**
 * A gradient is passed to all ranks of its machine and, over the links between
 * machines, to one rank of each other machine, which passes it to all there as
 * if it were its own.  Each link between two machines belongs to one rank at
 * either end, and a machine's links are spread over its ranks.  So what goes
 * from one machine to another goes there once, however many ranks there are.
 *
 * A route class has two parts: how far the gradient has come between machines
 * (0: it has not left the first one; otherwise 1 + the class of its last hop
 * between machines), and within the machine (the class of its last hop there,
 * or `entered` if it has just come from another machine).  Class 0 is for
 * frames that go no further, wherever they come from.
 */
class NodesShape : public Shape
{
 public:
  //! @param machines The machine of each rank, numbered in any way.
  explicit NodesShape(const std::vector<size_t>& machines)
  {
    std::map<size_t, size_t> numbers;
    for (size_t rank = 0; rank < machines.size(); ++rank)
    {
      const size_t machine = numbers.emplace(machines[rank],
          members.size()).first->second;
      if (machine == members.size())
        members.emplace_back();
      places.push_back({ machine, members[machine].size() });
      members[machine].push_back(rank);
    }
    if (places.empty())
      throw std::invalid_argument("topology nodes: there is no rank");

    between = LevelShape(Machines());
    for (const std::vector<size_t>& here : members)
    {
      within.push_back(LevelShape(here.size()));
      if (here.size() > mostComplete)
        entered = std::max(entered, 2 * Bits(here.size()));
    }
    for (size_t machine = 0; machine < Machines(); ++machine)
      AddLinks(machine);
  }

  std::string Name() const override
  {
    std::string name = "nodes:";
    if (Regular())
    {
      return name + std::to_string(Machines()) + "x" +
          std::to_string(members[0].size());
    }
    for (const std::vector<size_t>& here : members)
      name += (&here == &members[0] ? "" : "/") + Ranges(here);
    return name;
  }

  void Check(const size_t ranks) const override
  {
    if (ranks == places.size())
      return;
    throw std::invalid_argument("topology " + Shown(Name()) + " is for " +
        Count(places.size()) + ", but " + Running(ranks) + "; start " +
        Count(places.size()) + " or choose nodes, which goes by the machines "
        "that ranks run on");
  }

  std::vector<Hop> Emit(size_t, const size_t rank) const override
  {
    const Place& place = places[rank];
    return Hops(place, within[place.machine]->Emit(Size(place), place.member),
        0, between->Emit(Machines(), place.machine));
  }

  std::vector<Hop> Forward(const size_t ranks,
                           const size_t rank,
                           const size_t routeClass) const override
  {
    // Some classes do not get to every rank.
    for (const Arrival& arrival : Arrivals(ranks, rank))
    {
      if (arrival.routeClass == routeClass)
        return arrival.onward;
    }
    return { };
  }

  std::vector<Arrival> Arrivals(size_t, const size_t rank) const override
  {
    const Place& place = places[rank];
    std::vector<Arrival> arrivals;
    const auto add = [&](const size_t sender, const size_t routeClass)
    {
      if (std::none_of(arrivals.begin(), arrivals.end(),
          [&](const Arrival& known) { return known.sender == sender &&
              known.routeClass == routeClass; }))
      {
        arrivals.push_back({ sender, routeClass, Onward(place, routeClass) });
      }
    };
    // Of this machine's own gradients.
    const std::vector<size_t>& here = members[place.machine];
    for (const Arrival& arrival : within[place.machine]->Arrivals(Size(place),
        place.member))
      add(here[arrival.sender], Class(place, 0, arrival.routeClass));
    // Of others'.
    for (const Arrival& arrival : between->Arrivals(Machines(), place.machine))
    {
      const size_t came = arrival.routeClass + 1;
      const size_t entry = Entry(place.machine, arrival.sender);
      if (entry == place.member)
      {
        add(members[arrival.sender][Exit(arrival.sender, place.machine)],
            Class(place, came, entered));
        continue;
      }
      const Step last = LastStep(place, entry);
      add(here[last.sender], Class(place, came, last.routeClass));
    }
    return arrivals;
  }

  size_t Hops(size_t) const override
  {
    size_t most = 0;
    std::map<size_t, std::vector<std::vector<size_t>>> known;
    std::vector<const std::vector<std::vector<size_t>>*> distances;
    for (size_t machine = 0; machine < Machines(); ++machine)
    {
      const size_t size = members[machine].size();
      if (known.count(size) == 0)
        known.emplace(size, Distances(*within[machine], size));
      distances.push_back(&known.at(size));
    }
    for (const Place& origin : places)
    {
      // Machines that are reached: with which class, by whom, after how many.
      struct Reached { size_t machine; size_t came; size_t entry; size_t hops; };
      std::vector<Reached> all{ { origin.machine, 0, origin.member, 0 } };
      for (size_t i = 0; i < all.size(); ++i)
      {
        const Reached at = all[i];
        const std::vector<size_t>& from = (*distances[at.machine])[at.entry];
        most = std::max(most, at.hops + *std::max_element(from.begin(),
            from.end()));
        for (const Hop& hop : Between(at.machine, at.came))
        {
          all.push_back({ hop.neighbour, hop.routeClass + 1,
              Entry(hop.neighbour, at.machine), at.hops + 1 +
              from[Exit(at.machine, hop.neighbour)] });
        }
      }
    }
    return most;
  }

 private:
  //! Which machine a rank runs on, and which of its ranks it is.
  struct Place
  {
    size_t machine;
    size_t member;
  };

  //! The last hop within a machine: by which member, with which class there.
  struct Step
  {
    size_t sender;
    size_t routeClass;
  };

  size_t Machines() const { return members.size(); }
  size_t Size(const Place& place) const
  { return members[place.machine].size(); }

  static size_t Bits(const size_t members)
  {
    size_t bits = 0;
    while (((members - 1) >> bits) > 0)
      ++bits;
    return bits;
  }

  //! Have all machines as many ranks, numbered one after the other?
  bool Regular() const
  {
    const size_t size = members[0].size();
    for (size_t rank = 0; rank < places.size(); ++rank)
    {
      if (places[rank].machine != rank / size)
        return false;
    }
    return places.size() == Machines() * size;
  }

  //! Some ranks as a text, such as 0-3,6.
  static std::string Ranges(const std::vector<size_t>& ranks)
  {
    std::string text;
    for (size_t i = 0; i < ranks.size(); ++i)
    {
      const size_t first = ranks[i];
      while (i + 1 < ranks.size() && ranks[i + 1] == ranks[i] + 1)
        ++i;
      text += (text.empty() ? "" : ",") + std::to_string(first);
      if (ranks[i] > first)
        text += "-" + std::to_string(ranks[i]);
    }
    return text;
  }

  //! Which machines does this one have links to, and from?
  void AddLinks(const size_t machine)
  {
    std::vector<size_t> to, from;
    const auto addHops = [&](const std::vector<Hop>& hops)
    {
      for (const Hop& hop : hops)
        to.push_back(hop.neighbour);
    };
    addHops(between->Emit(Machines(), machine));
    for (const Arrival& arrival : between->Arrivals(Machines(), machine))
    {
      from.push_back(arrival.sender);
      addHops(arrival.onward);
    }
    for (std::vector<size_t>* peers : { &to, &from })
    {
      std::sort(peers->begin(), peers->end());
      peers->erase(std::unique(peers->begin(), peers->end()), peers->end());
    }
    sendTo.push_back(std::move(to));
    receiveFrom.push_back(std::move(from));
  }

  //! The member of a machine whose link it is: one after the other.
  size_t Owner(const size_t machine,
               const std::vector<size_t>& peers,
               const size_t peer) const
  {
    return size_t(std::lower_bound(peers.begin(), peers.end(), peer) -
        peers.begin()) % members[machine].size();
  }

  //! The member that sends to another machine, or receives from it.
  size_t Exit(const size_t machine, const size_t to) const
  { return Owner(machine, sendTo[machine], to); }
  size_t Entry(const size_t machine, const size_t from) const
  { return Owner(machine, receiveFrom[machine], from); }

  //! Hops between machines, from one that a gradient has come to.
  std::vector<Hop> Between(const size_t machine, const size_t came) const
  {
    return (came == 0) ? between->Emit(Machines(), machine) :
        between->Forward(Machines(), machine, came - 1);
  }

  //! Hops within the machine of a rank that a frame has come to.
  std::vector<Hop> Within(const Place& place, const size_t last) const
  {
    const Shape& shape = *within[place.machine];
    return (last == entered) ? shape.Emit(Size(place), place.member) :
        shape.Forward(Size(place), place.member, last);
  }

  //! The class of a frame that gets to a rank; 0 if it goes no further.
  size_t Class(const Place& place, const size_t came, const size_t last) const
  {
    bool further = !Within(place, last).empty();
    for (const Hop& hop : Between(place.machine, came))
      further |= (Exit(place.machine, hop.neighbour) == place.member);
    return further ? 1 + came * (entered + 1) + last : 0;
  }

  //! All hops of a rank: within its machine, and on the links that it has.
  std::vector<Hop> Hops(const Place& place,
                        const std::vector<Hop>& local,
                        const size_t came,
                        const std::vector<Hop>& distant) const
  {
    std::vector<Hop> hops;
    for (const Hop& hop : local)
    {
      hops.push_back({ members[place.machine][hop.neighbour],
          Class({ place.machine, hop.neighbour }, came, hop.routeClass) });
    }
    for (const Hop& hop : distant)
    {
      if (Exit(place.machine, hop.neighbour) != place.member)
        continue;
      const Place to{ hop.neighbour, Entry(hop.neighbour, place.machine) };
      hops.push_back({ members[to.machine][to.member],
          Class(to, hop.routeClass + 1, entered) });
    }
    return hops;
  }

  //! Where a frame goes on to that has got to a rank.
  std::vector<Hop> Onward(const Place& place, const size_t routeClass) const
  {
    if (routeClass == 0)
      return { };
    const size_t came = (routeClass - 1) / (entered + 1);
    return Hops(place, Within(place, (routeClass - 1) % (entered + 1)), came,
        Between(place.machine, came));
  }

  //! Follow a machine's own routes from one member, to the step that gets to a
  //! rank.
  Step LastStep(const Place& place, const size_t from) const
  {
    const Shape& shape = *within[place.machine];
    struct Frame { size_t sender; Hop hop; };
    std::vector<Frame> frames;
    for (const Hop& hop : shape.Emit(Size(place), from))
      frames.push_back({ from, hop });
    for (size_t i = 0; i < frames.size(); ++i)
    {
      const Frame frame = frames[i];
      if (frame.hop.neighbour == place.member)
        return { frame.sender, frame.hop.routeClass };
      for (const Hop& hop : shape.Forward(Size(place), frame.hop.neighbour,
          frame.hop.routeClass))
        frames.push_back({ frame.hop.neighbour, hop });
    }
    throw std::logic_error("topology nodes: a rank is not reached");
  }

  //! Hops from each member to each other.
  static std::vector<std::vector<size_t>> Distances(const Shape& shape,
                                                    const size_t size)
  {
    std::vector<std::vector<size_t>> all(size, std::vector<size_t>(size, 0));
    struct Frame { Hop hop; size_t hops; };
    for (size_t from = 0; from < size; ++from)
    {
      std::vector<Frame> frames;
      for (const Hop& hop : shape.Emit(size, from))
        frames.push_back({ hop, 1 });
      for (size_t i = 0; i < frames.size(); ++i)
      {
        const Frame frame = frames[i];
        all[from][frame.hop.neighbour] = frame.hops;
        for (const Hop& hop : shape.Forward(size, frame.hop.neighbour,
            frame.hop.routeClass))
          frames.push_back({ hop, frame.hops + 1 });
      }
    }
    return all;
  }

  std::vector<Place> places;
  //! Ranks by machine.
  std::vector<std::vector<size_t>> members;
  std::vector<std::shared_ptr<const Shape>> within;
  std::shared_ptr<const Shape> between;
  //! Links between machines, by machine.
  std::vector<std::vector<size_t>> sendTo;
  std::vector<std::vector<size_t>> receiveFrom;
  //! One above the largest class within a machine.
  size_t entered = 1;
};

} // namespace detail
} // namespace dasgd

#endif
