# Draws doc/results/proof/cores.svg from cores.dat, which tests/docs/figures.py
# --update makes of the rows; start it in doc/results/proof:
#   gnuplot ../../../tests/benchmarks/proof.gp

set terminal svg size 900, 400 font 'sans-serif,13' background '#ffffff'
set output 'cores.svg'
grey = '#555555'
set encoding utf8
set border 3 lc rgb grey
set tics nomirror out textcolor rgb '#222222'
set grid xtics ytics lc rgb '#e2e2e2' lt 1
set logscale xy 2
set xtics (1, 2, 4, 8, 16)
set xrange [0.9 : 20]
set xlabel 'cores, a rank on each'
array colours[4] = ['#222222', '#1f5fa8', '#c8561b', '#2a8a57']
one = system("awk '$1 == 1 {print $2; exit}' cores.dat") + 0
rate = system("awk '$1 == 1 {print $5; exit}' cores.dat") + 0

set multiplot layout 1, 2 margins 0.06, 0.985, 0.18, 0.89 spacing 0.095

set title 'MLP, Adam: seconds to 86 % (least to most of 3 to 5 runs)'
set yrange [0.7 : 20]
set ytics (1, 2, 4, 8, 16)
unset key
set label 1 'one core' at 1.1, one * 1.12 textcolor rgb '#222222'
set label 2 'one core, divided by cores' at 3.8, one / 13 right textcolor rgb grey
set arrow 1 from 3.9, one / 13 to 10.4, one / 11 nohead lc rgb grey
plot one / x lc rgb grey dt 2 title 'one core, divided by cores', \
    'cores.dat' index 3 using 1:2:3:4 with yerrorlines lc rgb colours[4] pt 5 ps 0.6 title 'PyTorch DDP', \
    '' index 2 using 1:2:3:4 with yerrorlines lc rgb colours[3] pt 9 ps 0.7 title 'all-reduce', \
    '' index 1 using 1:2:3:4 with yerrorlines lc rgb colours[2] pt 7 ps 0.6 lw 1.6 title 'DASGD', \
    '' index 0 using 1:2:3:4 with yerrorbars lc rgb colours[1] pt 7 ps 0.6 title 'one core (ensmallen)'

set title 'Gradients per second'
unset label
unset arrow
set yrange [90 : 6000]
set ytics (125, 250, 500, 1000, 2000, 4000)
set key bottom right samplen 2 spacing 1.1
plot rate * x lc rgb grey dt 2 title 'limit: one core, times cores', \
    'cores.dat' index 1 using 1:5 with linespoints lc rgb colours[2] pt 7 ps 0.6 lw 1.6 title 'DASGD', \
    '' index 2 using 1:5 with linespoints lc rgb colours[3] pt 9 ps 0.7 title 'all-reduce', \
    '' index 3 using 1:5 with linespoints lc rgb colours[4] pt 5 ps 0.6 title 'PyTorch DDP'
unset multiplot
