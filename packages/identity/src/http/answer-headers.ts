import { ServerResponse } from 'node:http'
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'

/**
 * Headers of every response of a people's API: responses are data, so a browser must not run, frame, cache
 * or share them across origins. A page, which must load its own files, sets its own headers.
 */
export const answerHeaders = {
  'content-security-policy':
    "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox",
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy':
    'accelerometer=(), autoplay=(), camera=(), display-capture=(), encrypted-media=(), fullscreen=(), geolocation=(), gyroscope=(), magnetometer=(), microphone=(), midi=(), payment=(), publickey-credentials-get=(), screen-wake-lock=(), serial=(), usb=(), xr-spatial-tracking=()',
  'cache-control': 'no-store',
} as const

export type AnswerHeaders = Readonly<Record<string, string>>

/**
 * Only for calls that came through TLS, which a proxy terminates; over plain HTTP browsers ignore the header
 * (RFC 6797).
 */
const strictTransport = ['strict-transport-security', 'max-age=31536000'] as const

/**
 * Returns a response class that sets `headers` before any other code writes. A hook of the framework would not
 * suffice: it is not called for responses that take over the socket, nor for those that Node sends itself.
 */
export function answersWith(headers: AnswerHeaders): typeof ServerResponse {
  const all = Object.entries(headers)
  return class<Request extends IncomingMessage> extends ServerResponse<Request> {
    constructor(request: Request, ...options: []) {
      super(request, ...options)
      for (const [name, value] of all) this.setHeader(name, value)
      if (all.length > 0 && isBehindTls(request.headers)) this.setHeader(...strictTransport)
    }
  }
}

/** The scheme that the browser used, according to the nearest proxy: the first of several values. Pure. */
export function isBehindTls(headers: IncomingHttpHeaders): boolean {
  const [protocol] = String(headers['x-forwarded-proto'] ?? '').split(',')
  if (protocol?.trim().toLowerCase() === 'https') return true
  const [nearest = ''] = (headers.forwarded ?? '').split(',')
  return nearest.split(';').some((pair) => /^\s*proto="?https"?\s*$/i.test(pair))
}
