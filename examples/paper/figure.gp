# Draws one experiment in the paper's arrangement: what it takes to reach the
# error against the largest loose staleness, the mean of all runs with one
# standard deviation shaded.  Called by run.sh with name and folder set.

csv = folder . '/' . name . '.csv'
cifar = (name eq 'cifar')
# Where the columns are.
iterations = cifar ? 10 : 5; seconds = cifar ? 11 : 6
loose = cifar ? 12 : 7

# Means and standard deviations over the runs of a point.
table = folder . '/.' . name . '.dat'
system("awk -F, '$1 == \"simulated\" { k = $2; c[k]++; x[k] += $" . loose . \
    "; s[k] += $" . iterations . "; q[k] += $" . iterations . "^2; t[k] += $" . \
    seconds . "; u[k] += $" . seconds . "^2 } END { for (k in c) { n = c[k]; " . \
    "d = n > 1 ? n - 1 : 1; v = (q[k] - s[k]^2 / n) / d; w = (u[k] - t[k]^2 " . \
    "/ n) / d; print x[k] / n, s[k] / n, sqrt(v > 0 ? v : 0), t[k] / n, " . \
    "sqrt(w > 0 ? w : 0), k } }' " . csv . " | sort -g > " . table)
stats table using 2 nooutput name 'I'
stats table using 3 nooutput name 'D'

# How many runs a point has.
most = int(system("awk -F, '$1 == \"simulated\" && $3 > m { m = $3 } END " . \
    "{ print m }' " . csv))
runs = most > 1 ? sprintf('mean of %d runs ± 1 sd', most) : 'one run'

blue = '#1f5fa8'; orange = '#c8561b'; grey = '#555555'
set datafile separator whitespace
set style fill solid 1 noborder
set border 3 lc rgb grey
set tics nomirror out textcolor rgb '#222222'
set grid ytics lc rgb '#dddddd' lt 1
set key top right samplen 2 spacing 1.2
set xlabel 'largest loose staleness Ŝ_{max}'
set xrange [0 : *]
if (cifar) { # Room for the last label.
  stats table using 1 nooutput name 'S'
  set xrange [0 : 1.15 * S_max]
}

mpi = int(system("awk -F, '$1 == \"mpi\"' " . csv . " | wc -l"))
mpiRows = "< awk -F, '$1 == \"mpi\" { print $" . loose . ", $" . iterations . \
    ", $" . seconds . ", $2 }' " . csv

firstRun = "< awk -F, '$1 == \"simulated\" && $3 == 1 { print $" . loose . \
    ", $" . iterations . " }' " . csv . " | sort -g"

title = cifar ? 'CNN on CIFAR-10' : \
    (name eq 'logistic' ? 'Logistic regression' : 'Quadratic function')

do for [format in "svg png"] {
  width = cifar ? 900 : 520
  if (format eq 'svg') {
    set terminal svg size width, 380 font 'Helvetica,13' background 'white' \
        enhanced
  } else {
    set terminal pngcairo size 2 * width, 760 font 'Helvetica,13' fontscale 1.6 \
        linewidth 1.6 pointscale 1.6 background 'white' enhanced
  }
  set output folder . '/' . name . '.' . format
  if (cifar) { set multiplot layout 1, 2 }

  set title title
  set ylabel cifar ? 'iterations until the loss is 1' : \
      'iterations until ||∇f|| ≤ 10^{-12}'
  set yrange [0 : 1.5 * (I_max + D_max)]
  set format y '%.0f'
  command = "plot table using 1:($2 - $3):($2 + $3) with filledcurves " . \
      "lc rgb '#bcd3ec' notitle, table using 1:2 with linespoints lw 2 pt 7 " . \
      "ps 0.6 lc rgb blue title 'virtual time, ' . runs"
  if (mpi > 0) {
    command = command . ", firstRun using 1:2 with lines lw 1.5 dt 2 " . \
        "lc rgb orange title 'run 1 on virtual time', mpiRows using 1:2 with " . \
        "points pt 6 ps 1.2 lw 2 lc rgb orange title 'run 1 over MPI'"
  }
  eval(command)

  if (cifar) {
    set title ' '
    set ylabel 'seconds until the loss is 1'
    set yrange [0 : *]
    plot table using 1:($4 - $5):($4 + $5) with filledcurves \
        lc rgb '#bcd3ec' notitle, \
        table using 1:4 with linespoints lw 2 pt 7 ps 0.6 lc rgb blue \
        title 'virtual time, ' . runs, \
        table using 1:4:(sprintf('n = %d', $6)) with labels offset 0.5, 0.8 \
        left font ',11' textcolor rgb grey notitle
    unset multiplot
  }
  unset output
}
system("rm -f " . table)
