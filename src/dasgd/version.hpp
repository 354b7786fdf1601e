/**
 * @file version.hpp
 *
 * The version of dasgd; the build system reads it from here.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_VERSION_HPP
#define DASGD_VERSION_HPP

#define DASGD_VERSION_MAJOR 0
#define DASGD_VERSION_MINOR 1
#define DASGD_VERSION_PATCH 0

#endif
