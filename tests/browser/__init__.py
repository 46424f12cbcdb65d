"""A package, so that its browser closes behind its tests: while one is open, nothing else can run an event loop."""
