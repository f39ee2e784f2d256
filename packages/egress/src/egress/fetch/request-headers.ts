import { wireLimits } from '@flotilla/protocol/limits'
import { Problem } from '@flotilla/protocol/problem'
import { hopByHopHeaders } from './hop-by-hop.ts'

/**
 * Headers that belong to the connection; setting them could make two servers parse one request differently (request
 * smuggling).
 */
const connectionHeaders: readonly string[] = [
  ...hopByHopHeaders,
  'accept-encoding',
  'content-length',
  'expect',
  'host',
]

/** The maximum number of response headers that an agent gets. */
const shownHeadersMax = 100
/** The maximum length of one response header that an agent gets, in characters. */
const shownValueMaxChars = 4000

/**
 * Returns an agent's headers with lower-case names. Throws the problem `bad-request` for a header that it may not
 * set. Pure.
 */
export function checkedHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  const entries = Object.entries(headers)
  const chars = entries.reduce((sum, [name, value]) => sum + name.length + value.length, 0)
  const { outboundHeadersMax, outboundHeadersMaxChars } = wireLimits
  if (entries.length > outboundHeadersMax || chars > outboundHeadersMaxChars) {
    throw badRequest('the request has too many headers, or headers that are too long')
  }
  return Object.fromEntries(
    entries.map(([name, value]) => {
      const lower = name.toLowerCase()
      if (!/^[!#$%&'*+.^_`|~0-9a-z-]+$/.test(lower))
        throw badRequest(`headers: ${name.slice(0, 100)} is not a header name`)
      if (connectionHeaders.includes(lower))
        throw badRequest(`headers: an agent may not set the header ${lower}`)
      if (/[^\t\x20-\x7e\x80-\xff]/.test(value))
        throw badRequest(`headers: the value of ${lower} is not one line of text`)
      return [lower, value]
    }),
  )
}

/** Returns the headers of a reply that an agent sees. Pure. */
export function shownHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  const entries = Object.entries(headers)
    .filter(([name]) => !connectionHeaders.includes(name) || name === 'content-length')
    .slice(0, shownHeadersMax)
  return Object.fromEntries(entries.map(([name, value]) => [name, value.slice(0, shownValueMaxChars)]))
}

function badRequest(detail: string): Problem {
  return new Problem('bad-request', { detail })
}
