#pragma once

#include <memory>
#include <mpi.h>
#include <tuple>
#include <type_traits>

// Persistent collectives: MPI 4's, or Open MPI's extension of the same, or none. CMake has probed the library for them;
// its version says nothing (Open MPI 5 has them and calls itself MPI 3.1).
#if defined(BENCH_MPI_PERSISTENT)
#define BENCH_PERSISTENT_NAME(Name) MPI_##Name##_init
#define BENCH_PERSISTENT_PREFIX "MPI"
#elif defined(BENCH_MPIX_PERSISTENT)
#include <mpi-ext.h>
#define BENCH_PERSISTENT_NAME(Name) MPIX_##Name##_init
#define BENCH_PERSISTENT_PREFIX "MPIX"
#endif

namespace bench {

/// The MPI functions of one collective. P: the parameters of the blocking one; the others take a request as well, and
/// the persistent one an MPI_Info before it. nullptr if the MPI library has no such function.
template <typename... P> struct Forms {
    Forms(int (*blocking_form)(P...), std::type_identity_t<int (*)(P..., MPI_Request *)> nonblocking_form,
          std::type_identity_t<int (*)(P..., MPI_Info, MPI_Request *)> persistent_form)
        : blocking(blocking_form), nonblocking(nonblocking_form), persistent(persistent_form) {}

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
#ifdef BENCH_PERSISTENT_NAME
#define BENCH_FORMS(Name, name)                                                                                        \
    ::bench::Forms { MPI_##Name, MPI_I##name, BENCH_PERSISTENT_NAME(Name) }
constexpr bool have_persistent_collectives = true;
#else
#define BENCH_FORMS(Name, name)                                                                                        \
    ::bench::Forms { MPI_##Name, MPI_I##name, nullptr }
constexpr bool have_persistent_collectives = false;
#define BENCH_PERSISTENT_PREFIX "MPI"
#endif
constexpr const char *persistent_prefix = BENCH_PERSISTENT_PREFIX; // of its functions' names

} // namespace bench
