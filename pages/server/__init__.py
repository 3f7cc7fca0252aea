"""Server code around the pages: access, imports, prefetched charts, uploads."""
