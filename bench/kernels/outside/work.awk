# SPDX-License-Identifier: Apache-2.0
# Counts words, and the pairs of words that follow each other.
{
  $0 = toupper($0)
  for (i = 1; i < NF; ++i) {
    ++count[$i]
    if (i > 1 && length($i) > 4) ++pairs[substr($(i - 1), 1, 3) "-" $i]
  }
  last = last substr($NF, 1, 1)
}
END {
  names = asorti(count, sorted)
  for (i = 1; i <= names; i += 97) print sorted[i], count[sorted[i]]
  print NR, names, length(pairs), length(last)
}
