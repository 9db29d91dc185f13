"""From stored pixel values to what is displayed, and the value under the cursor (PS3.3 C.11)."""
