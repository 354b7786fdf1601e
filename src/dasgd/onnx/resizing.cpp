#include "operators.hpp"

namespace dasgd {
namespace graph {

void AddResizing(std::map<std::string, Operator>&) { }

} // namespace graph
} // namespace dasgd
