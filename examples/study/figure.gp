# Draws one experiment of the virtual study; called by run.sh with name and folder
# set.

csv = folder . '/' . name . '_summary.csv'
grey = '#555555'
set datafile separator comma
set datafile missing ''
set border 3 lc rgb grey
set tics nomirror out textcolor rgb '#222222'
set grid ytics lc rgb '#dddddd' lt 1
set encoding utf8
array colours[8] = ['#1f5fa8', '#c8561b', '#2a8a57', '#8a5aa8', '#b8912a', \
    '#3aa0b0', '#9c2f4e', '#777777']

array titles[8] = ['1 Gbit/s', '1 Gbit/s, machines of 8', \
    '1 Gbit/s, one rank 4 times slower', 'the same, machines of 8', \
    '10 Gbit/s', '10 Gbit/s, machines of 8', \
    '10 Gbit/s, 1 million parameters, 10 ms', 'the same, machines of 8']

# The rows of one algorithm.
rows(key) = sprintf("< grep '^%s,' %s", key, csv)

do for [form in 'svg png'] {
  if (form eq 'svg') {
    set terminal svg size 900, 420 font 'sans-serif,13' background '#ffffff'
  } else {
    set terminal pngcairo size 900, 420 font 'sans-serif,11' background '#ffffff'
  }
  set output folder . '/' . name . '.' . form

  if (name eq 'ring') {
    keys = "'DASGD ring' 'AllreduceSGD' 'ParameterServerSGD' 'DPSGD ring' 'ADPSGD ring' 'SWIFT ring' 'LocalSGD'"
    set title 'Seconds to the target, 16 ranks, one of them slower (best step of each, mean of 3 seeds)'
    set ylabel 'virtual seconds'
    set yrange [0 : *]
    set xrange [-0.6 : 2.6]
    set xtics ('all equal' 0, 'one 2 times slower' 1, 'one 4 times slower' 2) scale 0
    set key outside right top samplen 1 spacing 1.3
    set style fill solid 1 noborder
    width = 0.11
    at(slow) = slow == 1 ? 0 : slow == 2 ? 1 : 2
    plot for [i = 1 : words(keys)] rows(word(keys, i)) \
        using (at($3) + (i - 4) * width):6:7:(0.9 * width) with boxerrorbars \
        lc rgb colours[i] title word(keys, i)
  }
  if (name eq 'auto') {
    keys = 'equal equal8 slow slow8 fast fast8 large large8'
    set multiplot layout 1, 2
    set logscale x 2
    set xlabel 'ranks'
    set xrange [3.6 : 72]
    set yrange [0 : *]
    unset key
    set title 'DASGD: times as fast to the target as all-reduce'
    plot 1 with lines lc rgb '#bbbbbb' dt 2 notitle, \
        for [i = 1 : words(keys)] rows(word(keys, i)) using 2:7 \
        with linespoints lc rgb colours[(i + 1) / 2] dt 1 + 2 * (i % 2 == 0) \
        pt (i % 2 ? 7 : 6) ps 0.6 lw 2 title titles[i]
    set title 'Staleness of DASGD, of n − 1'
    set logscale y 2
    set yrange [0.8 : 64]
    set key top left Left reverse samplen 2 spacing 0.9 font ',9'
    plot 1 with lines lc rgb '#bbbbbb' dt 2 notitle, \
        for [i = 1 : words(keys)] rows(word(keys, i)) using 2:9 \
        with linespoints lc rgb colours[(i + 1) / 2] dt 1 + 2 * (i % 2 == 0) \
        pt (i % 2 ? 7 : 6) ps 0.6 lw 2 title titles[i]
    unset logscale y
    unset multiplot
  }
  if (name eq 'scaling') {
    keys = "'DASGD complete' 'DASGD ring' 'DASGD exponential' 'DASGD tree:2' 'AllreduceSGD' 'ParameterServerSGD'"
    serial = real(system("grep '^ens::SGD,' " . csv . " | cut -d, -f6"))
    rate = real(system("grep '^ens::SGD,' " . csv . " | cut -d, -f9"))
    set multiplot layout 1, 2
    set logscale x 2
    set logscale y 2
    set xlabel 'ranks'
    set xrange [3.6 : 290]
    set yrange [1 : 300]
    unset key
    set title 'Speed-up to the target over serial SGD'
    plot x with lines lc rgb '#bbbbbb' dt 2 title 'linear', \
        for [i = 1 : words(keys)] rows(word(keys, i)) using 2:(serial / $6) \
        with linespoints lc rgb colours[i] pt 7 ps 0.5 lw 2 title word(keys, i)
    set title 'Gradients in the same time, of one rank'
    set key top left Left reverse samplen 1 spacing 0.9 font ',10'
    plot x with lines lc rgb '#bbbbbb' dt 2 title 'linear', \
        for [i = 1 : words(keys)] rows(word(keys, i)) using 2:($9 / rate) \
        with linespoints lc rgb colours[i] pt 7 ps 0.5 lw 2 title word(keys, i)
    unset multiplot
  }
}
