import { reasonOf } from '../sandbox-error.ts'

/** Maximum length of the engine's error in one message, characters: one or two terminal lines, no HTML page. */
const engineWordsMaxChars = 240

/**
 * Patterns of engine errors after a failed pull, with their causes; the first match wins. The patterns are narrow,
 * because other errors contain `denied` (a file that the engine may not open) or `not found` (a missing program).
 */
const causes: readonly (readonly [RegExp, string])[] = [
  [
    /toomanyrequests|too many requests|rate limit/i,
    'the registry of the image has limited further downloads for now',
  ],
  // Checked before registry refusals, because the error of a proxy that requires a login resembles a refusal.
  [
    /proxyconnect|dial tcp|no such host|lookup |connection refused|unreachable|time(?:d )?out|\bEOF\b/i,
    'the engine cannot reach the registry of the image',
  ],
  // A registry gives the same answer for a private image as for a missing one.
  [
    /unauthorized|authentication required|no basic auth credentials|access (?:to the resource is )?denied/i,
    'the registry has no image with that name, or requires a login',
  ],
  [
    /(?:manifest|name) unknown|no such image|manifest for \S+ not found|failed to resolve reference .*: not found/i,
    'the registry has no image with that name',
  ],
  [/x509/, 'the engine does not trust the certificate of the registry'],
]

/** Describes as part of a sentence why an image could not be pulled, with the engine's own error. Pure. */
export function whyNotFetched(error: unknown): string {
  // The engine's client library puts the HTTP status before the engine's error text.
  const engineError = reasonOf(error)
    .replace(/^\(HTTP code \d+\) [^-]*- /, '')
    .replace(/\s+/g, ' ')
    .trim()
  const cut =
    engineError.length > engineWordsMaxChars ? `${engineError.slice(0, engineWordsMaxChars)}…` : engineError
  const quotedError = `the engine said: ${cut.replace(/\.$/, '')}`
  const known = causes.find(([pattern]) => pattern.test(engineError))?.[1]
  return known === undefined ? quotedError : `${known} (${quotedError})`
}
