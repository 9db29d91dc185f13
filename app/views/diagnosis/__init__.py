"""The diagnosis panel: a differential with all that it rests on, and doctors' sessions."""
