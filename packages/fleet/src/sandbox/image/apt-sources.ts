import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'

/**
 * The package sources of this machine, and those of them that an image can use.
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

/**
 * A shell command that removes user names and passwords from the addresses of the package sources below the folder `$1`:
 * programs of agents can read the files of their image.
 */
export const removeSourceCredentials = `find "$1/etc/apt" -type f '(' -name '*.list' -o -name '*.sources' ')' -exec sed -i -E 's#(https?://)[^/@[:space:]]*@#\\1#g' {} +`

/** Reads the package sources of this machine; files that cannot be read are left out. */
export async function readAptSources(): Promise<readonly AptSourceFile[]> {
  const folder = '/etc/apt/sources.list.d'
  const names = await readdir(folder).catch(() => [])
  const paths = names.filter((name) => /\.(sources|list)$/.test(name)).map((name) => join(folder, name))
  const files = await Promise.all(
    ['/etc/apt/sources.list', ...paths].map(async (path) => ({
      path,
      text: await readFile(path, 'utf8').catch(() => ''),
    })),
  )
  return files.filter((file) => file.text !== '')
}
