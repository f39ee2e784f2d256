import { createHmac, timingSafeEqual } from 'node:crypto'
import { limits } from '@flotilla/protocol/limits'

/**
 * The hosted front end's cookie: `<expiry, unix seconds>.<hex HMAC-SHA256>`, keyed by
 * HMAC-SHA256(access token, "ol-cookie-signing"). Pure.
 */
export function isValidSession(cookie: string, accessToken: string, nowMs: number): boolean {
  const [expiryText = '', signature = ''] = cookie.split('.')
  if (!/^\d{1,12}$/.test(expiryText) || !/^[0-9a-f]{64}$/.test(signature)) return false
  const key = createHmac('sha256', accessToken).update('ol-cookie-signing').digest()
  const expected = createHmac('sha256', key).update(expiryText).digest()
  if (!timingSafeEqual(expected, Buffer.from(signature, 'hex'))) return false
  const now = nowMs / 1000
  const expiry = Number(expiryText)
  return expiry > now && expiry <= now + limits.sessionCookie.maxAgeSeconds + limits.sessionCookie.skewSeconds
}

/** The value of one cookie in a Cookie header. */
export function readCookie(header: string | undefined, name: string): string | undefined {
  for (const part of (header ?? '').split(';')) {
    const at = part.indexOf('=')
    if (at > 0 && part.slice(0, at).trim() === name) return part.slice(at + 1).trim()
  }
  return undefined
}
