"""Pictures and movies of what a viewport shows: files, clipboard, print."""
