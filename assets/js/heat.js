// Small heat maps on canvas: as many of them as there are heads, without a plotly figure for each.
playground.heat = (() => {
  // 256 colours between the stops of the large picture's scale, which stand at equal distances.
  function colours(props) {
    const stops = document.body.classList.contains('dark') ? props.dark : props.light;
    const points = stops.map((hex) => [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16)));
    return Array.from({ length: 256 }, (_, i) => {
      const place = (i / 255) * (points.length - 1);
      const [a, b] = [points[Math.floor(place)], points[Math.ceil(place)]];
      return a.map((value, k) => Math.round(value + (b[k] - value) * (place % 1)));
    });
  }

  const bytes = (text) => Uint8Array.from(atob(text), (character) => character.charCodeAt(0));

  // Cells are bytes, 0 to 255 for weights 0 to 1: as fine as a screen's colours. Masked cells stay clear.
  function picture(cells, side, masked, table) {
    const canvas = playground.el('canvas', { 'aria-hidden': 'true', width: side, height: side });
    const context = canvas.getContext('2d');
    const image = context.createImageData(side, side);
    for (let row = 0; row < side; row += 1) {
      for (let column = 0; column < (masked ? row + 1 : side); column += 1) {
        const cell = row * side + column;
        image.data.set([...table[cells[cell]], 255], 4 * cell);
      }
    }
    context.putImageData(image, 0, 0);
    return canvas;
  }

  return { colours, bytes, picture };
})();
