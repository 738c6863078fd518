#include "operations/call.h"

#include <dlfcn.h>
#include <string>

namespace bench {
namespace {

void *find(const char *prefix, const char *name) {
    return dlsym(RTLD_DEFAULT, (std::string(prefix) + "_" + name + "_init").c_str());
}

} // namespace

const char *persistent_prefix() {
    for (const char *const prefix : {"MPI", "MPIX"}) {
        if (find(prefix, "Barrier") != nullptr) {
            return prefix;
        }
    }
    return nullptr;
}

void *find_persistent(const char *name) {
    static const char *const prefix = persistent_prefix();
    return prefix == nullptr ? nullptr : find(prefix, name);
}

} // namespace bench
