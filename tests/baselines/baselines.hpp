/**
 * @file baselines.hpp
 *
 * What the tests of the optimizers that DASGD is compared with share: one call
 * for each of them, compiled once, and what is different between them.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_TESTS_BASELINES_BASELINES_HPP
#define DASGD_TESTS_BASELINES_BASELINES_HPP

#include "../optimizer/probe.hpp"

//! All of them, for TEMPLATE_TEST_CASE.
#define DASGD_BASELINES dasgd::AllreduceSGD<>, dasgd::LocalSGD<>, \
    dasgd::DiLoCo<>, dasgd::DPSGD<>, dasgd::ADPSGD<>, dasgd::SWIFT<>, \
    dasgd::ParameterServerSGD<>

//! Those whose topology can be chosen, and those whose cannot.
#define DASGD_BASELINES_ON_TOPOLOGIES dasgd::DPSGD<>, dasgd::ADPSGD<>, \
    dasgd::SWIFT<>
#define DASGD_BASELINES_WITHOUT dasgd::AllreduceSGD<>, dasgd::LocalSGD<>, \
    dasgd::DiLoCo<>, dasgd::ParameterServerSGD<>

namespace tests {

//! optimizer.Optimize(), compiled once.
double Optimize(dasgd::AllreduceSGD<>& optimizer,
                Probe& probe,
                arma::mat& iterate,
                Hooks& hooks);
double Optimize(dasgd::LocalSGD<>& optimizer,
                Probe& probe,
                arma::mat& iterate,
                Hooks& hooks);
double Optimize(dasgd::DiLoCo<>& optimizer,
                Probe& probe,
                arma::mat& iterate,
                Hooks& hooks);
double Optimize(dasgd::DPSGD<>& optimizer,
                Probe& probe,
                arma::mat& iterate,
                Hooks& hooks);
double Optimize(dasgd::ADPSGD<>& optimizer,
                Probe& probe,
                arma::mat& iterate,
                Hooks& hooks);
double Optimize(dasgd::SWIFT<>& optimizer,
                Probe& probe,
                arma::mat& iterate,
                Hooks& hooks);
double Optimize(dasgd::ParameterServerSGD<>& optimizer,
                Probe& probe,
                arma::mat& iterate,
                Hooks& hooks);
double Optimize(dasgd::AllreduceSGD<ens::MomentumUpdate>& optimizer,
                Probe& probe,
                arma::mat& iterate,
                Hooks& hooks);
double Optimize(dasgd::LocalSGD<ens::MomentumUpdate>& optimizer,
                Probe& probe,
                arma::mat& iterate,
                Hooks& hooks);

template<typename OptimizerType>
double Optimize(OptimizerType& optimizer, Probe& probe, arma::mat& iterate)
{
  Hooks hooks;
  return Optimize(optimizer, probe, iterate, hooks);
}

//! For runs of a thousand gradients; those of DiLoCo's authors are longer.
template<typename OptimizerType>
void ShortenRounds(OptimizerType&) { }
inline void ShortenRounds(dasgd::DiLoCo<>& optimizer)
{ optimizer.Period() = 8; }

//! What it calls itself.
inline std::string NameOf(const dasgd::AllreduceSGD<>&)
{ return "AllreduceSGD"; }
inline std::string NameOf(const dasgd::LocalSGD<>&) { return "LocalSGD"; }
inline std::string NameOf(const dasgd::DiLoCo<>&) { return "DiLoCo"; }
inline std::string NameOf(const dasgd::DPSGD<>&) { return "DPSGD"; }
inline std::string NameOf(const dasgd::ADPSGD<>&) { return "ADPSGD"; }
inline std::string NameOf(const dasgd::SWIFT<>&) { return "SWIFT"; }
inline std::string NameOf(const dasgd::ParameterServerSGD<>&)
{ return "ParameterServerSGD"; }

//! Does one rank keep the model, and compute nothing?
template<typename OptimizerType>
constexpr bool serves = std::is_same<OptimizerType,
    dasgd::ParameterServerSGD<>>::value;

//! Does nobody wait for anybody, while each has a model of its own?
template<typename OptimizerType>
constexpr bool drifts = std::is_same<OptimizerType, dasgd::ADPSGD<>>::value ||
    std::is_same<OptimizerType, dasgd::SWIFT<>>::value;

//! How many ranks compute.
template<typename OptimizerType>
size_t Workers()
{ return (serves<OptimizerType> && Ranks() > 1) ? Ranks() - 1 : Ranks(); }

//! Does this rank compute, with the first one as the server, if there is one?
template<typename OptimizerType>
bool Computes()
{ return !serves<OptimizerType> || Ranks() == 1 || Rank() != 0; }

//! A run that ends only if somebody ends it: two points for each rank, batches
//! of one, so that epochs are short.
template<typename OptimizerType>
struct Endless
{
  Probe probe{2 * Ranks(), 3};
  arma::mat iterate{3, 1, arma::fill::ones};
  OptimizerType optimizer{1e-3, 1, 0, -1};
  Hooks hooks;

  Ending Run()
  { return Try([&]() { return Optimize(optimizer, probe, iterate, hooks); }); }
};

} // namespace tests

#endif
