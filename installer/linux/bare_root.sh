#!/bin/sh
# Makes DIR a bare Debian, for installer/smoke.py --root: what `apt install` of our package would
# bring (the Depends of linux_packages.py), and no Python.
#
#   bare_root.sh DIR [SUITE]
set -eu
[ $# -ge 1 ] || { sed -n '2,5s/^# \{0,1\}//p' "$0" >&2; exit 2; }
debootstrap --variant=minbase \
    --include=libgl1,libegl1,fontconfig,fonts-dejavu-core,ca-certificates "${2:-bookworm}" "$1"
if ls "$1"/usr/bin/python3* >/dev/null 2>&1; then echo "bare_root.sh: Python is in it" >&2; exit 1; fi
