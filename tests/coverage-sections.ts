/**
 * The numbers that a page's sections answer to: '6' for a heading `## 6. Title`, '6.2' for the second item of a
 * numbered list under it or for a heading `### 6.2 Title`.
 */
export function sectionsIn(markdown: string): ReadonlySet<string> {
  const found = new Set<string>()
  let current = ''
  for (const line of markdown.split('\n')) {
    const heading = /^#{1,6} (?<number>\d+(?:\.\d+)*)\.? /.exec(line)?.groups?.['number']
    const item = /^(?<number>\d+)\. /.exec(line)?.groups?.['number']
    if (heading !== undefined) current = heading
    else if (/^#{1,2} /.test(line)) current = ''
    if (heading !== undefined) found.add(heading)
    else if (item !== undefined && current !== '') found.add(`${current}.${item}`)
  }
  return found
}
