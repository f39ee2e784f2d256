import { createHmac, timingSafeEqual } from 'node:crypto'
import type { CallbackRequest } from '../../adapter.ts'

/** Meta's numbers; what is longer or else is sent back to nobody. */
const challengeForm = /^[A-Za-z0-9_-]{1,128}$/

/** Whether the app's secret signed exactly these bytes. Takes as long whether it did or not. Pure. */
export function isSigned(body: Uint8Array, header: string | undefined, secret: string): boolean {
  const sent = /^sha256=([0-9a-f]{64})$/i.exec(header ?? '')?.[1]
  const made = createHmac('sha256', secret).update(body).digest()
  return sent !== undefined && timingSafeEqual(Buffer.from(sent, 'hex'), made)
}

/** What is sent back to whoever knows the verify token; null for everybody else. Pure. */
export function handshake({ query }: CallbackRequest, verifyToken: string): string | null {
  const { 'hub.mode': mode, 'hub.verify_token': token = '', 'hub.challenge': challenge = '' } = query
  const isKnown = timingSafeEqual(digest(token), digest(verifyToken))
  return isKnown && mode === 'subscribe' && challengeForm.test(challenge) ? challenge : null
}

/** So that texts of any length are compared in one time. */
function digest(text: string): Buffer {
  return createHmac('sha256', 'compared').update(text).digest()
}
