# Plans beside what ranks did over MPI, from the rows of validate.py.
# Usage: gnuplot -e "rows='plan.csv'; out='plan.svg'" figure.gp

set datafile separator ","
set terminal svg size 860,400 font "sans-serif,13" background rgb "white"
set output out
set multiplot layout 1,2 margins 0.08,0.98,0.15,0.9 spacing 0.1,0
set logscale xy
set grid lc rgb "#dddddd"
set border 3
set tics nomirror
set key top left reverse Left samplen 1
set xlabel "planned"
set ylabel "over MPI" offset 1

set style fill transparent solid 0.15 noborder

set title "Gradients in a second"
set xtics (4, 8, 20, 40, 80)
set ytics (4, 8, 20, 40, 80)
set xrange [3:150]
set yrange [3:150]
plot '+' using 1:($1 * 0.9):($1 * 1.1) with filledcurves lc rgb "#4477aa" title "± 10 %", \
  x with lines lc rgb "#4477aa" notitle, \
  rows using "gradients_per_second_planned":"gradients_per_second" with points pt 7 ps 0.8 lc rgb "#222222" notitle

set title "S_{avg}"
set xtics (1, 10, 100)
set ytics (1, 10, 100)
set xrange [1:400]
set yrange [1:400]
plot '+' using 1:($1 * 0.85):($1 * 1.15) with filledcurves lc rgb "#4477aa" title "± 15 %", \
  x with lines lc rgb "#4477aa" notitle, \
  rows using "staleness_planned":"staleness" with points pt 7 ps 0.8 lc rgb "#222222" notitle
unset multiplot
