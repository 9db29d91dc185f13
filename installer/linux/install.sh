#!/bin/sh
# Installs Sightline from this folder, or removes it. Asks nothing; needs no root for --prefix ~/.local.
#
#   ./install.sh [--prefix DIR]                          DIR is ~/.local, or /usr/local for root
#   ./install.sh --uninstall [--delete-data] [--prefix DIR]
#
# Each version and flavour has a folder of its own, DIR/lib/sightline/VERSION[-viewer];
# DIR/bin/sightline starts the one installed last. Settings, conversations, findings and models stay when Sightline is removed, unless
# --delete-data is given; that deletes those of the user who runs this, and nobody else's.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
[ "$(id -u)" = 0 ] && prefix=/usr/local || prefix=$HOME/.local
uninstall='' delete_data=''
while [ $# -gt 0 ]; do
    case $1 in
        --prefix) [ $# -gt 1 ] || { echo "install.sh: --prefix needs a folder" >&2; exit 2; }
                  prefix=$2; shift ;;
        --uninstall) uninstall=1 ;;
        --delete-data) delete_data=1 ;;
        -h|--help) sed -n '2,9s/^# \{0,1\}//p' "$0"; exit 0 ;;
        *) echo "install.sh: unknown option $1 (see --help)" >&2; exit 2 ;;
    esac
    shift
done
[ -z "$delete_data" ] || [ -n "$uninstall" ] || {
    echo "install.sh: --delete-data goes with --uninstall" >&2; exit 2; }

version=$(cat "$here/VERSION")
folder=$prefix/lib/sightline/$version
link=$prefix/bin/sightline
share=$prefix/share

refresh() {  # desktops read caches; without these programs they read the files themselves
    for one in "update-desktop-database $share/applications" "update-mime-database $share/mime"; do
        if command -v "${one%% *}" >/dev/null 2>&1; then $one >/dev/null 2>&1 || true; fi
    done
}

clear_away() {  # what caches leave when nothing is registered any more, and folders that are empty
    [ -n "$(ls "$share/mime/packages")" ] || rm -rf "$share/mime"
    [ -n "$(ls "$share"/applications/*.desktop)" ] || rm -f "$share/applications/mimeinfo.cache"
    (cd "$share" && rmdir -p applications mime icons/hicolor/scalable/apps) || true
    rmdir "$prefix/lib/sightline" || true
    case $prefix in
        /usr|/usr/local) ;;  # their bin, lib and share stay
        *) rmdir "$prefix/bin" "$prefix/lib" "$share" || true ;;
    esac
} 2>/dev/null

if [ -n "$uninstall" ]; then
    if [ "$(readlink "$link" 2>/dev/null)" = "$folder/sightline" ]; then
        rm -f "$link" "$share/applications/sightline.desktop" "$share/mime/packages/sightline.xml" \
            "$share/icons/hicolor/scalable/apps/sightline.svg"
        refresh
    fi
    rm -rf "$folder"
    clear_away
    echo "Sightline $version is removed from $prefix."
    if [ -n "$delete_data" ]; then
        rm -rf "${XDG_CONFIG_HOME:-$HOME/.config}/sightline" "${XDG_CACHE_HOME:-$HOME/.cache}/sightline" \
            "${XDG_DATA_HOME:-$HOME/.local/share}/sightline" "${XDG_STATE_HOME:-$HOME/.local/state}/sightline"
        echo "The settings, conversations, findings and models of $(id -un) are deleted."
    else
        echo "Settings, conversations, findings and models are kept; --delete-data removes them."
    fi
    exit 0
fi

# A broken-off copy must not be taken for an installed version.
mkdir -p "$prefix/lib/sightline" "$prefix/bin" "$share/applications" "$share/mime/packages" \
    "$share/icons/hicolor/scalable/apps"
partial=$folder.partial
rm -rf "$partial"
cp -R "$here" "$partial"
rm -rf "$folder"
mv "$partial" "$folder"
ln -sfn "$folder/sightline" "$link"
place=$(printf '%s' "$link" | sed 's/[&|\\]/\\&/g')  # as sed takes it
sed "s|^Exec=sightline|Exec=\"$place\"|" "$here/share/sightline.desktop" > "$share/applications/sightline.desktop"
cp "$here/share/sightline.xml" "$share/mime/packages/sightline.xml"
cp "$here/share/sightline.svg" "$share/icons/hicolor/scalable/apps/sightline.svg"
refresh
echo "Sightline $version is installed in $folder; start it with $link"
case ":$PATH:" in *":$prefix/bin:"*) ;; *) echo "($prefix/bin is not on your PATH)" ;; esac
