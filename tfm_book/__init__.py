"""From chapters to pages, notebooks and paper."""
