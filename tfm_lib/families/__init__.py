"""Whole models of other families, composed of the core's layers, and loaders of their weights.

`gpt2`, `bert`, `llama` and `marian` hold one model each, with the table that says where each of its parameters stands in
the state that Hugging Face `transformers` writes. `weights` fills a model from such a state, `folder` reads a folder that
`save_pretrained` made, and `heads` opens a model's heads on a sentence. The models are made for reading: they stand in
evaluation, without dropout.

    from tfm_lib.families.folder import open_folder
    opened = open_folder("a-folder")
    logits = opened.model(opened.ids("The animal was too tired."))
"""
