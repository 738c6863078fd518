"""One file a subject: tables and facts become blocks, which the writers of `downbeat.output` lay out."""
