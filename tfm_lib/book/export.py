"""Chapter to plain notebook."""
import nbformat
def export_notebook(path, root, edition="practice", values=None):
    return nbformat.v4.new_notebook()
