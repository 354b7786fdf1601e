  const SERIAL = 'serial SGD';
  const BASELINE = 'AllreduceSGD';
  const COLOURS = 8;

  // ---- Numbers ----------------------------------------------------------------------------

  function unitOf(value, units) {
    let found = units[0];
    for (const unit of units) {
      if (Math.abs(Number(value.toPrecision(3))) >= unit[0])
        found = unit;
    }
    return found;
  }

  const COUNT = [[1, ''], [1e6, ' M'], [1e9, ' G']];
  const BYTES = [[1, ' B'], [1e3, ' kB'], [1e6, ' MB'], [1e9, ' GB']];
  const SECONDS = [[1, ' s']];
  const RATIO = [[1, '']];
  const TIMES = [[1, '×']];
  const PERCENT = [[0.01, '%']];

  function written(value, units) {
    const [scale, unit] = unitOf(value, units);
    return digits(value / scale) + unit;
  }

  // The spread is in the unit of the mean and has as many decimals, unless that made it zero.
  function spread(quantity, units) {
    if (!isNumber(quantity.sd))
      return '';
    const scale = unitOf(quantity.mean, units)[0];
    const mean = digits(quantity.mean / scale);
    const sd = quantity.sd / scale;
    if (sd === 0 || mean.includes('e') || mean.includes(',') || mean === '0')
      return '± ' + plain(sd);
    const fixed = sd.toFixed((mean.split('.')[1] || '').length);
    return '± ' + (sd > 0 && Number(fixed) === 0 ? plain(Number(sd.toPrecision(1))) : fixed);
  }

  // "0.31 to 0.35", in the unit of the mean.
  function intervalText(quantity, units) {
    const scale = unitOf(quantity.mean, units)[0];
    return `${digits(quantity.low / scale)} to ${digits(quantity.high / scale)}`;
  }

  const percent = (value) => (value === 0 ? '0%' : plain(100 * value) + '%');

  // ---- What the columns of a table are ----------------------------------------------------

  // better: which values are best.  placed: those that may be in the first place are.  shared:
  // says how ranks work together, so serial SGD, which has but one, would always win and takes no
  // part.  bound: how a mean is written in which runs count that did not reach the target.
  const COLUMNS = [
    {key: 'place', head: 'Place',
      help: 'the order of the mean times to the target. Algorithms whose intervals overlap are ' +
        'cannot be distinguished: 2–4 is a place from the second to the fourth.'},
    {key: 'time_to_target', head: 'Time to target', units: SECONDS, placed: true, target: true,
      bound: '≥ ', help: 'seconds until the target was first reached. A run that ' +
        'did not get there counts with all of its time, so that the mean is at least (≥) what ' +
        'is written. Less is better.'},
    {key: 'speedup', head: 'Speed-up', units: TIMES, placed: true, reach: true, bound: '≤ ',
      help: 'mean time to target of serial SGD, divided by that of this algorithm; where plain ' +
        'serial SGD was not run, that of the fastest algorithm in one process. More is better; ' +
        'below 1 it is slower than that.'},
    {key: 'gradients_to_target', head: 'Gradients to target', units: COUNT, better: 'low',
      target: true, bound: '≥ ',
      help: 'gradients that all ranks together computed until then. Less is better.'},
    {key: 'throughput', head: 'Throughput', units: RATIO, better: 'high', shared: true,
      help: 'gradients per second, divided by the most that the ranks can compute. 1 is the ' +
        'limit. More is better.'},
    {key: 'idle', head: 'Idle', units: PERCENT, better: 'low', shared: true,
      help: 'share of the time in which ranks waited for others. Less is better.'},
    {key: 'bytes', head: 'Sent per gradient', units: BYTES, better: 'low', shared: true,
      help: 'bytes sent to other ranks for each gradient computed. Less is better.'},
    {key: 'staleness', head: 'Staleness', units: RATIO, better: 'low', shared: true,
      help: 'how many updates, on average, a gradient was behind when it was applied. ' +
        '0 means that all gradients were fresh.'},
    {key: 'accuracy', head: 'Accuracy', units: PERCENT, better: 'high',
      help: 'share of the test points that were classified correctly at the end. More is better.'},
    {key: 'step', head: 'Step size', help: 'the step size (learning rate) of the runs.'},
  ];
  const RUNS_HELP = 'how many runs were started, each with its own seed, and how many failed.';

  const mean = (row, key) => (row[key] && isNumber(row[key].mean) ? row[key].mean : null);
  const isSerial = (row) => row.serial === true || row.algorithm === SERIAL;
  const reachedRuns = (row) => {
    const target = row.time_to_target;
    return mean(row, 'time_to_target') === null ? 0 : target.reached ?? row.runs;
  };
  const reachedAlways = (row) => reachedRuns(row) > 0 && reachedRuns(row) >= row.runs;

  const meanTime = (row) => mean(row, 'time_to_target') ?? Infinity;
  // The fastest first.  Those that never reached the target come last, in the order given.
  const inOrder = (rows) => rows.slice().sort((a, b) =>
    (meanTime(a) === meanTime(b) ? 0 : meanTime(a) - meanTime(b)));
  // No other algorithm is certainly faster.
  const mayBeFirst = (row) => reachedRuns(row) > 0 && row.place?.first === 1;

  // An algorithm that got there once by luck must not beat one that always got there.
  function contenders(rows) {
    const share = (row) => reachedRuns(row) / Math.max(1, row.runs);
    const most = Math.max(0, ...rows.map(share));
    return most > 0 ? rows.filter((row) => share(row) === most) : [];
  }

  // The best rows of a column; several if they are written alike, none if all are.
  function bestRows(rows, column) {
    if (column.placed) {
      const first = rows.filter(mayBeFirst);
      return first.length < rows.length ? first : [];
    }
    if (!column.better)
      return [];
    const fair = column.target ? contenders(rows) : rows;
    const known = fair.filter((row) => mean(row, column.key) !== null &&
      !(column.shared && isSerial(row)));
    if (known.length < 2)
      return column.target ? known : [];
    const values = known.map((row) => mean(row, column.key));
    const best = column.better === 'low' ? Math.min(...values) : Math.max(...values);
    const text = written(best, column.units);
    const found = known.filter((row) => written(mean(row, column.key), column.units) === text);
    return found.length < known.length ? found : [];
  }

  // ---- Colours and marks ------------------------------------------------------------------

  // In order of first appearance, so that a name looks alike in all groups.
  function algorithmStyles(groups) {
    const styles = new Map();
    for (const group of groups) {
      for (const one of [...group.rows, ...group.curves, ...group.staleness]) {
        if (!styles.has(one.algorithm))
          styles.set(one.algorithm, makeStyle(styles.size, one.algorithm));
      }
    }
    return styles;
  }

  // After eight algorithms the colours come again, with broken lines.
  function makeStyle(index, name) {
    return {
      name, index,
      colour: `color: var(--s${index % COLOURS})`,
      dash: index < COLOURS ? null : index < 2 * COLOURS ? '9 4' : '3 3',
      width: /^DASGD\b/.test(name) ? 3.4 : 1.8,
    };
  }

  function mark(style, x, y) {
    return draw('path', {d: MARKS[style.index % MARKS.length], fill: 'currentColor',
      transform: `translate(${x.toFixed(1)} ${y.toFixed(1)})`});
  }

  function lineSample(style) {
    return draw('svg', {width: 30, height: 14, viewBox: '0 0 30 14', 'aria-hidden': 'true',
      style: style.colour},
      draw('path', {d: 'M1 7H29', stroke: 'currentColor', 'stroke-width': style.width,
        'stroke-dasharray': style.dash}),
      mark(style, 15, 7));
  }

  // ---- The sentence at the head of a group ------------------------------------------------

  // An accuracy is shown as its rest, the error, which falls as a loss does.
  const targetName = (group) => group.target_text || `${group.measure} ${plain(group.target)}`;
  const targetText = (group) => isNumber(group.target) ?
    `the target (${targetName(group)})` : 'the target';

  // "a, b and c".
  const joined = (parts) => (parts.length < 2 ? parts.join('') :
    `${parts.slice(0, -1).join(', ')} and ${parts[parts.length - 1]}`);

  const hasInterval = (quantity) => quantity && isNumber(quantity.low) && isNumber(quantity.high);

  // How many times as fast one is as the other.  The interval, from one end of theirs to the
  // other, holds 1 if they cannot be distinguished.
  function factor(row, other) {
    const [time, base] = [row.time_to_target, other.time_to_target];
    const ratio = {mean: base.mean / time.mean};
    if (hasInterval(base) && hasInterval(time) && time.low > 0) {
      ratio.low = base.low / time.high;
      ratio.high = base.high / time.low;
    }
    return ratio;
  }

  function comparison(best, other, name) {
    const ratio = factor(best, other);
    const bound = reachedAlways(other) || !reachedAlways(best) ? '' : 'at least ';
    return `${bound}${digits(ratio.mean)} times` +
      `${hasInterval(ratio) ? ` (${intervalText(ratio, TIMES)})` : ''} as fast as ${name}`;
  }

  // With the runner-up, serial SGD and all-reduce, each once.
  function comparisons(best, rows) {
    const next = rows[1];
    const all = next ? [comparison(best, next, `the runner-up, ${next.algorithm}`)] : [];
    for (const row of rows) {
      if (row !== best && row !== next && (isSerial(row) || row.algorithm === BASELINE))
        all.push(comparison(best, row, row.algorithm));
    }
    const last = all.pop();
    return last ? `: ${all.length ? all.join(', ') + ', and ' : ''}${last}` : '';
  }

  function missed(group) {
    const rows = group.rows.filter((row) => reachedRuns(row) === 0);
    const lost = rows.filter((row) => row.step_found === false).map((row) => row.algorithm);
    return (rows.length ? ` ${capital(joined(rows.map((row) => row.algorithm)))} never reached it.` :
      '') + (lost.length ? ` No step size was found with which ${joined(lost)} would.` : '');
  }

  // Says so if chance alone may have made the first one first.
  function doubt(best, rows) {
    const others = rows.filter((row) => row !== best && mayBeFirst(row))
      .map((row) => row.algorithm);
    if (others.length === 0)
      return '';
    return best.runs < 2 ? ' One run of each tells nothing apart.' :
      ` It cannot be distinguished from ${joined(others)}: their intervals overlap.`;
  }

  function lowestLoss(group) {
    let best = null;
    for (const curve of group.curves) {
      for (const point of [...list(curve.loss_by_time), ...list(curve.loss_by_gradients)]) {
        if (point && isNumber(point[0]) && (!best || point[0] < best.loss))
          best = {loss: point[0], algorithm: curve.algorithm};
      }
    }
    return best;
  }

  function notRunYet(group) {
    const names = list(group.not_run_yet);
    return names.length ? ` Incomplete: runs of ${joined(names)} are missing.` : '';
  }

  function nobody(group) {
    const best = lowestLoss(group);
    const lowest = best ? `the lowest mean ${group.measure} on the way was ` +
      `${digits(best.loss)}, by ${best.algorithm}` : '';
    if (group.rows.length === 0)
      return 'No run that counts was made yet.';
    if (!isNumber(group.target))
      return lowest ? `No target was set; ${lowest}.` : 'No target was set.';
    if (group.rows.every((row) => row.runs > 0 && row.failed >= row.runs))
      return `No algorithm reached ${targetText(group)}: all runs failed.`;
    return `No algorithm reached ${targetText(group)}${lowest ? '; ' + lowest : ''}. A target ` +
      'that is easier to reach, or more time for each run, would tell them apart.';
  }

  function summary(group) {
    const rows = inOrder(group.rows.filter((row) => reachedRuns(row) > 0));
    if (rows.length === 0)
      return nobody(group) + notRunYet(group);
    const best = rows[0];
    const time = best.time_to_target;
    const always = reachedAlways(best);
    const parallel = isSerial(best) && group.rows.length > 1 ?
      ' No parallel algorithm was faster.' : '';
    return `${capital(best.algorithm)} reached ${targetText(group)} first, after ` +
      `${always ? '' : 'at least '}${written(time.mean, SECONDS)}` +
      `${best.runs > 1 ? ' on average' : ''}` +
      `${hasInterval(time) ? ` (${intervalText(time, SECONDS)})` : ''}` +
      `${always ? '' : ` and in ${reachedRuns(best)} of ${best.runs} runs only`}` +
      `${comparisons(best, rows)}.${doubt(best, rows)}${parallel}${missed(group)}` +
      notRunYet(group);
  }

  // ---- The table --------------------------------------------------------------------------

  const placeText = (place) => (!place ? '–' : place.first === place.last ? `${place.first}` :
    `${place.first}–${place.last}`);

  function cellText(row, column) {
    const quantity = row[column.key];
    if (column.key === 'place')
      return {value: reachedRuns(row) > 0 ? placeText(quantity) : '–'};
    if (!column.units)
      return {value: isNumber(quantity) ? plain(quantity) : '–'};
    if (mean(row, column.key) === null || quantity.reached === 0) {
      const failed = row.runs > 0 && row.failed >= row.runs;
      return {value: column.target ? (failed ? 'failed' : 'not reached') : '–', none: true};
    }
    const reached = quantity.reached ?? row.runs;
    const bound = column.bound && !reachedAlways(row) ? column.bound : '';
    return {
      value: bound + written(quantity.mean, column.units),
      spread: hasInterval(quantity) ? intervalText(quantity, column.units) :
        spread(quantity, column.units),
      part: column.target && reached < row.runs ? `${reached} of ${row.runs} runs` : '',
    };
  }

  function cell(row, column, best) {
    const text = cellText(row, column);
    return html('td', {'data-column': column.key, class: text.none ? 'muted' : null},
      best.includes(row) ? html('strong', {}, text.value) : text.value,
      text.spread ? html('span', {class: 'under'}, text.spread) : null,
      text.part ? html('span', {class: 'under'}, text.part) : null);
  }

  function nameCell(row, styles) {
    const failure = row.failed > 0 ?
      `${row.failed} of ${row.runs} runs failed` + (row.failure ? `: ${row.failure}` : '') : '';
    return html('th', {scope: 'row'},
      html('span', {class: 'name'}, swatch(styles.get(row.algorithm)), row.algorithm),
      row.note ? html('span', {class: 'under wrap'}, row.note) : null,
      failure ? html('span', {class: 'under wrap bad'}, failure) : null);
  }

  function runsCell(row) {
    return html('td', {'data-column': 'runs'}, String(row.runs ?? '–'),
      row.failed > 0 ? html('span', {class: 'under'}, `${row.failed} failed`) : null);
  }

  // A column without any number (say, accuracy of a regression) is left out.
  const usedColumns = (rows) => COLUMNS.filter((column) => column.target || rows.some((row) =>
    (column.key === 'place' ? row.place :
      column.units ? mean(row, column.key) !== null : isNumber(row[column.key]))));

  function resultTable(group, styles) {
    const columns = usedColumns(group.rows);
    const best = new Map(columns.map((column) => [column, bestRows(group.rows, column)]));
    const head = (text, help) => html('th', {scope: 'col'},
      html('span', {title: capital(help)}, text));
    const body = inOrder(group.rows).map((row) => html('tr', {'data-algorithm': row.algorithm},
      nameCell(row, styles),
      columns.map((column) => cell(row, column, best.get(column))),
      runsCell(row)));
    return html('div', {class: 'scroll', tabindex: 0, role: 'region',
      'aria-label': `Results: ${group.name}`},
    html('table', {class: 'results'},
      html('thead', {}, html('tr', {}, html('th', {scope: 'col'}, 'Algorithm'),
        columns.map((column) => head(column.head, column.help)), head('Runs', RUNS_HELP))),
      html('tbody', {}, body)));
  }

  // Below the table for those who cannot hover.  Open once: the next tables have the same columns.
  function meanings(group, open) {
    const entries = [...usedColumns(group.rows), {head: 'Runs', help: RUNS_HELP}];
    return html('details', {class: 'small', open},
      html('summary', {}, 'What the columns mean'),
      html('p', {class: 'meanings muted'},
        'Numbers are means over the runs. Below a time, a speed-up or a number of gradients is ' +
        'the 95 % confidence interval of the mean; elsewhere ± is the standard deviation. ' +
        'Algorithms whose intervals of time overlap cannot be distinguished: so much may change ' +
        'from study to study. Bold is the best of a column, in time and speed-up all that ' +
        'may be the first; throughput, idle, sent bytes and staleness leave serial SGD out.'),
      html('ul', {class: 'meanings muted'}, entries.map((entry) =>
        html('li', {}, html('strong', {}, entry.head), `: ${entry.help}`))));
  }

  // ---- Axes -------------------------------------------------------------------------------

  function niceStep(span, count) {
    const rough = span / Math.max(1, count);
    const power = 10 ** Math.floor(Math.log10(rough));
    return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= rough * 0.999);
  }

  function linearScale(low, high, from, to, count, tight) {
    const span = high > low ? high - low : Math.abs(high) || 1;
    const step = niceStep(span, count);
    const first = Math.floor(low / step + 1e-9) * step;
    const last = tight ? low + span : Math.ceil((low + span) / step - 1e-9) * step;
    const ticks = [];
    for (let i = 0; first + i * step <= last + step * 1e-6; i++)
      ticks.push(first + i * step);
    return {ticks, low: first, high: last,
      at: (value) => from + (value - first) / (last - first) * (to - from)};
  }

  function logScale(low, high, from, to) {
    const ends = [Math.log10(low) - 0.02, Math.log10(Math.max(high, low * 1.05)) + 0.02];
    const steps = ends[1] - ends[0] > 2.5 ? [1] : [1, 2, 5];
    let ticks = [];
    for (let power = Math.floor(ends[0]); power <= Math.ceil(ends[1]); power++)
      ticks.push(...steps.map((step) => step * 10 ** power));
    const inside = (tick) => Math.log10(tick) >= ends[0] && Math.log10(tick) <= ends[1];
    ticks = ticks.filter(inside);
    // Less than a decade may hold one tick only, too few to read values from.
    if (ticks.length < 3)
      ticks = linearScale(low, high, 0, 1, 4).ticks.filter((tick) => tick > 0 && inside(tick));
    return {ticks, low: 10 ** ends[0], high: 10 ** ends[1],
      at: (value) => from + (Math.log10(value) - ends[0]) / (ends[1] - ends[0]) * (to - from)};
  }

  function xAxis(scale, box, format) {
    return scale.ticks.map((tick) => [
      line(scale.at(tick), box.bottom, scale.at(tick), box.bottom + 4, 'axis'),
      text(scale.at(tick), box.bottom + 18, format(tick), {'text-anchor': 'middle'}),
    ]);
  }

  // ---- Loss curves ------------------------------------------------------------------------

  const KINDS = {
    time: {xs: 'seconds', ys: 'loss_by_time', head: 'against time', axis: 'seconds',
      at: (x) => written(x, SECONDS)},
    gradients: {xs: 'gradients', ys: 'loss_by_gradients', head: 'against gradients',
      axis: 'gradients computed by all ranks', at: (x) => `${written(x, COUNT)} gradients`},
  };

  // The points of a curve; null where a mean is not known or cannot be drawn.
  function points(curve, kind, log) {
    const ys = list(curve[kind.ys]);
    return list(curve[kind.xs]).map((x, i) => {
      const y = ys[i];
      if (!isNumber(x) || !y || !isNumber(y[0]) || (log && y[0] <= 0))
        return null;
      const low = isNumber(y[1]) && !(log && y[1] <= 0) ? y[1] : y[0];
      return {x, mean: y[0], low, high: isNumber(y[2]) ? y[2] : y[0]};
    });
  }

  function readCurves(group, kind, state) {
    return group.curves.filter((curve) => !state.hidden.has(curve.algorithm))
      .map((curve) => ({algorithm: curve.algorithm, points: points(curve, kind, state.log)}))
      .filter((curve) => curve.points.some((point) => point));
  }

  // Losses begin far above the target, and one algorithm may diverge.  What counts is who comes
  // to the target, so that is what the axis shows, unless all is asked for: what is farther above
  // is cut off.
  function lossRange(curves, target, state) {
    const all = curves.flatMap((curve) => curve.points.filter((point) => point));
    const starts = curves.map((curve) => curve.points.find((point) => point).high);
    const useTarget = isNumber(target) && !(state.log && target <= 0);
    const low = Math.min(...all.map((point) => point.low), ...(useTarget ? [target] : []));
    const top = Math.max(...all.map((point) => point.high), ...(useTarget ? [target] : []));
    const start = Math.max(...starts, low);
    const near = useTarget && !state.whole && start > target;
    // The best of them is seen in any case, also if it stays far above.
    const best = Math.min(...all.map((point) => point.mean));
    const limit = near ? target + Math.max(0.15 * (start - target), 1.5 * (target - low),
      2 * (best - target)) :
      state.log ? Math.abs(start) * 10 : start + 0.5 * (start - low || Math.abs(start));
    return top > limit ? {low, high: limit, cut: true} : {low, high: top, cut: false};
  }

  // Parts without gaps.
  function runsOf(values) {
    const parts = [[]];
    for (const value of values) {
      if (value)
        parts[parts.length - 1].push(value);
      else if (parts[parts.length - 1].length > 0)
        parts.push([]);
    }
    return parts.filter((part) => part.length > 0);
  }

  const path = (places) =>
    'M' + places.map(([x, y]) => `${x.toFixed(1)} ${y.toFixed(1)}`).join('L');

  function curveShapes(curve, style, x, y) {
    const parts = runsOf(curve.points);
    const bands = parts.map((part) => path([
      ...part.map((point) => [x.at(point.x), y.at(point.high)]),
      ...part.slice().reverse().map((point) => [x.at(point.x), y.at(point.low)])]) + 'Z');
    const lines = parts.map((part) => path(part.map((p) => [x.at(p.x), y.at(p.mean)])));
    const known = curve.points.filter((point) => point);
    const every = Math.max(1, Math.round(known.length / 5));
    // Marks of different curves begin at different places, or they would hide each other.
    const marked = known.filter((point, i) => known.length < 3 ||
      i % every === (style.index * 2 + 1) % every);
    return {
      band: draw('path', {d: bands.join(''), fill: 'currentColor', 'fill-opacity': 0.13,
        class: 'band', style: style.colour, 'data-algorithm': curve.algorithm}),
      line: draw('g', {style: style.colour, 'data-algorithm': curve.algorithm},
        draw('path', {d: lines.join(''), fill: 'none', stroke: 'currentColor', class: 'curve',
          'stroke-width': style.width, 'stroke-dasharray': style.dash,
          'stroke-linejoin': 'round', 'stroke-linecap': 'round'}),
        marked.map((point) => mark(style, x.at(point.x), y.at(point.mean)))),
    };
  }

  let clips = 0;

  function lossChart(group, kind, state, styles, width) {
    const curves = readCurves(group, kind, state);
    if (curves.length === 0)
      return emptyPlot(width, 'No curves to show.');
    const height = Math.round(clamp(width * 0.66, 220, 350));
    const box = {left: 52, right: width - 16, top: 26, bottom: height - 44};
    const ends = curves.flatMap((c) => c.points.filter((p) => p).map((p) => p.x));
    const range = lossRange(curves, group.target, state);
    const x = linearScale(Math.min(0, ...ends), Math.max(...ends), box.left, box.right,
      Math.max(3, Math.floor(width / 90)), true);
    const y = state.log ? logScale(range.low, range.high, box.bottom, box.top) :
      linearScale(range.low, range.high, box.bottom, box.top, 5, range.cut);
    // DASGD last, on top of the others.
    const ordered = curves.slice().sort((a, b) =>
      styles.get(a.algorithm).width - styles.get(b.algorithm).width);
    const shapes = ordered.map((c) => curveShapes(c, styles.get(c.algorithm), x, y));
    const clip = `clip${clips++}`;
    const svg = draw('svg', {viewBox: `0 0 ${width} ${height}`},
      draw('clipPath', {id: clip}, draw('rect', {x: box.left, y: box.top - 3,
        width: box.right - box.left + 5, height: box.bottom - box.top + 6})),
      yAxis(y, box, tickText), xAxis(x, box, tickText),
      line(box.left, box.bottom, box.right, box.bottom, 'axis'),
      text(4, 13, group.measure + (state.log ? ' (log scale)' : '')),
      text(box.right, height - 6, kind.axis, {'text-anchor': 'end'}),
      draw('g', {'clip-path': `url(#${clip})`},
        shapes.map((shape) => shape.band), shapes.map((shape) => shape.line)),
      targetLine(group, state, y, box));
    return {svg, label: lossLabel(group, kind, curves), box, height,
      note: range.cut ? `Values above ${digits(range.high)} are cut off.` : '',
      pick: (at) => pickLoss(curves, kind, x, at)};
  }

  function targetLine(group, state, y, box) {
    if (!isNumber(group.target) || (state.log && group.target <= 0))
      return [];
    const at = y.at(group.target);
    // At the right, where curves are low, the words go above the line if there is room.
    const below = at + 16 < box.bottom ? at + 14 : at - 6;
    return [line(box.left, at, box.right, at, 'limit target'),
      text(box.left + 6, below, `target ${plain(group.target)}`, {class: 'strong halo'})];
  }

  function lossLabel(group, kind, curves) {
    const last = curves.map((curve) => {
      const known = curve.points.filter((point) => point);
      const end = known[known.length - 1];
      return `${curve.algorithm} ends at ${digits(end.mean)} after ${kind.at(end.x)}`;
    });
    return `Line chart: ${group.measure} ${kind.head}. ${last.join('; ')}.`;
  }

  const nearest = (values, x) => values.reduce((a, b) =>
    (Math.abs(b.x - x) < Math.abs(a.x - x) ? b : a));

  // The values nearest to the pointer.  Curves that ended before or begin later are left out.
  function pickLoss(curves, kind, scale, at) {
    const known = curves.map((curve) => ({algorithm: curve.algorithm,
      points: curve.points.filter((point) => point)}));
    const snapped = known.flatMap((curve) => curve.points)
      .reduce((a, b) => (Math.abs(scale.at(b.x) - at.x) < Math.abs(scale.at(a.x) - at.x) ? b : a));
    const rows = known.filter((curve) => curve.points[0].x <= snapped.x &&
      curve.points[curve.points.length - 1].x >= snapped.x)
      .map((curve) => ({algorithm: curve.algorithm, point: nearest(curve.points, snapped.x)}))
      .sort((a, b) => a.point.mean - b.point.mean);
    return {guide: scale.at(snapped.x), head: `At ${kind.at(snapped.x)}`,
      rows: rows.map((row) => [row.algorithm, digits(row.point.mean),
        row.point.high > row.point.low ?
          `${digits(row.point.low)} to ${digits(row.point.high)}` : ''])};
  }

  // ---- Bars -------------------------------------------------------------------------------

  const BARS = {
    time_to_target: {head: 'Time to target', units: SECONDS, format: plain, atLeast: 0,
      note: 'Mean over the runs. Less is better. Thin line: 95 % confidence interval; where ' +
        'lines overlap, algorithms cannot be distinguished.', none: 'not reached', bound: '≥ '},
    throughput: {head: 'Throughput', units: RATIO, format: plain, limit: 1,
      note: 'Share of what the ranks can compute. More is better. Thin line: ± standard ' +
        'deviation.',
      limitText: 'limit'},
    idle: {head: 'Idle time', units: PERCENT, format: percent, atLeast: 0.1,
      note: 'Share of the time spent waiting for others. Less is better. Thin line: ± standard ' +
        'deviation.'},
  };

  function barChart(group, key, state, styles, width) {
    const kind = BARS[key];
    const rows = inOrder(group.rows).filter((row) => !state.hidden.has(row.algorithm));
    // Rows without a value stay, also when those with one are hidden.
    if (rows.length === 0 || !group.rows.some((row) => mean(row, key) !== null))
      return emptyPlot(width, 'No values to show.');
    const each = 30;
    const longest = Math.max(...rows.map((row) => row.algorithm.length));
    const box = {left: Math.min(longest * 7 + 14, width * 0.45), right: width - 62, top: 24};
    box.bottom = box.top + each * rows.length;
    const most = Math.max(kind.limit || kind.atLeast, ...rows.map((row) =>
      (mean(row, key) === null ? 0 : whisker(row[key])[1])));
    const x = linearScale(0, most, box.left, box.right, Math.max(2, Math.floor(width / 110)));
    const svg = draw('svg', {viewBox: `0 0 ${width} ${box.bottom + 26}`},
      x.ticks.map((tick) => [line(x.at(tick), box.top, x.at(tick), box.bottom, 'gridline'),
        text(x.at(tick), box.bottom + 17, kind.format(Number(tick.toPrecision(6))),
          {'text-anchor': 'middle'})]),
      kind.limit ? [line(x.at(kind.limit), box.top - 6, x.at(kind.limit), box.bottom, 'limit'),
        text(x.at(kind.limit), 12, kind.limitText, {'text-anchor': 'middle', class: 'strong'})] :
        [],
      rows.map((row, i) => oneBar(row, key, x, box, box.top + each * i, each, styles)),
      line(box.left, box.top, box.left, box.bottom, 'axis'));
    return {svg, box, label: barLabel(rows, key), pick: (at) => pickBar(rows, key, box, each, at)};
  }

  // Where the thin line of a bar begins and ends.
  function whisker(quantity) {
    if (hasInterval(quantity))
      return [quantity.low, quantity.high];
    const sd = quantity.sd || 0;
    return [Math.max(0, quantity.mean - sd), quantity.mean + sd];
  }

  const barText = (row, key) => (BARS[key].bound && !reachedAlways(row) ? BARS[key].bound : '') +
    written(mean(row, key), BARS[key].units);

  function oneBar(row, key, x, box, top, each, styles) {
    const kind = BARS[key];
    const middle = top + each / 2;
    const name = row.algorithm.length * 7 + 14 > box.left ?
      row.algorithm.slice(0, Math.floor((box.left - 20) / 7)) + '…' : row.algorithm;
    const label = text(box.left - 8, middle + 4, name, {'text-anchor': 'end', class: 'strong'});
    const value = mean(row, key);
    if (value === null)
      return draw('g', {'data-algorithm': row.algorithm}, label,
        text(box.left + 6, middle + 4, row.failed >= row.runs && row.runs > 0 ? 'failed' :
          kind.none || 'no value'));
    const [low, high] = whisker(row[key]);
    return draw('g', {'data-algorithm': row.algorithm}, label,
      draw('rect', {x: box.left, y: top + 6, height: each - 12, fill: 'currentColor',
        width: Math.max(1, x.at(value) - box.left).toFixed(1),
        style: styles.get(row.algorithm).colour}),
      high > low ? line(x.at(low), middle, x.at(high), middle, 'whisker') : null,
      text(box.right + 58, middle + 4, barText(row, key),
        {class: 'strong', 'text-anchor': 'end'}));
  }

  function barLabel(rows, key) {
    const kind = BARS[key];
    const values = rows.map((row) => `${row.algorithm} ${mean(row, key) === null ?
      kind.none || 'no value' : barText(row, key)}`);
    return `Bar chart: ${kind.head}. ${values.join('; ')}.`;
  }

  function pickBar(rows, key, box, each, at) {
    const row = rows[Math.floor((at.y - box.top) / each)];
    if (!row || mean(row, key) === null)
      return null;
    const kind = BARS[key];
    return {head: kind.head, rows: [[row.algorithm, barText(row, key),
      hasInterval(row[key]) ? intervalText(row[key], kind.units) :
        spread(row[key], kind.units)]]};
  }

  // ---- Staleness --------------------------------------------------------------------------

  // Buckets may be counts or shares; both become shares.
  function readStaleness(group, state) {
    return group.staleness.filter((one) => !state.hidden.has(one.algorithm)).map((one) => {
      const counts = list(one.buckets).map((n) => (isNumber(n) && n > 0 ? n : 0));
      const sum = counts.reduce((a, b) => a + b, 0);
      return {algorithm: one.algorithm, sum, shares: counts.map((n) => n / (sum || 1))};
    }).filter((one) => one.sum > 0);
  }

  function bucketText(k) {
    if (k < 2)
      return String(k);
    return `${(2 ** (k - 1)).toLocaleString('en-US')}–${(2 ** k - 1).toLocaleString('en-US')}`;
  }

  function stalenessChart(group, state, styles, width) {
    const all = readStaleness(group, state);
    if (all.length === 0)
      return emptyPlot(width, 'No staleness to show.');
    const last = Math.max(...all.map((one) => one.shares.findLastIndex((share) => share > 0)));
    const buckets = Array.from({length: last + 1}, (_, k) => k);
    const height = Math.round(clamp(width * 0.34, 236, 280));
    const box = {left: 46, right: width - 10, top: 26, bottom: height - 44};
    const most = Math.max(...all.flatMap((one) => one.shares));
    const y = linearScale(0, most, box.bottom, box.top, 4);
    const each = (box.right - box.left) / buckets.length;
    // Every second label or fewer, if they would touch.
    const skip = Math.ceil(Math.max(...buckets.map((k) => bucketText(k).length)) * 7.2 / each);
    const svg = draw('svg', {viewBox: `0 0 ${width} ${height}`},
      yAxis(y, box, (tick) => percent(Number(tick.toPrecision(6)))),
      buckets.map((k) => bucketBars(all, k, y, box, each, styles)),
      buckets.filter((k) => k % skip === 0).map((k) => text(box.left + each * (k + 0.5),
        box.bottom + 17, bucketText(k), {'text-anchor': 'middle'})),
      line(box.left, box.bottom, box.right, box.bottom, 'axis'),
      text(4, 13, 'share of the gradients'),
      text(box.right, height - 6, 'staleness in updates', {'text-anchor': 'end'}));
    return {svg, box, label: stalenessLabel(all),
      pick: (at) => pickBucket(all, buckets, box, each, at)};
  }

  function bucketBars(all, k, y, box, each, styles) {
    const room = each * 0.84 / all.length;
    const left = box.left + each * (k + 0.08);
    return all.map((one, i) => (one.shares[k] > 0 ? draw('rect', {
      x: (left + room * i).toFixed(2), y: y.at(one.shares[k]).toFixed(1),
      width: Math.max(1, room - (room > 5 ? 1 : 0)).toFixed(2),
      height: Math.max(1, box.bottom - y.at(one.shares[k])).toFixed(1), fill: 'currentColor',
      style: styles.get(one.algorithm).colour, 'data-algorithm': one.algorithm}) : null));
  }

  function stalenessLabel(all) {
    const fresh = all.map((one) => `${one.algorithm} ${percent(one.shares[0])}`);
    return `Bar chart: staleness of the gradients. Fresh gradients: ${fresh.join('; ')}.`;
  }

  function pickBucket(all, buckets, box, each, at) {
    const k = Math.floor((at.x - box.left) / each);
    if (k < 0 || k >= buckets.length)
      return null;
    return {guide: box.left + each * (k + 0.5), head: `Staleness ${bucketText(k)}`,
      rows: all.filter((one) => one.shares[k] > 0)
        .map((one) => [one.algorithm, percent(one.shares[k]), ''])};
  }

  // ---- Figures ----------------------------------------------------------------------------

  // A place of a chart gives values of algorithms, which are told in their colours.
  function coloured(options, make, styles) {
    const pickOf = (pick) => (at) => {
      const found = pick(at);
      return found && {...found,
        rows: found.rows.map(([name, ...values]) => [styles.get(name), name, ...values])};
    };
    return figure(options, (width) => {
      const made = make(width);
      return made.pick ? {...made, pick: pickOf(made.pick)} : made;
    });
  }

  function groupFigures(group, state, styles) {
    const band = 'Line: mean. Band: lowest to highest run. Dashed: target.';
    const loss = (name) => coloured({name: `loss-${name}`, note: band,
      head: `${capital(group.measure)} ${KINDS[name].head}`},
    (width) => lossChart(group, KINDS[name], state, styles, width), styles);
    const bars = (name, wide) => coloured({name, wide, note: BARS[name].note, head: BARS[name].head},
      (width) => barChart(group, name, state, styles, width), styles);
    const figures = [bars('time_to_target', true), loss('time'), loss('gradients'),
      bars('throughput'), bars('idle')];
    if (group.staleness.length > 0)
      figures.push(coloured({name: 'staleness', wide: true, head: 'Staleness of the gradients',
        note: 'How many updates a gradient was behind when it was applied. Left is fresher.'},
      (width) => stalenessChart(group, state, styles, width), styles));
    return figures;
  }

  // ---- Groups -----------------------------------------------------------------------------

  function toolbar(group, state, styles, redraw) {
    const names = [...new Set([...group.rows, ...group.curves, ...group.staleness]
      .map((one) => one.algorithm))];
    const entries = names.map((name) => legendEntry(name, state, styles, redraw));
    const choice = (key, label) => {
      const button = html('button', {type: 'button', class: 'switch', 'aria-pressed': 'false',
        'data-choice': key}, label);
      button.addEventListener('click', () => {
        state[key] = !state[key];
        button.setAttribute('aria-pressed', String(state[key]));
        redraw();
      });
      return button;
    };
    return [html('div', {class: 'toolbar', role: 'group', 'aria-label': 'Legend'}, entries),
      html('div', {class: 'toolbar options'}, choice('log', 'Log scale'),
        choice('whole', 'Whole range'), html('span', {class: 'small muted switch-hint'},
        'Press a name to hide it in the charts below, and again to show it.'))];
  }

  function legendEntry(name, state, styles, redraw) {
    const entry = html('button', {type: 'button', class: 'entry', 'aria-pressed': 'true',
      'data-toggle': name}, lineSample(styles.get(name)), name);
    entry.addEventListener('click', () => {
      const shown = state.hidden.delete(name);
      if (!shown)
        state.hidden.add(name);
      entry.setAttribute('aria-pressed', String(shown));
      redraw();
    });
    return entry;
  }

  // "0:4,2:1.5" in words; anything else as it is.
  function slowText(slow) {
    if (!slow)
      return '';
    const parts = String(slow).split(',').map((part) => part.trim().match(/^(\d+):([\d.]+)$/));
    return parts.every((part) => part) ?
      parts.map((part) => `rank ${part[1]} is ${part[2]} times slower`).join(', ') :
      `slow: ${slow}`;
  }

  function groupFacts(group) {
    const facts = [
      group.origin,
      isNumber(group.ranks) ? `${group.ranks} ${group.ranks === 1 ? 'rank' : 'ranks'}` : '',
      group.topology ? `topology: ${group.topology}` : '', slowText(group.slow),
      isNumber(group.target) ? `target: ${targetName(group)}` : '',
    ].filter((fact) => fact).join(' · ');
    return [html('p', {class: 'muted small'}, facts),
      group.oversubscribed ? html('p', {class: 'small'},
        html('span', {class: 'badge'}, 'oversubscribed'),
        ' More ranks than cores. Ranks share cores, so times say little about a machine that ' +
        'has a core for each.') : null];
  }

  function groupSection(group, index, styles, charts) {
    const state = {hidden: new Set(), log: false, whole: false};
    const figures = groupFigures(group, state, styles);
    const redraw = () => figures.forEach((chart) => chart.redraw());
    charts.push(...figures);
    return html('section', {class: 'group', id: `group-${index + 1}`},
      html('h2', {}, group.name), groupFacts(group),
      html('p', {class: 'summary'}, summary(group)),
      resultTable(group, styles),
      html('p', {class: 'hint small muted'}, 'Swipe the table sideways for more columns.'),
      meanings(group, index === 0),
      toolbar(group, state, styles, redraw),
      html('div', {class: 'charts'}, figures.map((chart) => chart.element)));
  }

  // ---- The end of the page ----------------------------------------------------------------

  function ending(study, index, count) {
    return html('section', {id: count > 1 ? `settings-${index + 1}` : 'settings'},
      html('h2', {}, count > 1 ? `How study ${index + 1} was made: ${study.title}` :
        'How this study was made'),
      count > 1 ? html('p', {class: 'muted'}, origin(study)) : null,
      html('div', {class: 'facts'}, pairTable('Settings', study.settings),
        pairTable('Versions', study.versions)),
      html('p', {}), study.command ? commandBox('Run this study again', study.command) : null);
  }

  // ---- The page ---------------------------------------------------------------------------

  const origin = (study) => [study.machine, study.created].filter((part) => part).join(' · ');

  // The answers come first.
  function heading(data, groups, studies) {
    const several = groups.some((group) => group.rows.some((row) => row.runs > 1));
    const repeats = several ? ', each several times with different seeds' : ', each once';
    const links = groups.map((group, i) => html('li', {},
      html('a', {href: `#group-${i + 1}`}, group.name), `: ${summary(group)}`));
    return html('header', {}, html('h1', {}, data.title || 'Study'),
      html('p', {class: 'muted'}, origin(data)),
      ...studies.map((study) => (study.warning ? html('p', {class: 'problem'},
        studies.length > 1 ? `${study.title}: ${study.warning}` : study.warning) : null)),
      html('p', {}, `The algorithms ${groups.length > 1 ? 'of each setup' : 'below'} solved the ` +
        `same problem${repeats}. For each setup ` +
        'there is a sentence, a table and charts.'),
      groups.length > 1 ? html('nav', {'aria-label': 'Setups'}, html('ol', {}, links)) : null);
  }

  // Missing lists become empty ones here, so that nothing below has to ask.
  function readGroups(data, studies) {
    return list(data.groups).map((group) => {
      const study = studies.length > 1 ? studies[group.study] : null;
      const name = group.name || 'Results';
      return {...group, name: study ? `${study.title}, ${name}` : name,
        origin: study ? origin(study) : '', measure: group.measure || 'loss',
        rows: list(group.rows), curves: list(group.curves), staleness: list(group.staleness)};
    });
  }

  function build(page, data) {
    const studies = data.studies ? list(data.studies) : [data];
    const groups = readGroups(data, studies);
    const styles = algorithmStyles(groups);
    const charts = [];
    document.title = data.title || 'Study';
    page.append(heading(data, groups, studies),
      ...groups.map((group, i) => groupSection(group, i, styles, charts)),
      groups.length === 0 ? html('p', {class: 'problem'}, 'This study has no results.') : '',
      ...studies.map((study, i) => ending(study, i, studies.length)));
    charts.forEach((chart) => chart.redraw());
    watch(charts);
  }

  show(build);
