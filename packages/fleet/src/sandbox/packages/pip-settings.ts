import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { HostPlaces } from './host-places.ts'
import type { RegistryTable } from './registry-table.ts'

const publicPip = 'https://pypi.org/simple'
/** The public index lists files in this folder. */
const publicPipFiles = 'https://files.pythonhosted.org/packages/'

/**
 * Adds the pip indexes of this machine and their credentials to the table. Returns pip's settings for a container, which
 * name the indexes by their addresses there and have no credentials.
 */
export async function addPipIndexes(
  table: RegistryTable,
  { userFolder, variables }: HostPlaces,
): Promise<string> {
  const files = await Promise.all(
    [
      '/etc/pip.conf',
      join(userFolder, '.pip', 'pip.conf'),
      join(userFolder, '.config', 'pip', 'pip.conf'),
    ].map((path) => readFile(path, 'utf8').catch(() => '')),
  )
  const setting = (name: string, variable: string): string => {
    const written = files.flatMap((text) => pipSetting(text, name) ?? [])
    return (variables[variable] ?? written.at(-1) ?? '').trim()
  }
  const index = setting('index-url', 'PIP_INDEX_URL') || publicPip
  const extra = setting('extra-index-url', 'PIP_EXTRA_INDEX_URL').split(/\s+/).filter(Boolean)
  const [first, ...others] = [index, ...extra].flatMap((address) => table.add('pip', address) ?? [])
  if ([index, ...extra].some((address) => /^https:\/\/(?:[^/@]*@)?pypi\.org\//.test(address)))
    table.add('pip', publicPipFiles)
  const lines = [
    '[global]',
    `index-url = ${first ?? table.add('pip', publicPip)}`,
    ...(others.length === 0 ? [] : [`extra-index-url = ${others.join('\n  ')}`]),
  ]
  // configparser reads a percent sign as the start of a reference.
  return `${lines.join('\n').replaceAll('%', '%%')}\n`
}

/**
 * Returns a setting in the text of a pip.conf, with line feeds between its lines; null if it is not there. Lines that
 * are indented more than the name belong to the value. Pure.
 */
export function pipSetting(text: string, name: string): string | null {
  let indentOfName = -1
  const values: string[] = []
  for (const line of text.split(/\r?\n/)) {
    const value = line.trim()
    if (value === '' || /^[#;]/.test(value)) continue
    const indent = line.length - line.trimStart().length
    if (indentOfName >= 0) {
      if (indent <= indentOfName) break
      values.push(value)
      continue
    }
    const [, key = '', first = ''] = /^([^=:]+)[=:](.*)$/.exec(value) ?? []
    if (key.trim().toLowerCase().replaceAll('_', '-') !== name) continue
    indentOfName = indent
    values.push(first.trim())
  }
  return indentOfName < 0 ? null : values.filter((value) => value !== '').join('\n')
}
