import type { FastifyRequest } from 'fastify'

/**
 * Whether a browser sent it for a page. Both headers are the browser's own and no script can leave them out or write them:
 * `Origin` stands on every write, `Sec-Fetch-Site` on every call from a page of this machine or over TLS. A program of the
 * owner's sends neither, and one that lies about it could do all that the page could anyway. Pure.
 */
export function isFromPage({ headers }: Pick<FastifyRequest, 'headers'>): boolean {
  return headers.origin !== undefined || headers['sec-fetch-site'] !== undefined
}
