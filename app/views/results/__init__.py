"""Tables and plots that tools made, as panes beside the images."""
