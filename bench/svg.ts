/** Drawings that can be read on light and dark pages. */

/** `style`: rules besides those of text. */
export function drawing(width: number, height: number, title: string, style: string, body: string): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${safe(title)}">
<style>
text { font: 12px ui-sans-serif, system-ui, sans-serif; fill: #1f2328; }
.quiet { fill: #59636e; }
.heading { font-weight: 600; }
@media (prefers-color-scheme: dark) { text { fill: #e6edf3; } .quiet { fill: #9198a1; } }
${style}
</style>
${body}
</svg>
`;
}

export function text(x: number, y: number, words: string, style = ''): string {
  return `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" class="${style}">${safe(words)}</text>`;
}

function safe(words: string): string {
  return words.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/"/g, '&quot;');
}
