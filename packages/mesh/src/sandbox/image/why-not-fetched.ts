import { reasonOf } from '../sandbox-error.ts'

const engineWordsMaxChars = 120

/** What engines say of a registry that gave nothing, and what is the matter with it. The first that fits tells. */
const causes: readonly (readonly [RegExp, string])[] = [
  [/toomanyrequests|too many requests|rate limit/i, 'its registry gives no more for now'],
  [/unauthorized|denied|authentication required/i, 'its registry wants somebody who is logged in'],
  [/manifest unknown|not found|no such image/i, 'its registry has none of that name'],
  [/certificate|x509|tls:/i, 'its registry shows a certificate that the engine does not trust'],
  [
    /dial tcp|no such host|lookup |connection refused|unreachable|time(?:d )?out|TimeoutError|EOF|proxyconnect|ECONN/i,
    'the engine cannot reach its registry',
  ],
]

/** Why an image could not be fetched, in the words of a sentence; an engine's own where nobody knows them. Pure. */
export function whyNotFetched(error: unknown): string {
  // Modules for engines write the status of the engine's answer before its words.
  const words = reasonOf(error)
    .replace(/^\(HTTP code \d+\) [^-]*- /, '')
    .replace(/\s+/g, ' ')
    .trim()
  const known = causes.find(([pattern]) => pattern.test(words))?.[1]
  return known ?? `the engine said: ${words.slice(0, engineWordsMaxChars)}`
}
