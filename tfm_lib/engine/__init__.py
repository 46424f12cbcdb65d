"""What a long training needs and nobody need read: presets, checkpoints, resume, several processes, progress."""
