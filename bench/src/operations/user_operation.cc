// Operations of users: a shared object with the functions of downbeat/operation.h.
#include "operations/operation.h"

#include "mpi/communicator.h"
#include "output/output.h"
#include "text/error.h"
#include "text/words.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <dlfcn.h>
#include <downbeat/operation.h>
#include <filesystem>
#include <fmt/format.h>
#include <limits>
#include <memory>
#include <sys/stat.h>
#include <utility>
#include <vector>

namespace bench {
namespace {

constexpr std::string_view suffix = ".so";

/// The path of the shared object.
std::string file_of(std::string_view text) {
    const std::string file = component_name(text);
    // Without a slash, dlopen would search the system's directories.
    return file.find('/') == std::string::npos ? "./" + file : file;
}

/// The functions and texts of a shared object.
struct Functions {
    decltype(&downbeat_operation_setup) setup = nullptr;
    decltype(&downbeat_operation_run) run = nullptr;
    decltype(&downbeat_operation_teardown) teardown = nullptr;
    decltype(&downbeat_operation_validate) validate = nullptr; // optional
    std::string size = "as set up takes them";                 // OperationInfo::size_meaning
    std::string datatype = "its own";                          // for files
};

/// The message of dlerror on one line, without the path at its beginning.
std::string reason_of_dlerror(const std::string &path) {
    const char *const text = dlerror();
    std::string reason = text == nullptr ? "no reason given" : text;
    std::ranges::replace(reason, '\n', ' ');
    return reason.starts_with(path + ": ") ? reason.substr(path.size() + 2) : reason;
}

/// The path of the library that contains a symbol.
std::string library_of(void *symbol) {
    Dl_info info{};
    return dladdr(symbol, &info) != 0 && info.dli_fname != nullptr ? info.dli_fname : "another";
}

/// Sets `function` to a function of a shared object. Throws Error::usage if the object does not define it.
template <typename Function> void find_function(void *object, const char *name, Function &function) {
    // POSIX guarantees this for dlsym, although C++ does not.
    function = reinterpret_cast<Function>(dlsym(object, name)); // NOLINT
    if (function == nullptr) {
        throw Error::usage(fmt::format("it has no function {}; define downbeat_operation_setup, downbeat_operation_run "
                                       "and downbeat_operation_teardown (downbeat/operation.h)",
                                       name));
    }
}

/// Sets `text` to a text that a shared object defines; leaves it unchanged if the object does not define it.
void find_text(void *object, const char *name, std::string &text) {
    if (const void *const symbol = dlsym(object, name)) {
        text = static_cast<const char *>(symbol);
        if (find_unprintable(text)) {
            throw Error::usage(
                fmt::format("its {} is '{}'; use printable UTF-8 without line breaks", name, printable(text)));
        }
    }
}

/// Loads a shared object. Throws Error::usage with the reason only; the caller adds the path.
Functions load(const std::string &path) {
    struct stat status {};
    if (stat(path.c_str(), &status) != 0) {
        throw Error::usage("there is no such file");
    }
    if (!S_ISREG(status.st_mode)) {
        throw Error::usage("it is not a file; give a shared object");
    }
    void *const object = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (object == nullptr) {
        throw Error::usage(reason_of_dlerror(path));
    }
    // This search begins with the object's dependencies, so it finds an MPI library that the object is linked with.
    void *const init_of_object = dlsym(object, "MPI_Init");
    void *const init_of_program = dlsym(RTLD_DEFAULT, "MPI_Init");
    if (init_of_object != nullptr && init_of_object != init_of_program) {
        throw Error::usage(fmt::format("it is linked with the MPI library {}; link it with that of this program, {}",
                                       library_of(init_of_object), library_of(init_of_program)));
    }
    Functions functions;
    find_function(object, "downbeat_operation_setup", functions.setup);
    find_function(object, "downbeat_operation_run", functions.run);
    find_function(object, "downbeat_operation_teardown", functions.teardown);
    if (void *const validate = dlsym(object, "downbeat_operation_validate")) {
        functions.validate = reinterpret_cast<decltype(functions.validate)>(validate); // NOLINT
    }
    find_text(object, "downbeat_operation_size", functions.size);
    find_text(object, "downbeat_operation_datatype", functions.datatype);
    return functions; // no dlclose: MPI may keep callbacks of the object until MPI_Finalize
}

/// The text of a code that a user's function returned: with MPI's error text if it is an MPI error code.
std::string describe_code(int code) {
    int last = 0;
    int *largest = nullptr;
    int exists = 0;
    if (MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, static_cast<void *>(&largest), &exists) == MPI_SUCCESS &&
        exists != 0) {
        last = *largest;
    }
    int error_class = 0;
    const bool known = code > 0 && code <= last && MPI_Error_class(code, &error_class) == MPI_SUCCESS;
    return known ? fmt::format("{} ({})", code, mpi_error_text(code)) : fmt::format("{}", code);
}

/// The operation of a shared object.
class UserOperation : public Operation {
public:
    UserOperation(std::shared_ptr<const Functions> functions, std::string path, const OperationArguments &arguments)
        : functions_(std::move(functions)), path_(std::move(path)),
          parameters_(arguments.component.word("parameters")) {
        check(MPI_Comm_dup(arguments.comm, &comm_), "MPI_Comm_dup");
        check(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
        const int code =
            functions_->setup(comm_, static_cast<std::size_t>(arguments.size), parameters_.c_str(), &state_);
        agree_on_setup(code, arguments);
    }
    ~UserOperation() override {
        if (const int code = functions_->teardown(state_); code != MPI_SUCCESS) {
            print_error(fmt::format("{}: downbeat_operation_teardown failed with {}", path_, describe_code(code)));
        }
        MPI_Comm_free(&comm_);
    }
    UserOperation(const UserOperation &) = delete;
    UserOperation &operator=(const UserOperation &) = delete;

    void run() override {
        if (const int code = functions_->run(state_); code != MPI_SUCCESS) {
            fail("downbeat_operation_run", code);
        }
    }

    std::optional<Validation> validate() override {
        if (functions_->validate == nullptr) {
            return std::nullopt;
        }
        std::array<char, DOWNBEAT_MAX_ERROR> error{};
        if (const int code = functions_->validate(state_, error.data()); code != MPI_SUCCESS) {
            fail("downbeat_operation_validate", code);
        }
        error.back() = '\0';
        return Validation{.calls = 1, .wrong = error.front() != '\0' ? 1 : 0, .error = printable(error.data())};
    }

private:
    /// Collective. Throws Error::everywhere if the setup failed on a rank.
    void agree_on_setup(int code, const OperationArguments &arguments) const {
        int rank = 0;
        int ranks = 0;
        check(MPI_Comm_rank(comm_, &rank), "MPI_Comm_rank");
        check(MPI_Comm_size(comm_, &ranks), "MPI_Comm_size");
        int failed = code != MPI_SUCCESS ? rank : ranks;
        check(MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MIN, comm_), "MPI_Allreduce");
        if (failed < ranks) {
            check(MPI_Bcast(&code, 1, MPI_INT, failed, comm_), "MPI_Bcast");
            throw Error::everywhere(fmt::format("{}: downbeat_operation_setup failed on rank {} for {} bytes with {}",
                                                path_, failed, arguments.size, describe_code(code)));
        }
    }

