import type { FastifyRequest } from 'fastify'

/**
 * Whether a browser sent the request for a page. Both headers belong to the browser, and no script can omit
 * or set them: `Origin` is on every write, `Sec-Fetch-Site` on every call from a page of this machine or
 * over TLS. A program of the owner sends neither, and a program that forges them gains nothing over a page.
 * Pure.
 */
export function isFromPage({ headers }: Pick<FastifyRequest, 'headers'>): boolean {
  return headers.origin !== undefined || headers['sec-fetch-site'] !== undefined
}
