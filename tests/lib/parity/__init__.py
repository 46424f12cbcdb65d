"""Our layers and models beside other people's, on the same weights."""
