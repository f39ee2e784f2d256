import { spawnSync } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { commentsOf, messagesOf } from '../tests/plain-words.ts'
import { readSourceFiles, repositoryRoot } from '../tests/source-files.ts'

/**
 * Checks the spelling of documents, of comments, and of messages with cspell. Each word is checked once, wherever it
 * is used, so the whole repository takes about two seconds. The dictionary is cspell's English, the terms of the
 * glossary and the names in `scripts/spelling/project-words.txt`.
 */
const cspell = join(repositoryRoot, 'node_modules', '.bin', 'cspell')

export function misspelledWords(): readonly string[] {
  const places = placesOfWords()
  for (const term of glossaryWords()) places.delete(term)
  const checked = spawnSync(
    cspell,
    ['lint', '--no-progress', '--no-summary', '--words-only', '--unique', '--language-id', 'text', 'stdin'],
    { cwd: repositoryRoot, input: [...places.keys()].join('\n'), encoding: 'utf8' },
  )
  if (checked.error) throw checked.error
  const found = checked.stdout.split('\n').filter((word) => word !== '')
  if (checked.status !== 0 && found.length === 0) throw new Error(`cspell failed: ${checked.stderr}`)
  return found.map((word) => `${word}: ${places.get(word) ?? 'part of a longer word'}`)
}

/** Each word with the path of the first text that has it. */
function placesOfWords(): Map<string, string> {
  const places = new Map<string, string>()
  for (const { path, text } of textsToCheck()) {
    for (const word of readWords(text)) if (!places.has(word)) places.set(word, path)
  }
  return places
}

/** The words of the first and last column of the glossary: its terms, and the terms of other projects. */
function glossaryWords(): readonly string[] {
  const rows = readFileSync(join(repositoryRoot, 'docs', 'glossary.md'), 'utf8').matchAll(
    /^\|([^|]*)\|[^|]*\|([^|]*)\|$/gm,
  )
  return [...rows].flatMap(([, term = '', alsoCalled = '']) => readWords(`${term} ${alsoCalled}`))
}

function textsToCheck(): readonly { readonly path: string; readonly text: string }[] {
  const documents = globSync(['*.md', 'docs/**/*.md', 'packages/*/README.md'], { cwd: repositoryRoot })
    .filter((path) => path !== 'CHANGELOG.md')
    .map((path) => ({ path, text: readFileSync(join(repositoryRoot, path), 'utf8') }))
  const sources = readSourceFiles().map(({ path, text, isTest }) => ({
    path,
    text: [...commentsOf(text), ...(isTest ? [] : messagesOf(text))].join('\n'),
  }))
  return [...documents, ...sources]
}

/** The English words of a text, without code in backticks, paths, addresses and identifiers. */
export function readWords(text: string): readonly string[] {
  const prose = text
    .replaceAll(/```[\s\S]*?```|`[^`\n]*`|\]\([^)\s]*\)|\$\{[^}]*\}|\\./g, ' ')
    .replaceAll('*', '')
  return prose
    .split(/[\s—–…-]+/)
    .map((token) => token.replaceAll(/^[^\p{L}\p{N}_$]+|[^\p{L}\p{N}_$]+$/gu, ''))
    .map((token) => token.replace(/[’']s$/, '').replaceAll('’', "'"))
    .filter((token) => /^\p{Lu}?[\p{Ll}']{3,}$/u.test(token))
}
