import { isUtf8 } from 'node:buffer'

/** How much of a body that is text a person is shown, in characters. */
const shownMaxChars = 4000
/** How many references of a push a person is shown. */
const referencesMax = 20
const noObject = /^0+$/

/**
 * Describes the body of a program's request to the person who decides about it, in sentences: the references that a
 * git push changes, else the text, else the size. Everything that comes from the body is quoted. Pure.
 */
export function describeBody(
  body: Buffer,
  request: { readonly path: string; readonly headers: readonly string[]; readonly sha256: string },
): readonly string[] {
  if (body.length === 0) return ['It has no body.']
  const whole = `${body.length} bytes with the SHA-256 ${request.sha256}`
  if (/\/git-receive-pack(?:\?|$)/.test(request.path)) {
    const updates = pushedReferences(body)
    if (updates.length > 0) return [...updates, `The push has ${whole}.`]
  }
  if (valueOf(request.headers, 'content-encoding') !== null || !isUtf8(body))
    return [`The body is binary or compressed: ${whole}.`]
  const text = body.toString('utf8')
  if (text.length <= shownMaxChars) return [`Body, ${body.length} bytes: ${JSON.stringify(text)}`]
  return [
    `Only the first ${shownMaxChars} characters of the body are shown: ${JSON.stringify(text.slice(0, shownMaxChars))}`,
    `The body has ${whole}.`,
  ]
}

/** Reads the commands at the beginning of a push, which git writes as packets of lines with their length. */
function pushedReferences(body: Buffer): readonly string[] {
  const found: string[] = []
  let at = 0
  let more = 0
  while (at + 4 <= body.length) {
    const length = Number.parseInt(body.toString('latin1', at, at + 4), 16)
    // A length of 0 ends the commands; what follows is the pack.
    if (!(length > 4) || at + length > body.length) break
    const line = body.toString('utf8', at + 4, at + length).split('\0', 1)[0] ?? ''
    at += length
    const [before = '', after = '', ...name] = line.trimEnd().split(' ')
    if (name.length === 0 || !/^[0-9a-f]{40,64}$/.test(before) || !/^[0-9a-f]{40,64}$/.test(after)) continue
    const reference = JSON.stringify(name.join(' ').slice(0, 300))
    if (found.length >= referencesMax) more += 1
    else if (noObject.test(after)) found.push(`The push deletes ${reference}, now ${before}.`)
    else if (noObject.test(before)) found.push(`The push creates ${reference} at ${after}.`)
    else found.push(`The push moves ${reference} from ${before} to ${after}.`)
  }
  return more === 0 ? found : [...found, `The push changes ${more} more references.`]
}

function valueOf(headers: readonly string[], name: string): string | null {
  for (let at = 0; at + 1 < headers.length; at += 2) {
    if (headers[at]?.toLowerCase() === name) return headers[at + 1] ?? ''
  }
  return null
}
