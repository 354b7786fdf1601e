/**
 * @file report_test.cpp
 *
 * The account of a run: complete, consistent, the same on all ranks.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "probe.hpp"

#include "catch.hpp"

#include <cctype>
#include <cstring>
#include <sstream>

using namespace tests;

namespace {

//! Just enough of JSON to say whether a text is some.
class Json
{
 public:
  static bool Valid(const std::string& text)
  {
    Json json(text);
    const bool value = json.Value();
    json.Space();
    return value && json.at == text.size();
  }

 private:
  explicit Json(const std::string& text) : text(text) { }

  char Now() const { return (at < text.size()) ? text[at] : '\0'; }

  void Space()
  {
    while (std::isspace(static_cast<unsigned char>(Now())))
      ++at;
  }

  bool Take(const char c)
  {
    Space();
    if (Now() != c)
      return false;
    ++at;
    return true;
  }

  bool Word(const std::string& word)
  {
    if (text.compare(at, word.size(), word) != 0)
      return false;
    at += word.size();
    return true;
  }

  bool Value()
  {
    Space();
    switch (Now())
    {
      case '{': return Members('{', '}', true);
      case '[': return Members('[', ']', false);
      case '"': return String();
      case 't': return Word("true");
      case 'f': return Word("false");
      case 'n': return Word("null");
      default: return Number();
    }
  }

  bool Members(const char open, const char close, const bool named)
  {
    Take(open);
    if (Take(close))
      return true;
    do
    {
      Space();
      if (named && !(String() && Take(':')))
        return false;
      if (!Value())
        return false;
    } while (Take(','));
    return Take(close);
  }

  bool String()
  {
    if (!Take('"'))
      return false;
    while (Now() != '"')
    {
      if (static_cast<unsigned char>(Now()) < 0x20)
        return false;
      if (Now() == '\\')
      {
        ++at;
        if (Now() == 'u')
        {
          for (size_t i = 0; i < 4; ++i)
          {
            ++at;
            if (!std::isxdigit(static_cast<unsigned char>(Now())))
              return false;
          }
        }
        else if (!std::strchr("\"\\/bfnrt", Now()))
          return false;
      }
      ++at;
    }
    ++at;
    return true;
  }

  bool Number()
  {
    char* end = nullptr;
    const char* begin = text.c_str() + at;
    if (*begin != '-' && !std::isdigit(static_cast<unsigned char>(*begin)))
      return false;
    std::strtod(begin, &end);
    at += size_t(end - begin);
    return end != begin;
  }

  const std::string& text;
  size_t at = 0;
};

//! What must hold of any run.
void CheckAccount(const dasgd::Report& report)
{
  CHECK(report.ranks.size() == Ranks());
  std::uint64_t framesSent = 0, framesReceived = 0;
  std::uint64_t bytesSent = 0, bytesReceived = 0;
  for (const dasgd::RankReport& rank : report.ranks)
  {
    CHECK(rank.applied == report.Gradients());
    CHECK(rank.points >= rank.computed);
    CHECK(rank.staleness.Measured() + rank.staleness.Skipped() ==
        rank.applied);
    CHECK(rank.staleness.Mean() <= double(rank.staleness.Max()));
    CHECK(rank.peakVectors <= rank.vectorBound);
    CHECK((rank.peakVectors > 0) == (Ranks() > 1));
    CHECK(rank.largestFrame <= report.Gradients());
    CHECK(rank.secondsComputing >= 0);
    CHECK(rank.secondsExchanging >= 0);
    CHECK(rank.secondsIdle >= 0);
    framesSent += rank.framesSent;
    framesReceived += rank.framesReceived;
    bytesSent += rank.bytesSent;
    bytesReceived += rank.bytesReceived;
  }
  CHECK(framesSent == framesReceived);
  CHECK(bytesSent == bytesReceived);
  // On a board there are none.
  CHECK((framesSent > 0) == (Ranks() > 1 && report.topology != "board"));
  CHECK(Json::Valid(report.Json()));
  CHECK(Same(report.Json()));
  std::ostringstream table;
  table << report;
  CHECK(Same(table.str()));
}

} // namespace

TEST_CASE("The report accounts for every gradient, point and frame",
    "[report]")
{
  for (const dasgd::Topology& topology : Topologies(Ranks()))
  {
    for (const dasgd::Sharing sharing : { dasgd::Sharing::Static,
        dasgd::Sharing::Dynamic })
    {
      INFO(topology.Name() << ", " << dasgd::ToString(sharing));
      Probe probe(60, 20);
      arma::mat iterate(20, 1, arma::fill::zeros);
      FixedDASGD optimizer(MeanStep(1e-3, 4), 4, 600, -1);
      optimizer.Topology() = topology;
      optimizer.Sharing() = sharing;
      Optimize(optimizer, probe, iterate);

      const dasgd::Report& report = optimizer.Report();
      CheckAccount(report);
      CHECK(report.ranks[Rank()].computed == probe.calls);
      CHECK(report.Gradients() == Sum(double(probe.calls)));
      CHECK(report.algorithm == "DASGD");
      // On one machine auto is a board.
      const bool chosen = (topology == dasgd::Topology::Auto());
      const std::vector<size_t> machines(Ranks(), 0);
      CHECK(report.topology == (chosen && Ranks() > 1 ? "board" :
          topology.On(machines).Name()));
      CHECK(report.whyTopology == (chosen ? "auto, for 1 machine of " +
          std::to_string(Ranks()) + (Ranks() == 1 ? " rank" : " ranks") : ""));
      CHECK(report.sharing == sharing);
      CHECK(report.elements == 20);
      CHECK(report.elementBytes == 8);
      CHECK(report.epochPoints == 60);
      CHECK(report.maxIterations == 600);
      CHECK(report.reason == dasgd::StopReason::Budget);
      CHECK(report.outsideTheorem.empty());
    }
  }
}

TEST_CASE("A run that was stopped is accounted for as well", "[report]")
{
  Probe probe(60, 20);
  arma::mat iterate(20, 1, arma::fill::zeros);
  FixedDASGD optimizer(MeanStep(1e-3, 4), 4, 0, -1);
  Hooks hooks;
  hooks.step = [&]() { return Rank() == 0 && hooks.steps == 30; };
  Optimize(optimizer, probe, iterate, hooks);
  CheckAccount(optimizer.Report());
}

TEST_CASE("A run that failed is accounted for, whatever the error says",
    "[report]")
{
  Probe probe(60, 20);
  arma::mat iterate(20, 1, arma::fill::zeros);
  FixedDASGD optimizer(MeanStep(1e-3, 4), 4, 0, -1);
  const std::string text = "quote \" backslash \\ tab \t newline \n bell \a";
  probe.onGradient = [&]()
  {
    if (Rank() == 0 && probe.calls == 5)
      throw std::runtime_error(text);
  };
  CHECK(Try([&]() { return Optimize(optimizer, probe, iterate); }).kind ==
      Ending::RuntimeError);
  CheckAccount(optimizer.Report());
  CHECK(optimizer.Report().stopText == text);
}

TEST_CASE("JSON has no numbers that are not finite", "[report]")
{
  Probe probe(60, 2);
  arma::mat iterate(2, 1, arma::fill::zeros);
  FixedDASGD optimizer(1e-3, 4, 0, -1);
  probe.spoil = [](double& objective, arma::mat&)
  { objective = std::numeric_limits<double>::infinity(); };
  Optimize(optimizer, probe, iterate);
  CHECK(Json::Valid(optimizer.Report().Json()));
  CHECK(optimizer.Report().Json().find("\"objective\": null") !=
      std::string::npos);
}

TEST_CASE("The checker of JSON knows what is none", "[report]")
{
  CHECK(Json::Valid("{\"a\": [1, -2.5e3, null, \"x\\\"\\u000a\"], \"b\": {}}"));
  for (const char* text : { "", "{", "{\"a\" 1}", "[1,]", "{\"a\": nan}",
      "\"\n\"", "\"\\x\"", "{} {}", "[inf]" })
  {
    INFO(text);
    CHECK(!Json::Valid(text));
  }
}

TEST_CASE("Before the first run there is nothing to report", "[report]")
{
  const FixedDASGD optimizer;
  CHECK(optimizer.Report().ranks.empty());
  CHECK(Json::Valid(optimizer.Report().Json()));
  std::ostringstream table;
  table << optimizer.Report();
  CHECK(!table.str().empty());
}

TEST_CASE("The report says when a policy is outside the theorem", "[report]")
{
  Probe probe(60, 2);
  arma::mat iterate(2, 1, arma::fill::zeros);
  dasgd::DASGD<ens::MomentumUpdate> optimizer(1e-3, 4, 60, -1);
  optimizer.Optimize(probe, iterate);
  CHECK(optimizer.Report().outsideTheorem.find("ens::MomentumUpdate") !=
      std::string::npos);
}
