// Control variables through MPI_T (mpi_tool.h).
#include "mpi/mpi_tool.h"

#include "text/error.h"

#include <cstdint>
#include <fmt/format.h>

namespace bench {
namespace {

bool is_open = false;

/// Throws Error::here with the error code. MPI_T has error codes of its own, and MPI_Error_string may not know them.
void check_tool(int code, const char *call, const std::string &variable) {
    if (code != MPI_SUCCESS) {
        throw Error::here(fmt::format("{} of {} failed: code {}", call, variable, code));
    }
}

/// Owns a handle of a control variable, with which its value is read and written.
class Handle {
public:
    Handle(int index, const std::string &name) {
        int count = 0;
        check_tool(MPI_T_cvar_handle_alloc(index, nullptr, &handle_, &count), "MPI_T_cvar_handle_alloc", name);
    }
    ~Handle() { MPI_T_cvar_handle_free(&handle_); }
    Handle(const Handle &) = delete;
    Handle &operator=(const Handle &) = delete;

    MPI_T_cvar_handle get() const { return handle_; }

private:
    MPI_T_cvar_handle handle_{};
};

/// What MPI_T reports on a control variable.
struct VariableInfo {
    std::string name;
    std::string description;
    MPI_T_enum values = MPI_T_ENUM_NULL; // the named values; MPI_T_ENUM_NULL if there are none
    int scope = 0;                       // MPI_T_SCOPE_...: which processes may set it, if any
};

/// Returns nullopt if the variable no longer exists, e.g. because its component was closed.
std::optional<VariableInfo> describe_variable(int index) {
    int name_length = 0;
    int description_length = 0;
    int verbosity = 0;
    int binding = 0;
    MPI_Datatype datatype = MPI_DATATYPE_NULL;
    VariableInfo info;
    const auto get_info = [&](char *name, char *description) {
        return MPI_T_cvar_get_info(index, name, &name_length, &verbosity, &datatype, &info.values, description,
                                   &description_length, &binding, &info.scope);
    };
    // The first call, with lengths of 0, returns the lengths of the texts including their terminators.
    if (get_info(nullptr, nullptr) != MPI_SUCCESS) {
        return std::nullopt;
    }
    std::string name(static_cast<std::size_t>(name_length) + 1, '\0');
    std::string description(static_cast<std::size_t>(description_length) + 1, '\0');
    if (get_info(name.data(), description.data()) != MPI_SUCCESS) {
        return std::nullopt;
    }
    info.name = name.c_str();
    info.description = description.c_str();
    return info;
}

/// The numbers and names of an enumeration's values; empty for MPI_T_ENUM_NULL. `variable`: name, for errors.
std::vector<std::pair<int, std::string>> read_values(MPI_T_enum type, const std::string &variable) {
    std::vector<std::pair<int, std::string>> values;
    if (type == MPI_T_ENUM_NULL) {
        return values;
    }
    constexpr int longest_name = 256; // bytes of the buffer; MPI_T truncates longer names
    int count = 0;
    char name[longest_name] = "";
    int length = longest_name;
    check_tool(MPI_T_enum_get_info(type, &count, name, &length), "MPI_T_enum_get_info", variable);
    for (int i = 0; i < count; ++i) {
        int value = 0;
        length = longest_name;
        check_tool(MPI_T_enum_get_item(type, i, &value, name, &length), "MPI_T_enum_get_item", variable);
        values.emplace_back(value, name);
    }
    return values;
}

} // namespace

void open_tool_interface() {
    if (!is_open) {
        int provided = 0;
        check_tool(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided), "MPI_T_init_thread", "the tool interface");
        is_open = true;
    }
}

void close_tool_interface() {
    if (is_open) {
        is_open = false;
        check_tool(MPI_T_finalize(), "MPI_T_finalize", "the tool interface");
    }
}

std::optional<ControlVariable> ControlVariable::find(const std::string &name) {
    ControlVariable variable;
    if (MPI_T_cvar_get_index(name.c_str(), &variable.index_) != MPI_SUCCESS) {
        return std::nullopt;
    }
    const std::optional<VariableInfo> info = describe_variable(variable.index_);
    if (!info) {
        return std::nullopt;
    }
    variable.name_ = name;
    variable.description_ = info->description;
    variable.values_ = read_values(info->values, name);
    variable.writable_ = info->scope != MPI_T_SCOPE_CONSTANT && info->scope != MPI_T_SCOPE_READONLY;
    return variable;
}

ControlVariable ControlVariable::get(const std::string &name) {
    auto variable = find(name);
    if (!variable) {
        throw Error::here(fmt::format("control variable {} is missing", name));
    }
    return *variable;
}

int ControlVariable::read() const {
    const Handle handle(index_, name_);
    // Holds every integer type. MPI_T stores a narrower value in the first bytes, the low bytes on a little-endian
    // machine.
    std::int64_t value = 0;
    check_tool(MPI_T_cvar_read(handle.get(), &value), "MPI_T_cvar_read", name_);
    return static_cast<int>(value);
}

void ControlVariable::write(int value) const {
    const Handle handle(index_, name_);
    const std::int64_t wide = value; // a variable may have 8 bytes; see read()
    check_tool(MPI_T_cvar_write(handle.get(), &wide), "MPI_T_cvar_write", name_);
    if (const int now = read(); now != value) {
        throw Error::here(fmt::format("{} was set to {} and reads {}", name_, value, now));
    }
}

std::vector<std::string> control_variable_names() {
    int count = 0;
    check_tool(MPI_T_cvar_get_num(&count), "MPI_T_cvar_get_num", "control variables");
    std::vector<std::string> names;
    for (int i = 0; i < count; ++i) {
        if (const auto info = describe_variable(i)) {
            names.push_back(info->name);
        }
    }
    return names;
}

} // namespace bench
