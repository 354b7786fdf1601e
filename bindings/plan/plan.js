  // ---- Words ------------------------------------------------------------------------------

  const short = (name, most) => (name.length > most ? name.slice(0, most - 1) + '…' : name);
  const several = (count, word) => `${count} ${word}${count === 1 ? '' : 's'}`;

  // ---- Numbers ----------------------------------------------------------------------------

  // From which value on a unit is used, its size, and its name.
  const BYTES = [[0, 1, 'B'], [1e3, 1e3, 'kB'], [1e6, 1e6, 'MB'], [1e9, 1e9, 'GB'],
    [1e12, 1e12, 'TB']];
  const TIME = [[0, 1e-6, 'µs'], [1e-3, 1e-3, 'ms'], [1, 1, 's'], [120, 60, 'min'],
    [7200, 3600, 'h'], [172800, 86400, 'days']];
  const unitOf = (value, units) =>
    units.findLast((unit) => Number(value.toPrecision(3)) >= unit[0]) || units[0];

  function measured(value, units) {
    const [, size, name] = unitOf(value, units);
    return value === 0 ? '0' : `${digits(value / size)} ${name}`;
  }

  const times = (value) => `${digits(value)}×`;
  const percent = (value) => `${digits(100 * value)}%`;
  const seconds = (value) => measured(value, TIME);
  const rate = (value) => (value === 0 ? '0' : `${measured(value, BYTES)}/s`);

  // ---- Curves -----------------------------------------------------------------------------

  // One rank has no topology, nor has all-reduce.
  const nameOf = (row) => (row.algorithm === 'DASGD' && row.ranks > 1 && row.topology ?
    `DASGD, ${row.topology}` : row.algorithm);

  // The row of one rank is the beginning of all curves, unless there is nothing else.
  function readPlan(data) {
    const plan = {rows: list(data.rows), learned: list(data.learned), hidden: new Set()};
    const all = [...plan.rows, ...plan.learned];
    const more = all.some((row) => row.ranks !== 1);
    plan.isShared = (row) => more && row.ranks === 1;
    plan.best = plan.rows[data.best] || null;
    plan.names = [...new Set(all.filter((row) => !plan.isShared(row)).map(nameOf))];
    plan.styles = new Map(plan.names.map((name, index) => [name, {name, index,
      colour: `color: var(--s${index % 8})`, dash: index < 8 ? null : '9 4',
      // The first are the widest and drawn first: curves in the same place can still be seen.
      width: Math.max(1.6, 4.6 - 0.7 * index), size: Math.max(0.8, 1.5 - 0.14 * index)}]));
    return plan;
  }

  const mark = (style, x, y, open) => draw('path', {d: MARKS[style.index % MARKS.length],
    class: open ? 'missed' : 'mark', fill: open ? 'none' : 'currentColor',
    stroke: open ? 'currentColor' : 'var(--back)', 'stroke-width': open ? 1.6 : 0.8,
    transform: `translate(${x.toFixed(1)} ${y.toFixed(1)}) scale(${style.size.toFixed(2)})`});

  const ring = (x, y) =>
    draw('circle', {class: 'ring', cx: x.toFixed(1), cy: y.toFixed(1), r: 9.5});

  // value: what is drawn; null where there is nothing.
  const CHARTS = [
    {name: 'speedup', head: 'Speed-up', axis: 'times as fast as one rank', format: tickText,
      log: true, doubling: true, ideal: true, written: times,
      value: (row) => (row.speedup > 0 ? row.speedup : null),
      more: (row) => (isNumber(row.epoch_seconds) ? `${seconds(row.epoch_seconds)} per epoch` :
        ''),
      note: 'Gradients per second, divided by those of one rank. Dashed: ideal.'},
    {name: 'worth', head: 'Worth', axis: 'times as much as one rank', format: tickText,
      log: true, doubling: true, written: times,
      value: (row) => (row.worth > 0 ? row.worth : null),
      more: () => '',
      note: 'The speed-up that is left if gradients count as much as the steps that they make.'},
    {name: 'staleness', head: 'Staleness', axis: 'S_avg in updates', format: tickText, log: true,
      written: digits,
      value: (row) => (row.algorithm === 'DASGD' && row.staleness > 0 ? row.staleness : null),
      more: (row) => (row.neighbours > 0 ? several(row.neighbours, 'neighbour') : ''),
      note: 'By how many updates a gradient is late on average, DASGD only. Less is better.'},
    {name: 'network', head: 'Network', axis: 'share of the bandwidth',
      format: (value) => `${plain(100 * value)}%`, limit: 1, written: percent,
      value: (row) => (isNumber(row.network_share) ? row.network_share : null),
      more: (row) => (isNumber(row.bytes_per_second) ? rate(row.bytes_per_second) : ''),
      note: 'What the busiest machine sends to others. At 100% ranks wait for the network.'},
    {name: 'learned', head: 'Time to the target loss', format: tickText, log: true, missed: true,
      written: seconds, value: (row) => (row.seconds > 0 ? row.seconds : null),
      more: (row) => (row.seconds > 0 && row.step_size > 0 ?
        `step size ${plain(row.step_size)}` : ''),
      note: 'In a simulated training. Less is better.'},
  ];

  const rowsOf = (plan, chart) => (chart.missed ? plan.learned : plan.rows);

  // The curves that are shown, each with its points in order of ranks.
  function curvesOf(plan, chart) {
    const point = (row) => ({row, x: row.ranks, y: chart.value(row)});
    const rows = rowsOf(plan, chart).filter((row) => row.ranks > 0);
    const first = rows.filter(plan.isShared).map(point);
    return plan.names.filter((name) => !plan.hidden.has(name)).map((name) => {
      const own = rows.filter((row) => !plan.isShared(row) && nameOf(row) === name).map(point);
      return {name, style: plan.styles.get(name),
        points: own.some((p) => p.y !== null || chart.missed) ?
          [...first, ...own].sort((a, b) => a.x - b.x) : []};
    }).filter((curve) => curve.points.length > 0);
  }

  // ---- Axes -------------------------------------------------------------------------------

  function linearScale(high, from, to) {
    const power = 10 ** Math.floor(Math.log10(high / 5));
    const step = [1, 2, 5, 10].map((factor) => factor * power).find((one) => one >= high / 5);
    const last = Math.ceil(high / step - 1e-9);
    return {ticks: Array.from({length: last + 1}, (_, i) => Number((i * step).toPrecision(6))),
      at: (value) => from + value / (last * step) * (to - from)};
  }

  // Ticks at powers of two, or at 1, 2, 5, 10 and so on; more of them in a short range.
  function logScale(low, high, from, to, doubling) {
    const room = 0.15 + 0.04 * Math.log2(high / low);
    const ends = [Math.log2(low) - room, Math.log2(Math.max(high, low * 1.2)) + room];
    const inside = (tick) => Math.log2(tick) >= ends[0] && Math.log2(tick) <= ends[1];
    const span = ends[1] - ends[0];
    const [base, steps] = doubling && span > 2 ? [2 ** Math.ceil(span / 9), [1]] :
      [10, span > 11 ? [1] : span > 2 ? [1, 2, 5] : [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8, 9]];
    const ticks = [];
    for (let power = Math.floor(ends[0] / Math.log2(base)); base ** power <= 2 ** ends[1]; power++)
      ticks.push(...steps.map((step) => Number((step * base ** power).toPrecision(6))));
    return {ticks: ticks.filter(inside),
      at: (value) => from + (Math.log2(value) - ends[0]) / span * (to - from)};
  }

  // The numbers of ranks that occur.  Where there is no room for all, those that are powers of
  // two are written first.
  function ranksScale(ranks, from, to) {
    const ticks = [...new Set(ranks)].sort((a, b) => a - b);
    const [low, high] = [Math.log2(ticks[0]), Math.log2(ticks[ticks.length - 1])];
    const at = (value) => (high > low ?
      from + (Math.log2(value) - low) / (high - low) * (to - from) : (from + to) / 2);
    const half = (tick) => String(tick).length * 3.8 + 3;
    const labels = [];
    const round = (tick) => Number(Number.isInteger(Math.log2(tick)));
    for (const tick of ticks.slice().sort((a, b) => round(b) - round(a) || b - a)) {
      if (labels.every((other) => Math.abs(at(other) - at(tick)) >= half(other) + half(tick)))
        labels.push(tick);
    }
    return {ticks, labels, at};
  }

  // ---- Charts -----------------------------------------------------------------------------

  function chartOf(plan, chart, width) {
    const curves = curvesOf(plan, chart);
    const points = curves.flatMap((curve) => curve.points);
    const values = points.map((p) => p.y).filter((y) => y !== null);
    if (points.length === 0 || (values.length === 0 && !chart.missed))
      return emptyPlot(width, 'No values to show.');
    const height = Math.round(clamp(width * 0.6, 230, 340));
    const strip = chart.missed && values.length < points.length ? 40 : 0;
    const box = {left: strip ? 66 : 54, right: width - 14, top: 30, bottom: height - 44};
    const x = ranksScale(points.map((p) => p.x), box.left + 16, box.right - 12);
    const unit = chart.missed ? unitOf(Math.max(0, ...values) || 1, TIME) : [0, 1, ''];
    const scale = yScale(chart, values.map((y) => y / unit[1]), x, box, box.top + strip);
    const y = {...scale, at: (value) => scale.at(value / unit[1])};
    const svg = draw('svg', {viewBox: `0 0 ${width} ${height}`},
      yAxis(scale, box, chart.format),
      x.ticks.map((tick) => line(x.at(tick), box.bottom, x.at(tick), box.bottom + 4, 'axis')),
      x.labels.map((tick) => text(x.at(tick), box.bottom + 21, String(tick),
        {'text-anchor': 'middle'})),
      line(box.left, box.bottom, box.right, box.bottom, 'axis'),
      text(4, 13, chart.missed ? `time in ${unit[2]} (log scale)` :
        chart.axis + (chart.log ? ' (log scale)' : '')),
      text(box.right, height - 6, 'ranks', {'text-anchor': 'end'}),
      strip ? [text(box.left - 7, box.top + 9, 'not', {'text-anchor': 'end'}),
        text(box.left - 7, box.top + 22, 'reached', {'text-anchor': 'end'}),
        line(box.left, box.top + strip - 8, box.right, box.top + strip - 8, 'axis')] : null,
      chart.ideal && x.ticks.length > 1 ? idealLine(x, y) : null,
      chart.limit ? line(box.left, y.at(chart.limit), box.right, y.at(chart.limit), 'limit') : null,
      curves.map((curve) => curveShape(curve, x, y, chart.missed ? box.top + 12 : null)),
      bestRings(plan, points, x, y));
    return {svg, box, label: labelOf(chart, curves), note: missedNote(curves, chart),
      pick: (at) => pick(chart, curves, x, at)};
  }

  function yScale(chart, values, x, box, top) {
    if (!chart.log)
      return linearScale(Math.max(chart.limit || 0, ...values), box.bottom, top);
    const all = [...values, ...(chart.ideal && x.ticks.length > 1 ?
      [x.ticks[0], x.ticks[x.ticks.length - 1]] : [])];
    return all.length === 0 ? {ticks: [], at: () => top} :
      logScale(Math.min(...all), Math.max(...all), box.bottom, top, chart.doubling);
  }

  function idealLine(x, y) {
    const [first, last] = [x.ticks[0], x.ticks[x.ticks.length - 1]];
    // Near its end: other curves hide its beginning.
    const near = (scale) => 0.08 * scale.at(first) + 0.92 * scale.at(last);
    return [line(x.at(first), y.at(first), x.at(last), y.at(last), 'ideal'),
      text(near(x) - 12, near(y) - 2, 'ideal', {'text-anchor': 'end', class: 'halo'})];
  }

  // The line has a gap where there is no value.
  function curveShape(curve, x, y, missedAt) {
    const known = curve.points.filter((p) => p.y !== null);
    const d = curve.points.map((p, i) => (p.y === null ? '' :
      `${i > 0 && curve.points[i - 1].y !== null ? 'L' : 'M'}${x.at(p.x).toFixed(1)} ` +
      y.at(p.y).toFixed(1))).join('');
    return draw('g', {style: curve.style.colour, 'data-algorithm': curve.name},
      known.length > 1 ? draw('path', {d, class: 'curve', fill: 'none', stroke: 'currentColor',
        'stroke-width': curve.style.width, 'stroke-dasharray': curve.style.dash,
        'stroke-linejoin': 'round'}) : null,
      known.map((p) => mark(curve.style, x.at(p.x), y.at(p.y))),
      curve.points.filter((p) => p.y === null && missedAt !== null)
        .map((p) => mark(curve.style, x.at(p.x), missedAt, true)));
  }

  // The same choice in the learned rows is marked, too.
  function bestRings(plan, points, x, y) {
    const isBest = (p) => plan.best && p.y !== null && p.x === plan.best.ranks &&
      nameOf(p.row) === nameOf(plan.best) &&
      (p.row === plan.best || p.row.machines === undefined);
    const found = points.find(isBest);
    return found ? ring(x.at(found.x), y.at(found.y)) : null;
  }

  const ranksText = (ranks) => several(ranks, 'rank');
  const valueText = (chart, p) => (p.y === null ? 'not reached' : chart.written(p.y));
  const worthSaying = (chart, p) => p.y !== null || chart.missed;

  function labelOf(chart, curves) {
    const parts = curves.map((curve) => `${curve.name}: ` + curve.points
      .filter((p) => worthSaying(chart, p))
      .map((p) => `${valueText(chart, p)} with ${ranksText(p.x)}`).join(', '));
    return `Line chart: ${chart.head}. ${parts.join('; ')}.`;
  }

  function missedNote(curves, chart) {
    const parts = curves.map((curve) => [curve.name, curve.points.filter((p) => p.y === null)
      .map((p) => p.x)]).filter(([, ranks]) => chart.missed && ranks.length > 0)
      .map(([name, ranks]) => `${short(name, 40)} with ${ranks.slice(0, -1).map((one) =>
        `${one}, `).join('')}${ranksText(ranks[ranks.length - 1])}`);
    return parts.length ? `Not reached: ${parts.join('; ')}.` : '';
  }

  // The values at the number of ranks nearest to the pointer.
  function pick(chart, curves, x, at) {
    const ranks = x.ticks.reduce((a, b) =>
      (Math.abs(x.at(b) - at.x) < Math.abs(x.at(a) - at.x) ? b : a));
    return {guide: x.at(ranks), head: ranksText(ranks),
      rows: curves.flatMap((curve) => curve.points.filter((p) => p.x === ranks &&
        worthSaying(chart, p)).map((p) =>
        [curve.style, short(curve.name, 40), valueText(chart, p), chart.more(p.row)]))};
  }

  function legend(plan, redraw) {
    const sample = (...shapes) => draw('svg', {width: 30, height: 22, viewBox: '0 0 30 22',
      'aria-hidden': 'true'}, shapes);
    const entries = plan.names.map((name) => {
      const style = plan.styles.get(name);
      const svg = sample(draw('path', {d: 'M1 11H29', stroke: 'currentColor',
        'stroke-width': style.width, 'stroke-dasharray': style.dash}), mark(style, 15, 11));
      svg.setAttribute('style', style.colour);
      const entry = html('button', {type: 'button', class: 'entry', 'aria-pressed': 'true',
        'data-toggle': name, title: name.length > 48 ? name : null}, svg, short(name, 48));
      entry.addEventListener('click', () => {
        const shown = plan.hidden.delete(name);
        if (!shown)
          plan.hidden.add(name);
        entry.setAttribute('aria-pressed', String(shown));
        redraw();
      });
      return entry;
    });
    return [html('div', {class: 'toolbar', role: 'group', 'aria-label': 'Legend'}, entries,
      plan.best ? html('span', {class: 'key'}, sample(ring(15, 11)), 'recommended') : null),
    html('p', {class: 'small muted switch-hint'},
      'Press a name to hide it in the charts below, and again to show it.')];
  }

  function chartSection(plan, data, made) {
    const shown = CHARTS.filter((chart) => !chart.missed || plan.learned.length > 0);
    made.push(...shown.map((chart, i) => figure({...chart,
      wide: i === 0 && shown.length % 2 === 1,
      head: chart.missed && isNumber(data.target) ? `${chart.head}, ${plain(data.target)}` :
        chart.head}, (width) => chartOf(plan, chart, width))));
    return html('section', {class: 'group'}, html('h2', {}, 'By the number of ranks'),
      legend(plan, () => made.forEach((one) => one.redraw())),
      html('div', {class: 'charts'}, made.map((one) => one.element)));
  }

  // ---- The table --------------------------------------------------------------------------

  const COLUMNS = [
    {key: 'algorithm', head: 'Algorithm', help: 'how the ranks train together.'},
    {key: 'topology', head: 'Topology', words: true,
      help: 'which ranks exchange gradients; below it what it stands for with these ranks.'},
    {key: 'ranks', head: 'Ranks', format: String, help: 'processes that compute gradients.'},
    {key: 'machines', head: 'Machines', format: String, help: 'machines that the ranks fill.'},
    {key: 'speedup', head: 'Speed-up', format: times,
      help: 'gradients per second, divided by those of one rank. The staleness is not counted.'},
    {key: 'worth', head: 'Worth', format: times,
      help: 'the speed-up that is left if gradients count as much as the steps that they make, ' +
        'which are shorter where S_avg is large. Not known for all-reduce.'},
    {key: 'gradients_per_second', head: 'Gradients/s', format: digits,
      help: 'gradients that all ranks together compute in a second.'},
    {key: 'epoch_seconds', head: 'Time per epoch', format: seconds,
      help: 'time in which every point is used once.'},
    {key: 'staleness', head: 'S_avg', format: digits,
      help: 'by how many updates a gradient is late, on average, when it is applied. More asks ' +
        'for a smaller step size.'},
    {key: 'bytes_per_second', head: 'Sent per machine', format: rate,
      help: 'what the busiest machine sends to others, per second.'},
    {key: 'network_share', head: 'Network', format: percent,
      help: 'that, as a share of the bandwidth. At 100% ranks wait for the network.'},
    {key: 'memory_bytes', head: 'Memory per rank', format: (value) => measured(value, BYTES),
      help: 'of the model, the gradient and what is sent, at most. Data is not counted.'},
  ];

  const known = (row, column) => (column.format ? isNumber(row[column.key]) : row[column.key]);

  function cell(row, column, plan) {
    const value = known(row, column) ? (column.format || String)(row[column.key]) : '–';
    if (column.key === 'algorithm') {
      return html('th', {scope: 'row'}, swatch(plan.styles.get(nameOf(row))), value,
        row === plan.best ? [html('br'), html('span', {class: 'badge'}, 'recommended')] : null);
    }
    const used = column.words && row.topology && row.topology_used !== row.topology ?
      row.topology_used : '';
    const full = column.key === 'network_share' && row.network_share >= 0.995;
    return html('td', {'data-column': column.key,
      class: column.words ? 'words' : full ? 'full' : null,
      title: value.length > 90 ? value : null}, inWords(short(value, 90), /(?<=[/,])/),
    used ? html('span', {class: 'under', title: used.length > 90 ? used : null},
      inWords(short(used, 90), /(?<=[/,])/)) : null);
  }

  // Unknown values come last; equal ones keep the order of the data.
  function sorted(rows, column, down) {
    const value = (row) => row[column.key];
    const order = (a, b) => (column.format ? value(a) - value(b) :
      String(value(a)).localeCompare(String(value(b)), 'en', {numeric: true}));
    return rows.slice().sort((a, b) => Boolean(known(b, column)) - Boolean(known(a, column)) ||
      (known(a, column) ? (down ? -1 : 1) * order(a, b) : 0));
  }

  function tableSection(plan) {
    const columns = COLUMNS.filter((column) => plan.rows.some((row) => known(row, column)));
    const lines = new Map(plan.rows.map((row) => [row, html('tr', {class: row === plan.best ?
      'best' : null, 'data-row': plan.rows.indexOf(row)},
    columns.map((column) => cell(row, column, plan)))]));
    const body = html('tbody', {}, [...lines.values()]);
    const heads = columns.map((column) => {
      const button = html('button', {type: 'button', class: 'sort', title: capital(column.help)},
        inWords(column.head));
      const head = html('th', {scope: 'col', class: column.words ? 'words' : null}, button);
      button.addEventListener('click', () => {
        const down = head.getAttribute('aria-sort') === 'ascending';
        heads.forEach((other) => other.removeAttribute('aria-sort'));
        head.setAttribute('aria-sort', down ? 'descending' : 'ascending');
        body.append(...sorted(plan.rows, column, down).map((row) => lines.get(row)));
      });
      return head;
    });
    return html('section', {id: 'table'}, html('h2', {}, 'All predictions'),
      html('p', {class: 'small muted switch-hint'}, 'Press the head of a column to sort by it.'),
      html('div', {class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'All predictions'},
        html('table', {class: 'results'}, html('thead', {}, html('tr', {}, heads)), body)),
      html('p', {class: 'hint small muted'}, 'Swipe the table sideways for more columns.'),
      html('details', {class: 'small', open: true},
        html('summary', {}, 'What the columns mean'),
        html('ul', {class: 'meanings muted'}, columns.map((column) => html('li', {},
          html('strong', {}, column.head), `: ${column.help}`)))));
  }

  // ---- The end of the page ----------------------------------------------------------------

  function ending(data) {
    return html('section', {id: 'settings'}, html('h2', {}, 'How this plan was made'),
      html('div', {class: 'facts'}, pairTable('Settings', data.settings),
        pairTable('Versions', data.versions)),
      data.command ? commandBox('Make this plan again', data.command) : null);
  }

  // ---- The page ---------------------------------------------------------------------------

  function build(page, data) {
    const plan = readPlan(data);
    const made = [];
    document.title = data.title || 'Plan';
    page.append(html('header', {}, html('h1', {}, data.title || 'Plan'),
      data.advice ? html('p', {class: 'advice'}, data.advice) : '',
      data.warning ? html('p', {class: 'problem'}, data.warning) : '',
      html('p', {class: 'muted'}, 'All figures are predictions of a simulation with the settings ' +
        'at the end of this page.')));
    if (plan.rows.length > 0)
      page.append(chartSection(plan, data, made), tableSection(plan));
    else
      page.append(html('p', {class: 'problem'}, 'This plan has no predictions.'));
    page.append(ending(data));
    made.forEach((one) => one.redraw());
    watch(made);
  }

  show(build);
