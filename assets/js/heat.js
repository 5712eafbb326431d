// Small heat maps on canvas: as many of them as there are heads, without a plotly figure for each.
playground.heat = (() => {
  // 256 colours between the stops of the large picture's scale, which stand at equal distances; each as one whole number,
  // the way a canvas holds a pixel: red in the lowest byte, all of it opaque.
  function colours(props) {
    const stops = document.body.classList.contains('dark') ? props.dark : props.light;
    const points = stops.map((hex) => [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16)));
    return Uint32Array.from({ length: 256 }, (_, i) => {
      const place = (i / 255) * (points.length - 1);
      const [a, b] = [points[Math.floor(place)], points[Math.ceil(place)]];
      return a.reduce((whole, value, k) => whole + Math.round(value + (b[k] - value) * (place % 1)) * 256 ** k, 255 * 256 ** 3);
    });
  }

  // A plain loop: Uint8Array.from asks a function for every one of some hundred thousand characters.
  function bytes(text) {
    const raw = atob(text);
    const found = new Uint8Array(raw.length);
    for (let i = 0; i < raw.length; i += 1) found[i] = raw.charCodeAt(i);
    return found;
  }

  // Cells are bytes, 0 to 255 for weights 0 to 1: as fine as a screen's colours. Masked cells stay clear.
  function picture(cells, side, masked, table) {
    const canvas = playground.el('canvas', { 'aria-hidden': 'true', width: side, height: side });
    const context = canvas.getContext('2d');
    const image = context.createImageData(side, side);
    const pixels = new Uint32Array(image.data.buffer);
    for (let row = 0; row < side; row += 1) {
      for (let column = 0; column < (masked ? row + 1 : side); column += 1) {
        pixels[row * side + column] = table[cells[row * side + column]];
      }
    }
    context.putImageData(image, 0, 0);
    return canvas;
  }

  return { colours, bytes, picture };
})();
