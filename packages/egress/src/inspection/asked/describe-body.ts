import { isUtf8 } from 'node:buffer'
import { quoted } from '@flotilla/protocol/shown-text'
import { pathForms, pathFormsMax } from '@flotilla/identity/policy'
import { readPush } from './read-push.ts'
import type { Push } from './read-push.ts'

/** How much of a body that is text a person is shown, in characters. */
const shownMaxChars = 4000
/** How many references of a push a person is shown. */
const referencesMax = 20
/** How much of the name of a reference a person is shown, in characters. */
const nameMaxChars = 200
/** The content type without which git's server refuses a push (gitprotocol-http). */
const pushType = 'application/x-git-receive-pack-request'

interface DescribedRequest {
  /** The path with the query. */
  readonly path: string
  readonly headers: readonly string[]
  readonly sha256: string
}

/**
 * Describes the body of a program's request to the person who decides about it, in sentences: the references that a
 * git push changes, else the text, else the size. Everything that comes from the body is quoted.
 *
 * Path and content type are both written by the program. A server takes a body for a push only with both, so with one
 * of them the references and the body itself are shown: neither sign hides what the server may read. Pure.
 */
export function describeBody(body: Buffer, request: DescribedRequest): readonly string[] {
  if (body.length === 0) return ['It has no body.']
  const plain = plainWords(body, request)
  const signs = [hasPushPath(request.path), hasPushType(request.headers)]
  if (!signs.includes(true)) return plain
  const push = isEncoded(request) ? null : readPush(body)
  const isPush = !signs.includes(false)
  if (push === null)
    return [
      isPush
        ? 'The request is a git push; the mesh cannot read which references it changes.'
        : 'The server may read the body as a git push; the mesh cannot read it as one.',
      ...plain,
    ]
  if (isPush) return [...pushWords(push), `The push has ${sizeOf(body, request)}.`]
  return [
    'The request has only one of the path and the content type of a git push. If the server reads the body as one:',
    ...pushWords(push),
    ...plain,
  ]
}

/** Deletions come first, because they lose the most. */
function pushWords({ deletes, moves, creates }: Push): readonly string[] {
  const words = [
    ...deletes.map(({ name, from }) => `The push deletes ${reference(name)}, now ${from}.`),
    ...moves.map(({ name, from, to }) => `The push moves ${reference(name)} from ${from} to ${to}.`),
    ...creates.map(({ name, to }) => `The push creates ${reference(name)} at ${to}.`),
  ]
  if (words.length <= referencesMax) return words
  const moreDeleted = Math.max(deletes.length - referencesMax, 0)
  const moreOthers = words.length - referencesMax - moreDeleted
  return [
    ...words.slice(0, referencesMax),
    ...(moreDeleted === 0 ? [] : [`The push deletes ${moreDeleted} more references.`]),
    ...(moreOthers === 0 ? [] : [`The push creates or moves ${moreOthers} more references.`]),
  ]
}

function reference(name: string): string {
  return quoted(name, nameMaxChars)
}

function plainWords(body: Buffer, request: DescribedRequest): readonly string[] {
  const whole = sizeOf(body, request)
  if (isEncoded(request) || !isUtf8(body)) return [`The body is binary or compressed: ${whole}.`]
  const text = body.toString('utf8')
  if (text.length <= shownMaxChars) return [`Body, ${body.length} bytes: ${quoted(text)}`]
  return [
    `Only the first ${shownMaxChars} characters of the body are shown: ${quoted(text.slice(0, shownMaxChars))}`,
    `The body has ${whole}.`,
  ]
}

function sizeOf(body: Buffer, { sha256 }: DescribedRequest): string {
  return `${body.length} bytes with the SHA-256 ${sha256}`
}

/** True if a server may read the path, whatever its spelling, as that of a push. The query is no part of it. */
function hasPushPath(path: string): boolean {
  const forms = pathForms(path.split('?', 1)[0] ?? '')
  // So many forms are not complete, and one that is missing may be that of a push.
  return forms.length > pathFormsMax || forms.some((form) => /\/git-receive-pack\/?$/i.test(form))
}

function hasPushType(headers: readonly string[]): boolean {
  return valuesOf(headers, 'content-type').some(
    (value) => value.split(';', 1)[0]?.trim().toLowerCase() === pushType,
  )
}

function isEncoded({ headers }: DescribedRequest): boolean {
  return valuesOf(headers, 'content-encoding').length > 0
}

function valuesOf(headers: readonly string[], name: string): readonly string[] {
  return headers.filter((_value, at) => at % 2 === 1 && headers[at - 1]?.toLowerCase() === name)
}
