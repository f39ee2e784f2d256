import { posix } from 'node:path'

/** A page of the documentation site: its path below the content folder, and its Markdown with a title. */
export interface SitePage {
  readonly path: string
  readonly text: string
}

/** Pages in the repository's root that belong to the site, by their name there. */
const rootPages: Readonly<Record<string, string>> = {
  'README.md': 'index.md',
  'CHANGELOG.md': 'changelog.md',
  'CONTRIBUTING.md': 'contributing.md',
  'SECURITY.md': 'security.md',
}

/** Markdown links and images: text, target. */
const link = /(!?\[(?:[^\][]|\[[^\]]*\])*\])\(([^)\s]+)\)/g

/**
 * The pages of the site for the Markdown files of the repository.
 *
 * - The first heading becomes the title.
 * - A link to another page of the site becomes its address; an image gets its address below /images/.
 * - A link to a file that is not on the site becomes plain text.
 * - Pages of a folder are in the order in which its README.md first names them.
 *
 * @param files paths from the repository's root (README.md and others there, docs/**) with their text
 */
export function sitePages(files: ReadonlyMap<string, string>): readonly SitePage[] {
  return [...files].map(([source, text]) => ({
    path: pathOf(source),
    text: withTitle(
      orderOf(source, files),
      text.replaceAll(link, (_all, words: string, target: string) =>
        linkOf({ source, files }, words, target),
      ),
    ),
  }))
}

/** Returns the site path of a file of the repository. */
function pathOf(source: string): string {
  const atRoot = rootPages[source]
  if (atRoot !== undefined) return atRoot
  return source
    .replace(/^docs\//, '')
    .replace(/README\.md$/, 'index.md')
    .toLowerCase()
}

function linkOf(
  { source, files }: { readonly source: string; readonly files: ReadonlyMap<string, string> },
  words: string,
  target: string,
): string {
  if (/^[a-z]+:/.test(target)) return `${words}(${target})`
  const [file = '', anchor] = target.split('#')
  const fragment = anchor === undefined ? '' : `#${anchor}`
  if (file === '') return `${words}(${fragment})`
  const path = posix.normalize(posix.join(posix.dirname(source), file))
  const page = [path, posix.join(path, 'README.md')].find((one) => files.has(one))
  if (page !== undefined) return `${words}(/${addressOf(pathOf(page))}${fragment})`
  if (path.startsWith('docs/images/')) return `${words}(/${path.slice('docs/'.length)})`
  return words.replace(/^!?\[([\s\S]*)\]$/, '$1')
}

function addressOf(path: string): string {
  const name = path.replace(/(?:^|\/)index\.md$/, '').replace(/\.md$/, '')
  return name === '' ? '' : `${name}/`
}

/** The place of a page in the list of its folder; undefined where the folder's README.md does not name it. */
function orderOf(source: string, files: ReadonlyMap<string, string>): number | undefined {
  if (source.endsWith('README.md')) return 0
  const index = files.get(posix.join(posix.dirname(source), 'README.md')) ?? ''
  const place = [...index.matchAll(link)].findIndex(([, , target]) => target === posix.basename(source))
  return place < 0 ? undefined : place + 1
}

function withTitle(order: number | undefined, text: string): string {
  const [, title = 'Flotilla'] = /^# (.+)$/m.exec(text) ?? []
  const sidebar = order === undefined ? '' : `\nsidebar:\n  order: ${order}`
  return `---\ntitle: ${JSON.stringify(title.replaceAll(/[`*_]/g, ''))}${sidebar}\n---\n\n${text.replace(/^# .+\n/m, '')}`
}
