/**
 * Selects the package sources of the host for an offline image. Pure.
 *
 * Third-party archives are excluded: they need keys and contain nothing that the image needs.
 */
export interface AptSourceFile {
  readonly path: string
  readonly text: string
}

/** Returns the lines and stanzas with component `main` for the suites of `codename`, in the given order. */
export function usableAptSources(
  files: readonly AptSourceFile[],
  codename: string,
): readonly AptSourceFile[] {
  return files.flatMap((file) => {
    const kept = file.path.endsWith('.sources')
      ? keptStanzas(file.text, codename)
      : keptLines(file.text, codename)
    return kept === '' ? [] : [{ path: file.path, text: kept }]
  })
}

function keptStanzas(text: string, codename: string): string {
  return text
    .split(/\n\s*\n/)
    .map((stanza) => stanza.replace(/^#.*\n?/gm, '').trim())
    .filter((stanza) => {
      const field = (name: string) =>
        new RegExp(`^${name}:(.*)$`, 'im').exec(stanza)?.[1]?.trim().split(/\s+/) ?? []
      const off = field('Enabled').includes('no')
      return (
        !off &&
        field('Types').includes('deb') &&
        ofSuite(field('Suites'), codename) &&
        field('Components').includes('main')
      )
    })
    .join('\n\n')
}

function keptLines(text: string, codename: string): string {
  return text
    .split('\n')
    .filter((line) => {
      const words = line
        .replace(/\[[^\]]*\]/, '')
        .trim()
        .split(/\s+/)
      return words[0] === 'deb' && ofSuite(words.slice(2, 3), codename) && words.includes('main')
    })
    .join('\n')
}

function ofSuite(suites: readonly string[], codename: string): boolean {
  return suites.some(
    (suite) => suite === codename || suite.startsWith(`${codename}-`) || suite.startsWith(`${codename}/`),
  )
}
