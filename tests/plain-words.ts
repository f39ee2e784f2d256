import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { meshPackages } from './package-rules.ts'
import { readSourceFiles, repositoryRoot } from './source-files.ts'

/**
 * Words that comments, messages and documents do not use: pronouns as actors, negation by noun, and metaphors for
 * mechanisms. Each has the plain form that replaces it.
 */
export const avoidedWords: readonly {
  readonly word: string
  readonly pattern: RegExp
  readonly replacement: string
}[] = [
  {
    word: 'whoever',
    pattern: /\bwho(?:m)?ever\b/gi,
    replacement: 'the caller, client, user, owner or attacker',
  },
  { word: 'nobody', pattern: /\bnobody\b/gi, replacement: 'no caller, no agent; or name the rule' },
  { word: 'somebody', pattern: /\b(?:some|any)body\b/gi, replacement: 'a person, a caller' },
  {
    word: 'is none',
    pattern: /\b(?:is|are|was|were) none\b/gi,
    replacement: 'does not exist, does not belong to',
  },
  { word: 'of ours', pattern: /\bof (?:ours|theirs)\b/gi, replacement: 'of the mesh, of this project' },
  { word: 'stands', pattern: /\b(?:stands|stood)\b/gi, replacement: 'is, is stored, exists' },
  { word: 'stumble', pattern: /\bstumbl\w+/gi, replacement: 'fails with an internal error' },
  { word: 'hears', pattern: /\b(?:hears|heard)\b/gi, replacement: 'receives, is notified of' },
  {
    word: 'is told',
    pattern: /\b(?:is|are|was|were|be|been) told\b/gi,
    replacement: 'is notified, is informed',
  },
  { word: 'let go', pattern: /\blets? go\b/gi, replacement: 'release' },
  { word: 'taken up', pattern: /\b(?:taken|takes|took|take) up\b/gi, replacement: 'resumed, adopted' },
  { word: 'looked at', pattern: /\blooked at\b/gi, replacement: 'checked' },
  { word: 'way out', pattern: /\bways? out\b/gi, replacement: 'egress' },
  { word: 'rung', pattern: /\brungs?\b/gi, replacement: 'isolation level' },
  { word: 'briefing', pattern: /\bbriefings?\b/gi, replacement: 'bootstrap files, system prompt' },
  { word: 'door', pattern: /\bdoors?\b/gi, replacement: 'API' },
  { word: 'purse', pattern: /\b(?:purses?|pots?)\b/gi, replacement: 'budget' },
  { word: 'stimulus', pattern: /\bstimul(?:us|i)\b/gi, replacement: 'trigger' },
  { word: 'stand-in', pattern: /\bstand-ins?\b/gi, replacement: 'scripted model, fallback' },
]

export type Counts = Readonly<Record<string, Readonly<Record<string, number>>>>

/** Counts each avoided word in each area: documents, comments by package, and messages of the sources. */
export function countAvoidedWords(): Counts {
  const counts: Record<string, Record<string, number>> = {}
  for (const { area, text } of [...documents(), ...sources()]) {
    for (const { word, pattern } of avoidedWords) {
      const found = text.match(pattern)?.length ?? 0
      if (found === 0) continue
      const ofArea = (counts[area] ??= {})
      ofArea[word] = (ofArea[word] ?? 0) + found
    }
  }
  return counts
}

/** The changelog is left out: it is a record of what was announced. */
function documents(): readonly { readonly area: string; readonly text: string }[] {
  return globSync(['*.md', 'docs/**/*.md', 'packages/*/README.md'], { cwd: repositoryRoot })
    .filter((path) => path !== 'CHANGELOG.md')
    .map((path) => ({
      area: path.startsWith('docs/decisions/') ? 'decision pages' : 'documents',
      text: readFileSync(join(repositoryRoot, path), 'utf8').replaceAll(/`[^`]*`/g, ''),
    }))
}

function sources(): readonly { readonly area: string; readonly text: string }[] {
  return readSourceFiles().flatMap(({ path, text, isTest }) => {
    const name = /^packages\/([\w-]+)/.exec(path)?.[1]
    const isOfMesh = meshPackages.some((one) => one.name === name)
    const root = isOfMesh ? 'packages/mesh' : (/^(?:packages\/[\w-]+|\w+)/.exec(path)?.[0] ?? path)
    const comments = { area: `comments of ${isTest ? 'tests' : root}`, text: commentsOf(text).join('\n') }
    return isTest ? [comments] : [comments, { area: 'messages', text: messagesOf(text).join('\n') }]
  })
}

/** The comments of a source, without their marks. */
export function commentsOf(text: string): readonly string[] {
  return [...text.matchAll(/\/\*\*?[\s\S]*?\*\/|(?<=^|\s)\/\/[^\n]*/g)].map(([comment]) =>
    comment.replaceAll(/^\s*(?:\/\*\*?|\*(?!\/)|\/\/)|\s*\*\/$/gm, ''),
  )
}

/**
 * Strings of a source that read like a sentence (problems, log lines, help, texts of pages), without the code in
 * them.
 */
export function messagesOf(text: string): readonly string[] {
  const code = text.replaceAll(/\/\*[\s\S]*?\*\/|(?<=^|\s)\/\/[^\n]*/g, '')
  return [...code.matchAll(/'((?:[^'\\\n]|\\.)*)'|"((?:[^"\\\n]|\\.)*)"|`((?:[^`\\]|\\.)*)`|>([^<>{}]+)</g)]
    .map((match) => (match.slice(1).find((one) => one !== undefined) ?? '').replaceAll(/\$\{[^{}]*\}/g, '…'))
    .filter((message) => /\w \w+ \w/.test(message))
}

/** The allow-list with each number lowered to the present count; no number is raised. */
export function lowered(allowed: Counts, counts: Counts): Counts {
  const areas = Object.entries(allowed).map(([area, words]) => {
    const rows = Object.entries(words)
      .map(([word, most]) => [word, Math.min(most, counts[area]?.[word] ?? 0)] as const)
      .filter(([, most]) => most > 0)
    return [area, Object.fromEntries(rows)] as const
  })
  return Object.fromEntries(areas.filter(([, words]) => Object.keys(words).length > 0))
}
