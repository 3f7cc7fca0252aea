"""Work in the background of pages: jobs whose answers arrive while the reader looks."""
