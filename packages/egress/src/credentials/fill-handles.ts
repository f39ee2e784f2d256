import { jsonLimits } from '@flotilla/protocol/limits'
import { Problem } from '@flotilla/protocol/problem'
import { readJson } from '@flotilla/foundation/intake'
import { handleNames, handlesMax, replaceHandles } from './handles.ts'

/** A request as an agent wrote it; header names are in lower case. */
export interface HandledRequest {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/**
 * A request in which values replace the handles, and the names of headers that a redirect to another origin must not
 * forward.
 */
export interface FilledParts {
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly filledHeaders: readonly string[]
  readonly filledBody: boolean
}

export type ValueOf = (name: string) => string

/** Returns each credential name in the request once, in the order of first handles. Problem `bad-request`. Pure. */
export function namesInRequest(request: HandledRequest): readonly string[] {
  const texts = [request.url, ...Object.values(request.headers), request.body]
  const names = texts.flatMap(handleNames)
  if (names.length > handlesMax) throw badRequest(`a request has at most ${handlesMax} handles`)
  return [...new Set(names)]
}

/**
 * The address with placeholders, for checking its destination. Throws `bad-request` for a handle in its host. Pure.
 */
export function destinationOf(url: string): URL {
  return parsedWith(url, placeholderFor(url))
}

/** Replaces each handle by its value, encoded for its place. `bad-request` if a value does not fit there. Pure. */
export function fillRequest(request: HandledRequest, valueOf: ValueOf): FilledParts {
  const { url, authorization } = fillUrl(request.url, valueOf)
  const headers: Record<string, string> = {}
  const filledHeaders: string[] = []
  for (const [name, text] of Object.entries(request.headers)) {
    headers[name] = replaceHandles(text, valueOf)
    if (headers[name] !== text) filledHeaders.push(name)
    if (/[^\t\x20-\x7e\x80-\xff]/.test(headers[name])) {
      throw badRequest(
        `headers: the credential cannot be sent in the header ${name}, because its value is not plain ASCII text`,
      )
    }
  }
  if (authorization !== null) {
    if (headers['authorization'] !== undefined)
      throw badRequest('send either a user name in the address or the header authorization, not both')
    headers['authorization'] = authorization
    filledHeaders.push('authorization')
  }
  const body = replaceHandles(request.body, bodyEncoding(request, valueOf))
  return {
    url,
    headers,
    body,
    filledHeaders,
    filledBody: body !== request.body,
  }
}

/** Fills a URL. A user name or password with a handle becomes a Basic Authorization header, as servers see it. */
function fillUrl(text: string, valueOf: ValueOf): { url: URL; authorization: string | null } {
  const placeholder = placeholderFor(text)
  const url = parsedWith(text, placeholder)
  const fill = (part: string, encode: (value: string) => string) =>
    part.replace(placeholder.all, (_whole, index: string) =>
      encode(valueOf(placeholder.names[Number(index)] ?? '')),
    )
  const [user, password] = [url.username, url.password]
  url.pathname = fill(url.pathname, percentEncoded)
  url.search = fill(url.search, percentEncoded)
  if (!placeholder.any.test(user + password)) return { url, authorization: null }
  url.username = ''
  url.password = ''
  const pair = [user, password].map((part) => fill(percentDecoded(part), (value) => value)).join(':')
  return { url, authorization: `Basic ${Buffer.from(pair).toString('base64')}` }
}

interface Placeholder {
  readonly text: string
  readonly names: readonly string[]
  readonly any: RegExp
  readonly all: RegExp
}

/** Replaces handles by strings that occur nowhere in the text, because the URL parser would encode their braces. */
function placeholderFor(text: string): Placeholder {
  const folded = text.toLowerCase().replace(/[\t\n\r]/g, '')
  let mark = 'handle'
  while (folded.includes(mark)) mark += 'x'
  const names: string[] = []
  const replaced = replaceHandles(text, (name) => `${mark}q${names.push(name) - 1}q`)
  return {
    text: replaced,
    names,
    any: new RegExp(`${mark}q\\d+q`),
    all: new RegExp(`${mark}q(\\d+)q`, 'g'),
  }
}

function parsedWith(text: string, placeholder: Placeholder): URL {
  if (!URL.canParse(placeholder.text)) throw badRequest('url: an http or https address is expected')
  const url = new URL(placeholder.text)
  url.hash = ''
  if (placeholder.any.test(url.host) || placeholder.any.test(url.protocol)) {
    throw badRequest('url: the host of an address cannot contain $CRED{...}')
  }
  if (placeholder.names.length > 0 && /\p{Cc}/u.test(text))
    throw badRequest('url: one line of text is expected')
  return url
}

function bodyEncoding(request: HandledRequest, valueOf: ValueOf): ValueOf {
  const encode = bodyEncoder(request.headers['content-type'] ?? '', request.body)
  return (name) => encode(valueOf(name))
}

function bodyEncoder(contentType: string, body: string): (value: string) => string {
  if (/\bjson\b/i.test(contentType) || (contentType === '' && isJson(body))) return jsonEncoded
  if (/\bx-www-form-urlencoded\b/i.test(contentType)) return percentEncoded
  if (/\bxml\b/i.test(contentType)) return xmlEncoded
  return (value) => value
}

function isJson(body: string): boolean {
  if (!/^\s*[[{]/.test(body)) return false
  try {
    readJson(body, jsonLimits.body)
    return true
  } catch (error) {
    // A body that is too large to parse may still be JSON, so values are escaped as for JSON.
    return error instanceof Problem && error.code === 'body-too-large'
  }
}

function jsonEncoded(value: string): string {
  return JSON.stringify(value).slice(1, -1)
}

/** Encodes a value for a URL, also characters that `encodeURIComponent` keeps but some servers interpret. */
function percentEncoded(value: string): string {
  return encodeURIComponent(value.toWellFormed()).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  )
}

function percentDecoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw badRequest('url: the user name or password is not correctly percent-encoded')
  }
}

function xmlEncoded(value: string): string {
  return value.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}

function badRequest(detail: string): Problem {
  return new Problem('bad-request', { detail })
}
