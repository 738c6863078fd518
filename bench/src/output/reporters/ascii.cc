#include "output/reporters/reporter_registry.h"

#include <fmt/format.h>
#include <iterator>

namespace bench {
namespace {

/// Start and end of every process in every sample, as Niethammer 2016, section III.C: columns of numbers, for
/// numpy.loadtxt and gnuplot.
class AsciiReporter : public Reporter {
public:
    explicit AsciiReporter(const std::string &path) : output_(path) {}

    void begin(const SamplingContext &context, const std::vector<Cell> &cells) override {
        std::string text = fmt::format("# downbeat-bench {} ({}), {}\n# {}\n", context.version, context.revision,
                                       context.date, context.command_line);
        if (!context.simulated.empty()) {
            text += fmt::format("# simulated: {}\n", context.simulated);
        }
        for (std::size_t i = 0; i < cells.size(); ++i) {
            text += fmt::format("# cell {}: {}\n", i, describe(cells[i]));
        }
        text += "# sample: number within its cell; verdict: 0 valid, 1 late_flag, 2 late_entry, 3 warmup, 4 overrun; "
                "start, end: seconds on the global clock\n"
                "# cell sample verdict rank start end\n";
        output_.write(text);
    }

    void samples(const BatchReport &report) override {
        fmt::memory_buffer text;
        for (std::size_t i = 0; i < report.batch.size(); ++i) {
            const Sample sample = report.batch[i];
            for (std::size_t rank = 0; rank < report.batch.ranks; ++rank) {
                // A double holds less than 12 decimals of a second from some minutes on.
                fmt::format_to(std::back_inserter(text), "{} {} {} {} {:.12f} {:.12f}\n", report.cell,
                               report.first_attempt + static_cast<long>(i), static_cast<int>(report.verdicts[i]), rank,
                               sample.entry[rank], sample.exit[rank]);
            }
        }
        output_.write({text.data(), text.size()});
    }

    void end(const RunEnd &) override { output_.finish(); }

private:
    Output output_;
};

} // namespace

ReporterInfo reporters::ascii() {
    return {.name = "ascii",
            .description = "start and end of every process in every sample, file only; .txt",
            .suffix = ".txt",
            .of_cells_alone = true,
            .make = Make<AsciiReporter>{}};
}

} // namespace bench
