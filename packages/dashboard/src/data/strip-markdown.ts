/**
 * Returns Markdown without its marks, for a title: headings, lists, quotations, emphasis, code and links. What only
 * looks like a mark, such as the stars of `2 * 3 * 4` and the lines of `snake_case`, stays. Pure.
 */
export function stripMarkdown(text: string): string {
  return text
    .replaceAll(/^[ \t]*(?:```|~~~).*$/gm, '')
    .replaceAll(/^[ \t]*(?:#{1,6}|>|[-*+]|\d{1,3}[.)])[ \t]+/gm, '')
    .replaceAll(/!?\[([^[\]\n]*)\]\([^()\n]*\)/g, '$1')
    .replaceAll(/(\*\*|__|~~)(?=\S)([^\n]*?\S)\1/g, '$2')
    .replaceAll(/(?<![\w*])([*_])(?=\S)([^*_\n]*?\S)\1(?![\w*])/g, '$2')
    .replaceAll(/`([^`\n]+)`/g, '$1')
}
