/**
 * @file config.hpp
 *
 * Two ways to use dasgd: headers only, or with its non-template functions
 * compiled once, into a library.
 *
 * A header `x.hpp` declares, and `x_impl.hpp` defines what is not a template.
 * Headers only (the default): `x.hpp` includes `x_impl.hpp`, and functions are
 * inline.  With DASGD_COMPILED defined: `x.hpp` does not include it, and the
 * definitions come from src/dasgd_core.cpp and src/dasgd_mpi.cpp.  Templates of
 * the element's type always have theirs; with DASGD_COMPILED, instances for
 * double and float come from there and from src/dasgd_baselines.cpp.
 *
 * Functions that own static variables stay inline in `x.hpp`, so that there is
 * one such variable even if a program mixes both ways.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_CORE_CONFIG_HPP
#define DASGD_CORE_CONFIG_HPP

#ifdef DASGD_COMPILED
#define DASGD_INLINE
#else
#define DASGD_INLINE inline
#endif

#endif
