"""Loads the libraries of an installed CUDA pack when it is imported: the first thing in a process.

Named as a string by the model host (`Worker`'s `preload`); torch is imported after it.
"""

from app.tools.hosting import cuda_pack

cuda_pack.load()
