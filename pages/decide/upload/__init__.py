"""A file of the visitor's own: the file, the question and its columns, until all is confirmed."""
