"""What the arguments of a call name and how large they are, judged without regard to what they say.

`walk` takes arguments apart, `paths`, `hosts` and `sizes` judge the pieces, `scope` knows what a
run may touch, `data` is what a site writes.
"""
