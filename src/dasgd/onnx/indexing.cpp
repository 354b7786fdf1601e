#include "operators.hpp"

namespace dasgd {
namespace graph {

void AddIndexing(std::map<std::string, Operator>&) { }

} // namespace graph
} // namespace dasgd
