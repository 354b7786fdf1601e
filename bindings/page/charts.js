  // ---- Elements -------------------------------------------------------------------------

  // Children that are strings become text, never markup: names come from the command line.
  function fill(element, attributes, children) {
    for (const [name, value] of Object.entries(attributes || {})) {
      if (value !== null && value !== undefined && value !== false)
        element.setAttribute(name, value === true ? '' : value);
    }
    element.append(...children.flat(Infinity).filter((child) => (child ?? null) !== null));
    return element;
  }

  const html = (tag, attributes, ...children) =>
    fill(document.createElement(tag), attributes, children);
  const draw = (tag, attributes, ...children) =>
    fill(document.createElementNS('http://www.w3.org/2000/svg', tag), attributes, children);
  const text = (x, y, value, attributes) =>
    draw('text', {x: x.toFixed(1), y: y.toFixed(1), ...attributes}, value);
  const line = (x1, y1, x2, y2, name) => draw('line', {x1: x1.toFixed(1), y1: y1.toFixed(1),
    x2: x2.toFixed(1), y2: y2.toFixed(1), class: name});

  const list = (value) => (Array.isArray(value) ? value : []);
  const isNumber = (value) => typeof value === 'number' && Number.isFinite(value);
  const clamp = (value, low, high) => Math.max(low, Math.min(high, value));
  const capital = (words) => words[0].toUpperCase() + words.slice(1);

  // Lines end between words only, or where else they are split, not at hyphens.
  const inWords = (value, where) => value.split(where || /(?= )/).map((word) =>
    [word[0] === ' ' ? ' ' : null, html('span', {class: 'word'}, word.trim())]);

  // ---- Numbers --------------------------------------------------------------------------

  // Three significant digits.  Rounds first: 999.7 is written as 1,000.
  function digits(value) {
    const rounded = Number(value.toPrecision(3));
    const size = Math.abs(rounded);
    if (size === 0)
      return '0';
    if (size >= 1e9 || size < 1e-3)
      return rounded.toExponential().replace('e+', 'e');
    return size >= 1000 ? rounded.toLocaleString('en-US') : rounded.toPrecision(3);
  }

  // As digits(), without zeros at the end: for settings and axes.
  function plain(value) {
    const written = digits(value);
    return written.includes('.') && !written.includes('e') ? written.replace(/\.?0+$/, '') :
      written;
  }

  function tickText(value) {
    const size = Math.abs(value);
    if (size >= 1e6)
      return plain(value / 1e6) + 'M';
    return size >= 1e3 ? plain(value / 1e3) + 'k' : plain(Number(value.toPrecision(6)));
  }

  // ---- Colours and marks ----------------------------------------------------------------

  // The marks tell curves apart where colours do not, for example on grey paper.
  const MARKS = [
    'M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z', 'M-3.5-3.5h7v7h-7z', 'M0-4.6L4.4 3.4H-4.4z',
    'M0-4.8L4.8 0L0 4.8L-4.8 0z', 'M0 4.6L4.4-3.4H-4.4z', 'M-1.4-4.5h2.8v3.1h3.1v2.8h-3.1v3.1' +
    'h-2.8v-3.1h-3.1v-2.8h3.1z', 'M-4.5-2h9v4h-9z', 'M-2-4.5h4v9h-4z',
  ];

  const swatch = (style) =>
    html('span', {class: 'swatch', style: style?.colour || 'color: var(--muted)',
      'aria-hidden': 'true'});

  // ---- Axes -----------------------------------------------------------------------------

  function yAxis(scale, box, format) {
    return scale.ticks.map((tick) => [
      line(box.left, scale.at(tick), box.right, scale.at(tick), 'gridline'),
      text(box.left - 7, scale.at(tick) + 4, format(tick), {'text-anchor': 'end'}),
    ]);
  }

  function emptyPlot(width, message) {
    return {svg: draw('svg', {viewBox: `0 0 ${width} 80`},
      text(width / 2, 44, message, {'text-anchor': 'middle'})), label: message};
  }

  // ---- Figures --------------------------------------------------------------------------

  // A figure draws its chart for the width it has, so that letters keep their size on a phone.
  // make(width) gives the drawing, its label, and what to tell at a place of it.
  function figure({name, head, note: about, wide}, make) {
    const note = html('span', {class: 'under'}, about);
    const plot = html('div', {class: 'plot'});
    const tip = html('div', {class: 'tip', hidden: true, 'aria-hidden': 'true'});
    const element = html('figure', {class: wide ? 'wide' : null, 'data-chart': name},
      html('figcaption', {}, html('h3', {}, head), note), plot);
    const made = {element, plot, wide, width: 0};
    made.redraw = (width) => {
      made.width = Math.max(260, Math.round(width || plot.clientWidth || 560));
      const drawn = make(made.width);
      fill(drawn.svg, {role: 'img', 'aria-label': drawn.label}, []);
      note.textContent = [about, drawn.note].filter((part) => part).join(' ');
      tip.hidden = true;
      plot.replaceChildren(drawn.svg, tip);
      if (drawn.pick)
        listen(drawn, plot, tip);
    };
    return made;
  }

  function listen(drawn, plot, tip) {
    const guide = line(0, drawn.box.top, 0, drawn.box.bottom, 'guide');
    const hide = () => {
      tip.hidden = true;
      guide.remove();
    };
    const show = (event) => {
      const area = drawn.svg.getBoundingClientRect();
      const scale = drawn.svg.viewBox.baseVal.width / area.width;
      const at = {x: (event.clientX - area.left) * scale, y: (event.clientY - area.top) * scale};
      const found = drawn.pick(at);
      if (!found || found.rows.length === 0)
        return hide();
      if (isNumber(found.guide))
        drawn.svg.append(fill(guide, {x1: found.guide, x2: found.guide}, []));
      tip.replaceChildren(html('b', {}, found.head), html('table', {}, found.rows.map(
        ([style, name, value, more]) => html('tr', {}, html('td', {}, swatch(style), name),
          html('td', {}, value), more ? html('td', {class: 'muted'}, more) : null))));
      tip.hidden = false;
      return placeTip(tip, plot, at.x / scale, at.y / scale);
    };
    drawn.svg.addEventListener('pointermove', show);
    drawn.svg.addEventListener('pointerdown', show);
    // A finger that lifts leaves the chart, too; then the values stay to be read.
    drawn.svg.addEventListener('pointerleave', (event) => event.pointerType === 'mouse' && hide());
    plot.hideTip = hide;
  }

  // Beside the pointer, on the side that has room; never beyond the chart, or a phone scrolls.
  function placeTip(tip, plot, x, y) {
    tip.style.left = tip.style.top = '0';
    const room = plot.clientWidth - tip.offsetWidth;
    const left = x + 16 <= room ? x + 16 : x - 16 - tip.offsetWidth;
    tip.style.left = `${clamp(left, 0, Math.max(0, room))}px`;
    tip.style.top = `${clamp(y - tip.offsetHeight / 2, 0,
      Math.max(0, plot.clientHeight - tip.offsetHeight))}px`;
  }

  function watch(made) {
    const fit = () => made.filter((one) => one.plot.clientWidth >= 260 &&
      Math.abs(one.plot.clientWidth - one.width) > 1).forEach((one) => one.redraw());
    // In the next frame: drawing changes sizes, which an observer must not do while it is called.
    const observer = new ResizeObserver(() => requestAnimationFrame(fit));
    made.forEach((one) => observer.observe(one.plot));
    // Drawn for half the width of a sheet, or the letters would shrink with the chart.
    addEventListener('beforeprint', () => made.forEach((one) => one.redraw(one.wide ? 700 : 340)));
    addEventListener('afterprint', () => made.forEach((one) => one.redraw()));
    document.addEventListener('pointerdown', (event) => made.filter((one) => one.plot.hideTip &&
      !one.plot.contains(event.target)).forEach((one) => one.plot.hideTip()));
  }

  // ---- The end of the page --------------------------------------------------------------

  function pairTable(head, pairs) {
    return html('div', {}, html('h3', {}, head), html('table', {class: 'pairs small'},
      html('tbody', {}, list(pairs).map((pair) => html('tr', {},
        html('th', {scope: 'row'}, String(pair[0])), html('td', {}, String(pair[1] ?? '')))))));
  }

  // The clipboard is closed to some pages that were opened from a disk.  Then the older way is
  // tried, and at worst the command is left selected.
  async function copyText(element) {
    try {
      await navigator.clipboard.writeText(element.textContent);
      return true;
    } catch {
      getSelection().selectAllChildren(element);
      return document.execCommand('copy');
    }
  }

  function commandBox(head, command) {
    const code = html('pre', {class: 'command'}, inWords(command));
    const button = html('button', {type: 'button', class: 'copy'}, 'Copy');
    button.addEventListener('click', async () => {
      if (await copyText(code))
        button.textContent = 'Copied';
    });
    return html('div', {}, html('h3', {}, head), code, button);
  }

  // ---- The page -------------------------------------------------------------------------

  // Calls build(page, data) with what the program has put into the page.
  function show(build) {
    const page = document.getElementById('page');
    let data = null;
    try {
      data = JSON.parse(document.getElementById('data').textContent);
    } catch {
      // Said below.
    }
    if (data)
      build(page, data);
    else
      page.append(html('p', {class: 'problem'}, 'The data of this page cannot be read.'));
  }
