"""Steps in their places: spaces, shifts, what a fit is handed and the rows that it sees; and what a caller hands in, checked."""
