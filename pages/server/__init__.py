"""What the server does before and beside the pages: whom it answers, imports, pictures ahead, uploads, warming."""
