import { reasonOf } from '../sandbox-error.ts'

/** One or two terminal lines: a registry error fits, a page of HTML does not. */
const engineWordsMaxChars = 240

/**
 * Messages of engines about a failed pull, with their causes; the first match wins. The patterns are narrow:
 * a file that the engine may not open is `denied` too, and a missing program is `not found`.
 */
const causes: readonly (readonly [RegExp, string])[] = [
  [
    /toomanyrequests|too many requests|rate limit/i,
    'the registry of the image has limited further downloads for now',
  ],
  // Checked before refusals of a registry, because a proxy may require a login as well.
  [
    /proxyconnect|dial tcp|no such host|lookup |connection refused|unreachable|time(?:d )?out|\bEOF\b/i,
    'the engine cannot reach the registry of the image',
  ],
  // A registry does not reveal whether a hidden image exists.
  [
    /unauthorized|authentication required|access (?:to the resource is )?denied/i,
    'the registry has no image with that name, or requires a login',
  ],
  [
    /(?:manifest|name) unknown|no such image|manifest for \S+ not found|failed to resolve reference .*: not found/i,
    'the registry has no image with that name',
  ],
  [/x509/, 'the engine does not trust the certificate of the registry'],
]

/** Why an image could not be pulled, as part of a sentence, with the engine's own message. Pure. */
export function whyNotFetched(error: unknown): string {
  // Modules for engines write the status of the engine's answer before its words.
  const words = reasonOf(error)
    .replace(/^\(HTTP code \d+\) [^-]*- /, '')
    .replace(/\s+/g, ' ')
    .trim()
  const cut = words.length > engineWordsMaxChars ? `${words.slice(0, engineWordsMaxChars)}…` : words
  const said = `the engine said: ${cut.replace(/\.$/, '')}`
  const known = causes.find(([pattern]) => pattern.test(words))?.[1]
  return known === undefined ? said : `${known} (${said})`
}
