"""From stored values to what is shown, and what lies under the cursor (PS3.3 C.11)."""
