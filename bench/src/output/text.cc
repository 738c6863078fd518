#include "output/format.h"
#include "output/output.h"
#include "output/sections.h"

namespace bench {
namespace {

/// The text for people, in the end.
class TextSink : public Sink {
public:
    explicit TextSink(const std::string &path) : output_(path) {}

    void open(const Context &, const Dataset &) override {}
    void row(const Rows &) override {}
    void close(const RunEnd &end) override { output_.finish(end.text); }

private:
    Output output_;
};

} // namespace

Format formats::table() {
    return {.name = "table",
            .description = "medians in microseconds, on standard output only",
            .on_stdout = true,
            .shows_warnings = true,
            .make = Make<TextSink>{},
            .text = cells_table};
}

Format formats::osu() {
    return {.name = "osu",
            .description =
                "header and columns of the OSU micro-benchmarks, for scripts that read them; standard output "
                "only",
            .on_stdout = true,
            .make = Make<TextSink>{},
            .text = osu_text,
            .of_cells_alone = true};
}

} // namespace bench
