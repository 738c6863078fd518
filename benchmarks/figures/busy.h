/* Mode "busy". */
#ifndef DOWNBEAT_FIGURES_BUSY_H
#define DOWNBEAT_FIGURES_BUSY_H

void mode_busy(void);

#endif
