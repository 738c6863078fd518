/* Every synchronization scheme with every offset estimator, in virtual time: no process's global clock is ever further
 * from process 0's than its bound says. Without MPI. */
#include "check.h"
#include "virtual_sync.h"

static double slow_down_the_tree(int source, int destination, double true_ns) {
    (void)true_ns;
    return source < destination ? 3000.0 : 0.0;
}

/* Every pair has an asymmetry of its own. */
static double slow_by_pair(int source, int destination, double true_ns) {
    (void)true_ns;
    return (source * 37 + destination * 101) % 17 * 250.0;
}

static void under_heavy_delays(void) {
    const struct virtual_model model = virtual_rough(&virtual_heavy, NULL);
    const int sizes[] = {2, 3, 4, 5, 7, 8, 16, 37, 128};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i)
        virtual_sync_check_all(&model, sizes[i]);
    virtual_sync_check(&model, 300, 16, "hca3_offset");
    virtual_sync_check(&model, 300, 16, "hierarchical(nodes=hca2(fit=3,over=0.02,offset=skampi),within=netgauge)");
}

static void under_asymmetry(void) {
    const struct virtual_model uniform = virtual_rough(&virtual_quiet, slow_down_the_tree);
    const struct virtual_model by_pair = virtual_rough(&virtual_heavy, slow_by_pair);
    const int sizes[] = {2, 5, 8, 13};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
        virtual_sync_check_all(&uniform, sizes[i]);
        virtual_sync_check_all(&by_pair, sizes[i]);
    }
}

/* Between nodes and within, where the reference of the lower level has itself been synchronized. */
static void on_levels(void) {
    static const char *const texts[] = {
        "hierarchical(nodes=hca3_offset,within=hca3_offset)",
        "hierarchical(nodes=skampi(offset=cristian(exchanges=4)),within=netgauge(offset=best_rtt(exchanges=6)))",
        "hierarchical(nodes=hca3(fit=3,over=0.02),within=hca3(fit=3,over=0.02))",
        "hierarchical(nodes=hca2(fit=3,over=0.02,offset=netgauge(stop=3)),within=hca3_offset)",
        "hierarchical(nodes=hca3_offset,within=hca(fit=3,over=0.02,offset=skampi(min=3,max=3)))",
        "hierarchical(nodes=jk(fit=3,over=0.02,offset=skampi(min=3,max=3)),within=jk(fit=3,over=0.02,offset=cristian("
        "exchanges=4)))",
        "hierarchical(nodes=netgauge,within=hca2(fit=3,over=0.02,offset=cristian(exchanges=4)))",
        "hierarchical(nodes=cristian,within=cristian)",
    };
    const struct virtual_model heavy = virtual_rough(&virtual_heavy, NULL);
    const struct virtual_model by_pair = virtual_rough(&virtual_heavy, slow_by_pair);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; ++i) {
        virtual_sync_check(&heavy, 8, 4, texts[i]);
        virtual_sync_check(&heavy, 13, 3, texts[i]);
        virtual_sync_check(&by_pair, 7, 2, texts[i]);
    }
}

/* Other intercepts than the scheme's default. */
static void with_any_intercept(void) {
    static const char *const texts[] = {
        "hca3(fit=3,over=0.02,offset=best_rtt(exchanges=6),intercept=skampi(min=3,max=3))",
        "hca2(fit=3,over=0.02,offset=skampi(min=3,max=3),intercept=fit)",
        "hca2(fit=3,over=0.02,offset=skampi(min=3,max=3),intercept=netgauge(stop=3))",
        "jk(fit=3,over=0.02,offset=skampi(min=3,max=3),intercept=mean_rtt(rtt=5,exchanges=3))",
        "hca(fit=3,over=0.02,offset=skampi(min=3,max=3),intercept=cristian(exchanges=4))",
        /* Back to back: a slope that is known badly must be said to be known badly. */
        "hca3(fit=20,over=0,offset=skampi(min=3,max=3))",
        "hca2(fit=20,over=0,offset=cristian(exchanges=4))",
        "jk(fit=20,over=0,offset=mean_rtt(rtt=5,exchanges=3))",
    };
    const struct virtual_model model = virtual_rough(&virtual_heavy, NULL);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; ++i) {
        virtual_sync_check(&model, 2, 2, texts[i]);
        virtual_sync_check(&model, 13, 13, texts[i]);
    }
}

int main(void) {
    under_heavy_delays();
    under_asymmetry();
    on_levels();
    with_any_intercept();
    return 0;
}
