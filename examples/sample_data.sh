#!/usr/bin/env bash
#
# Makes a small data set to try the programs with: points of ten dimensions in
# two classes, as mlpack reads them.
#
# Usage: sample_data.sh [FOLDER]
#
# Writes train.csv, train_labels.csv, test.csv and test_labels.csv into the
# folder (the present one, if none is given).

set -euo pipefail

folder="${1:-.}"
mkdir -p "$folder"
cd "$folder"
for set in "train 4000 1" "test 1000 2"; do
  read -r name points seed <<< "$set"
  LC_ALL=C awk -v name="$name" -v points="$points" -v seed="$seed" 'BEGIN {
    srand(seed)
    for (i = 0; i < points; ++i) {
      class = i % 2
      for (j = 0; j < 10; ++j) {
        # A sum of uniform numbers is all but normal.
        value = (class ? 0.4 : -0.4) - 6
        for (k = 0; k < 12; ++k) value += rand()
        printf "%s%.4f", (j ? "," : ""), value > name ".csv"
      }
      printf "\n" > name ".csv"
      print class > name "_labels.csv"
    }
  }'
done
