"""The dashboard's pages; `pages.main` is the script that runs for every address."""