    /// Throws Error::here, which aborts the job, because other ranks may wait for this rank.
    void fail(const char *function, int code) const {
        int rank = 0;
        check(MPI_Comm_rank(comm_, &rank), "MPI_Comm_rank");
        throw Error::here(fmt::format("{}: {} failed on rank {} with {}", path_, function, rank, describe_code(code)));
    }

    std::shared_ptr<const Functions> functions_;
    std::string path_;
    std::string parameters_;
    MPI_Comm comm_ = MPI_COMM_NULL;
    void *state_ = nullptr; // set by downbeat_operation_setup
};

} // namespace

bool is_user_operation(std::string_view text) {
    const std::string name = component_name(text);
    return name.find('/') != std::string::npos || name.ends_with(suffix);
}

Component user_operation_component(std::string_view text) {
    const std::string file = component_name(text);
    std::string name = std::filesystem::path(file).filename().string();
    if (name.ends_with(suffix)) {
        name.resize(name.size() - suffix.size());
    }
    if (name.empty()) {
        throw Error::usage(fmt::format("operation cannot be '{}': it names no file; use ./NAME.so", file));
    }
    return Component::with_free_text("operation", text, name);
}

OperationInfo load_user_operation(std::string_view text) {
    const std::string path = file_of(text);
    auto functions = std::make_shared<Functions>();
    std::string reason;
    try {
        *functions = load(path);
    } catch (const Error &error) {
        reason = error.what();
    }
    // Hosts may have different files, so all ranks check whether a rank has failed.
    const Communicator world;
    int failed = reason.empty() ? world.size() : world.rank();
    check(MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MIN, world.handle()), "MPI_Allreduce");
    if (failed < world.size()) {
        int length = static_cast<int>(reason.size());
        check(MPI_Bcast(&length, 1, MPI_INT, failed, world.handle()), "MPI_Bcast");
        reason.resize(static_cast<std::size_t>(length));
        check(MPI_Bcast(reason.data(), length, MPI_CHAR, failed, world.handle()), "MPI_Bcast");
        throw Error::usage(fmt::format("operation '{}' cannot be loaded{}: {}", path,
                                       failed == 0 ? "" : fmt::format(" on rank {}", failed), reason));
    }
    OperationInfo info;
    info.name = user_operation_component(text).name();
    info.call = "downbeat_operation_run";
    info.size_meaning = functions->size;
    info.file = std::filesystem::absolute(path).lexically_normal().string();
    info.limits = [](const Component &, int) { return SizeLimits{1, std::numeric_limits<std::size_t>::max()}; };
    info.datatype = [functions](const Component &, std::uint64_t) {
        return functions->size.empty() ? std::string("none") : functions->datatype;
    };
    info.make = [functions, path](const OperationArguments &arguments) -> std::unique_ptr<Operation> {
        return std::make_unique<UserOperation>(functions, path, arguments);
    };
    return info;
}

} // namespace bench
