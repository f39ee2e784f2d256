import { createHmac, timingSafeEqual } from 'node:crypto'
import type { CallbackRequest } from '../../adapter.ts'

/** The accepted form of Meta's challenge. A challenge of another form is not sent back. */
const challengeForm = /^[A-Za-z0-9_-]{1,128}$/

/** True if the body was signed with the app secret. Compares in constant time. Pure. */
export function isSigned(body: Uint8Array, header: string | undefined, secret: string): boolean {
  const sent = /^sha256=([0-9a-f]{64})$/i.exec(header ?? '')?.[1]
  const made = createHmac('sha256', secret).update(body).digest()
  return sent !== undefined && timingSafeEqual(Buffer.from(sent, 'hex'), made)
}

/** Returns the challenge to send back for a correct verify token, else null. Pure. */
export function handshake({ query }: CallbackRequest, verifyToken: string): string | null {
  const { 'hub.mode': mode, 'hub.verify_token': token = '', 'hub.challenge': challenge = '' } = query
  const isKnown = timingSafeEqual(digest(token), digest(verifyToken))
  return isKnown && mode === 'subscribe' && challengeForm.test(challenge) ? challenge : null
}

/** Returns a digest, which allows constant-time comparison of texts of any length. */
function digest(text: string): Buffer {
  return createHmac('sha256', 'compared').update(text).digest()
}
