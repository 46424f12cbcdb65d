"""What a long training needs and nobody need read: checkpoints, resume, several processes, progress."""
