"""Models of other families, composed of the core's layers, and loaders of their weights.

`gpt2`, `bert`, `llama` and `marian` define one model each, with a table that maps each of its parameters to its
place in the state that Hugging Face `transformers` writes. `weights` fills a model from such a state, `folder` reads
a folder that `save_pretrained` wrote, and `heads` shows a model's attention heads on a sentence. The models are for
inspection: they are in evaluation mode, without dropout.

    from tfm_lib.families.folder import open_folder
    opened = open_folder("a-folder")
    logits = opened.model(opened.ids("The animal was too tired."))
"""
