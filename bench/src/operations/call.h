#pragma once

#include <memory>
#include <mpi.h>
#include <tuple>
#include <type_traits>

namespace bench {

/// "MPI" where the MPI library that runs has MPI 4's persistent collectives, "MPIX" where it has Open MPI 4's extension
/// of the same, nullptr where it has none. Asked at run time: its version says nothing (Open MPI 5 has them and calls
/// itself MPI 3.1), and one program runs under Open MPI 4 and 5.
const char *persistent_prefix();

/// The function that makes a persistent collective, by its name without prefix and suffix; nullptr if there is none.
void *find_persistent(const char *name);

/// The MPI functions of one collective. P: the parameters of the blocking one; the others take a request as well, and
/// the persistent one an MPI_Info before it. nullptr if the MPI library has no such function.
template <typename... P> struct Forms {
    Forms(int (*blocking_form)(P...), std::type_identity_t<int (*)(P..., MPI_Request *)> nonblocking_form,
          const char *name)
        : blocking(blocking_form), nonblocking(nonblocking_form),
          // POSIX guarantees this for dlsym, although C++ does not.
          persistent(reinterpret_cast<decltype(persistent)>(find_persistent(name))) {} // NOLINT

    int (*blocking)(P...);
    int (*nonblocking)(P..., MPI_Request *);
    int (*persistent)(P..., MPI_Info, MPI_Request *);
};

enum class Form { blocking, nonblocking, persistent };

/// A collective with its arguments, in each of its forms. Every function returns MPI's error code.
class Call {
public:
    virtual ~Call() = default;
    virtual int run() const = 0;
    /// So many calls, as a loop around the function makes them; ends at the first error.
    virtual int repeat(long calls) const = 0;
    virtual int start(MPI_Request *request) const = 0; // nonblocking
    virtual int init(MPI_Request *request) const = 0;  // persistent
};

/// A call of these functions with these arguments. The data that arguments point to must outlive it.
template <typename... P>
std::unique_ptr<Call> bind_call(const Forms<P...> &forms, std::type_identity_t<P>... arguments) {
    class Bound : public Call {
    public:
        Bound(const Forms<P...> &functions, P... values) : forms_(functions), arguments_(values...) {}
        int run() const override { return std::apply(forms_.blocking, arguments_); }
        int repeat(long calls) const override {
            int code = MPI_SUCCESS;
            for (long i = 0; i < calls && code == MPI_SUCCESS; ++i) {
                code = std::apply(forms_.blocking, arguments_);
            }
            return code;
        }
        int start(MPI_Request *request) const override {
            return std::apply([&](P... values) { return forms_.nonblocking(values..., request); }, arguments_);
        }
        int init(MPI_Request *request) const override {
            return std::apply([&](P... values) { return forms_.persistent(values..., MPI_INFO_NULL, request); },
                              arguments_);
        }

    private:
        Forms<P...> forms_;
        std::tuple<P...> arguments_;
    };
    return std::make_unique<Bound>(forms, arguments...);
}

/// The forms of a collective: BENCH_FORMS(Bcast, bcast) are MPI_Bcast, MPI_Ibcast and MPI_Bcast_init.
#define BENCH_FORMS(Name, name)                                                                                        \
    ::bench::Forms { MPI_##Name, MPI_I##name, #Name }

} // namespace bench
