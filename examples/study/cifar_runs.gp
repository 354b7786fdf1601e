# Draws every run of doc/results/study/cifar/curves.csv; call it as
# gnuplot -e "folder = 'doc/results/study/cifar'" examples/study/cifar_runs.gp

set datafile separator comma
set terminal svg size 860, 430 font 'sans-serif,13' background '#ffffff'
set output folder . '/accuracy.svg'
set border 3 lc rgb '#555555'
set tics nomirror out
set grid ytics lc rgb '#dddddd' lt 1
set xlabel 'seconds'
set ylabel 'test accuracy'
set format y '%.0f %%'
set yrange [30:66]
set xrange [0:200]
set key bottom right samplen 1.5 spacing 1.2
set title 'CIFAR-10, two ranks on two cores: every run that was made'
c = folder . '/curves.csv'
r(a,s,k)=sprintf("< grep '^%s,%s,%s,' %s",a,s,k,c)
plot for [k in '4 5 6'] r('dasgd_momentum','0.01',k) using 4:(100*$7) with lines lw 2 lc rgb '#1f5fa8' title (k eq '4' ? 'DASGD, momentum, step 0.01' : ''), \
 r('dasgd_momentum','0.02','4') using 4:(100*$7) with lines lw 2 dt 2 lc rgb '#1f5fa8' title 'DASGD, momentum, step 0.02', \
 r('allreduce_momentum','0.01','4') using 4:(100*$7) with lines lw 2 lc rgb '#2a8a57' title 'all-reduce, momentum, step 0.01', \
 r('allreduce_momentum','0.02','4') using 4:(100*$7) with lines lw 2 dt 2 lc rgb '#2a8a57' title 'all-reduce, momentum, step 0.02', \
 r('dasgd_adam','0.001','4') using 4:(100*$7) with lines lw 2 lc rgb '#c8561b' title 'DASGD, Adam', \
 r('momentum','0.01','4') using 4:(100*$7) with lines lw 2 lc rgb '#777777' title 'serial, momentum, step 0.01', \
 r('momentum','0.02','4') using 4:(100*$7) with lines lw 2 dt 2 lc rgb '#777777' title 'serial, momentum, step 0.02', \
 r('adam','0.001','4') using 4:(100*$7) with lines lw 2 lc rgb '#d0a060' title 'serial, Adam'
