/* Mode "first". */
#ifndef DOWNBEAT_FIGURES_FIRST_H
#define DOWNBEAT_FIGURES_FIRST_H

void mode_first(void);

#endif
