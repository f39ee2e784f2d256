import { createHmac, timingSafeEqual } from 'node:crypto'
import type { DeliveryHead } from './delivery-head.ts'

/** The allowed difference between a signed timestamp and now, as Standard Webhooks specifies, in seconds. */
export const timestampWindowSeconds = 300
/** How many signatures of one header are checked. A sender that rotates its secret sends two signatures. */
const signaturesMax = 8
/** The minimum length of a decoded key, in bytes. A shorter key is invalid. */
const keyMinBytes = 16

const standardPrefix = 'whsec_'
const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/

type SignatureVerdict =
  /** `coversId`: the signature also covers id and timestamp. */
  { readonly valid: true; readonly coversId: boolean } | { readonly valid: false; readonly reason: string }

/** Returns why the headers show that the delivery is not signed, or null. Pure. */
export function missingSignature(head: DeliveryHead): string | null {
  if (head.standardSignature !== null) {
    if (head.senderId === null) return 'webhook-signature needs webhook-id'
    return head.timestamp === null ? 'webhook-signature needs webhook-timestamp' : null
  }
  if (head.bodySignature !== null) return null
  return 'the signature is missing: send x-webhook-signature, webhook-signature or X-Hub-Signature-256'
}

/**
 * Checks the signature with each secret. The strongest form that is present decides: Standard Webhooks (id, timestamp
 * and body), else the hex digest of the body. Compares in constant time. Pure.
 */
export function verifySignature(
  head: DeliveryHead,
  body: Uint8Array,
  { secrets, nowMs }: { readonly secrets: readonly string[]; readonly nowMs: number },
): SignatureVerdict {
  const missing = missingSignature(head)
  if (missing !== null) return { valid: false, reason: missing }
  if (head.standardSignature === null) {
    const sent = /^(?:sha256=)?([0-9a-f]{64})$/i.exec(head.bodySignature ?? '')?.[1]
    const given = sent === undefined ? [] : [Buffer.from(sent, 'hex')]
    const made = secrets.map((secret) => createHmac('sha256', secret).update(body).digest())
    return isAmong(given, made) ? { valid: true, coversId: false } : wrongSignature
  }
  const signed = `${head.senderId ?? ''}.${head.timestamp ?? ''}.`
  const made = secrets
    .flatMap(standardKeys)
    .map((key) => createHmac('sha256', key).update(signed).update(body).digest())
  if (!isAmong(standardSignatures(head.standardSignature), made)) return wrongSignature
  const seconds = /^\d{1,12}$/.test(head.timestamp ?? '') ? Number(head.timestamp) : Number.NaN
  if (!(Math.abs(nowMs / 1000 - seconds) <= timestampWindowSeconds)) {
    return {
      valid: false,
      reason: `webhook-timestamp is not within ${timestampWindowSeconds} seconds of now`,
    }
  }
  return { valid: true, coversId: true }
}

/** The signed headers of Standard Webhooks: id, timestamp in seconds and signature. */
export interface StandardSigned {
  readonly id: string
  readonly timestamp: string
  readonly signature: string
}

/** Checks a signature of id, timestamp and body, and the age of the timestamp. Pure. */
export function verifyStandard(
  { id, timestamp, signature }: StandardSigned,
  body: Uint8Array,
  by: { readonly secrets: readonly string[]; readonly nowMs: number },
): SignatureVerdict {
  const head = { senderId: id, timestamp, standardSignature: signature, bodySignature: null }
  if (id === '' || timestamp === '' || signature === '') {
    return { valid: false, reason: 'webhook-id, webhook-timestamp and webhook-signature are required' }
  }
  return verifySignature(head, body, by)
}

/** Returns the signature header for an outgoing event. Pure. */
export function signStandard(
  secret: string,
  { id, timestamp, body }: Omit<StandardSigned, 'signature'> & { readonly body: string },
): string {
  const [key = Buffer.from(secret)] = standardKeys(secret)
  const made = createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest('base64')
  return `v1,${made}`
}

/** Returns why a sender's secret cannot be used, or null. The reason never quotes the secret. Pure. */
export function secretFault(secret: string): string | null {
  if (!secret.startsWith(standardPrefix)) return null
  return decoded(secret.slice(standardPrefix.length)) === null
    ? `after ${standardPrefix} base64 of at least ${keyMinBytes} bytes is expected`
    : null
}

const wrongSignature = {
  valid: false,
  reason: 'the signature does not match any secret of this webhook',
} as const

/** Returns the keys that a secret may mean: `whsec_` marks base64; without it, senders use bytes or base64. */
function standardKeys(secret: string): readonly Buffer[] {
  const isMarked = secret.startsWith(standardPrefix)
  const key = decoded(isMarked ? secret.slice(standardPrefix.length) : secret)
  return [...(isMarked ? [] : [Buffer.from(secret)]), ...(key === null ? [] : [key])]
}

/** Decodes base64. Null for a non-canonical text, of which a lenient decoder would make a short or empty key. */
function decoded(text: string): Buffer | null {
  const key = base64.test(text) ? Buffer.from(text, 'base64') : null
  return key !== null && key.length >= keyMinBytes ? key : null
}

function standardSignatures(header: string): readonly Buffer[] {
  return header
    .split(' ', signaturesMax)
    .flatMap((one) => /^v1,([A-Za-z0-9+/]{43}=)$/.exec(one)?.[1] ?? [])
    .map((text) => Buffer.from(text, 'base64'))
}

function isAmong(given: readonly Buffer[], made: readonly Buffer[]): boolean {
  let found = false
  for (const one of given) {
    for (const other of made) {
      // Compares every pair, even after a match, so that the time does not depend on the position of the match.
      if (one.length === other.length && timingSafeEqual(one, other)) found = true
    }
  }
  return found
}
