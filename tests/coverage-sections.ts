/**
 * The anchors of a Markdown page's headings, as GitHub makes them: lower case, punctuation removed, spaces as
 * hyphens. Lines inside fenced code blocks are not headings.
 */
export function anchorsIn(markdown: string): ReadonlySet<string> {
  const withoutCode = markdown.replaceAll(/^```[\s\S]*?^```/gm, '')
  return new Set([...withoutCode.matchAll(/^#{1,6} (.+)$/gm)].map(([, title = '']) => anchorOf(title)))
}

function anchorOf(title: string): string {
  return title
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-')
}
