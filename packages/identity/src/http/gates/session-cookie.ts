import { createHmac, timingSafeEqual } from 'node:crypto'

export const sessionCookieLimits = { maxAgeSeconds: 24 * 3600, skewSeconds: 300 } as const // limits:session-cookie

/**
 * Verifies the cookie that a sign-in sidecar issues: `<expiry, unix seconds>.<hex HMAC-SHA256>`, keyed by
 * HMAC-SHA256(access token, "ol-cookie-signing"). Pure. `docs/reference/session-cookie.md` is the contract.
 */
export function isValidSession(cookie: string, accessToken: string, nowMs: number): boolean {
  const { expiryText = '', signature = '' } =
    /^(?<expiryText>\d{1,12})\.(?<signature>[0-9a-f]{64})$/.exec(cookie)?.groups ?? {}
  if (expiryText === '') return false
  if (!timingSafeEqual(signatureOf(accessToken, expiryText), Buffer.from(signature, 'hex'))) return false
  const now = nowMs / 1000
  const expiry = Number(expiryText)
  return expiry > now && expiry <= now + sessionCookieLimits.maxAgeSeconds + sessionCookieLimits.skewSeconds
}

/** Signs a cookie of the same form for programs of the owner on this machine. Pure. */
export function signSession(
  accessToken: string,
  life: { readonly nowMs: number; readonly seconds: number },
): string {
  const expiry = String(Math.floor(life.nowMs / 1000) + life.seconds)
  return `${expiry}.${signatureOf(accessToken, expiry).toString('hex')}`
}

function signatureOf(accessToken: string, expiry: string): Buffer {
  const key = createHmac('sha256', accessToken).update('ol-cookie-signing').digest()
  return createHmac('sha256', key).update(expiry).digest()
}

/** The value of one cookie in a Cookie header. */
export function readCookie(header: string | undefined, name: string): string | undefined {
  for (const part of (header ?? '').split(';')) {
    const at = part.indexOf('=')
    if (at > 0 && part.slice(0, at).trim() === name) return part.slice(at + 1).trim()
  }
  return undefined
}
