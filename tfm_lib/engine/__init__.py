"""Training infrastructure for long runs: presets, checkpoints, resuming, several processes, progress."""
