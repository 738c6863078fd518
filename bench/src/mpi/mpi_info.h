#pragma once

#include "mpi/mpi_check.h"

#include <mpi.h>
#include <string>

namespace bench {

/// An info object that is freed with its scope; MPI_INFO_NULL until it is filled.
class Info {
public:
    Info() = default;
    ~Info() {
        if (handle_ != MPI_INFO_NULL) {
            MPI_Info_free(&handle_);
        }
    }
    Info(const Info &) = delete;
    Info &operator=(const Info &) = delete;

    void set(const std::string &key, const std::string &value) {
        if (handle_ == MPI_INFO_NULL) {
            check(MPI_Info_create(&handle_), "MPI_Info_create");
        }
        check(MPI_Info_set(handle_, key.c_str(), value.c_str()), "MPI_Info_set");
    }

    MPI_Info *address() { return &handle_; }
    MPI_Info handle() const { return handle_; }

private:
    MPI_Info handle_ = MPI_INFO_NULL;
};

} // namespace bench
