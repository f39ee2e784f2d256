import { createHmac, timingSafeEqual } from 'node:crypto'
import type { DeliveryHead } from './delivery-head.ts'

/** How far a signed moment may be from now, either way: what Standard Webhooks says, seconds. */
export const timestampWindowSeconds = 300
/** Signatures in one header that are looked at; a sender that rotates sends two. */
const signaturesMax = 8
/** A key that was decoded from text and is shorter is nothing but a slip, bytes. */
const keyMinBytes = 16

const standardPrefix = 'whsec_'
const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/

type SignatureVerdict =
  /** `coversId`: the sender's id and moment are signed too, and not the body alone. */
  { readonly valid: true; readonly coversId: boolean } | { readonly valid: false; readonly reason: string }

/** Why the headers alone show that the delivery is not signed, or null. Pure. */
export function missingSignature(head: DeliveryHead): string | null {
  if (head.standardSignature !== null) {
    if (head.senderId === null) return 'webhook-signature comes with webhook-id'
    return head.timestamp === null ? 'webhook-signature comes with webhook-timestamp' : null
  }
  if (head.bodySignature !== null) return null
  return 'the signature is missing: send x-webhook-signature, webhook-signature or X-Hub-Signature-256'
}

/**
 * Whether one of the secrets signed this body. The strongest form that is there decides: Standard Webhooks (id, moment
 * and body), else the hex digest of the body. Every comparison takes as long whether it holds or not. Pure.
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

/** A delivery that Standard Webhooks signs: id, moment in seconds and body. */
export interface StandardSigned {
  readonly id: string
  readonly timestamp: string
  readonly signature: string
}

/** Whether one of the secrets signed id, moment and body, and lately. Pure. */
export function verifyStandard(
  { id, timestamp, signature }: StandardSigned,
  body: Uint8Array,
  by: { readonly secrets: readonly string[]; readonly nowMs: number },
): SignatureVerdict {
  const head = { senderId: id, timestamp, standardSignature: signature, bodySignature: null }
  if (id === '' || timestamp === '' || signature === '') {
    return { valid: false, reason: 'webhook-id, webhook-timestamp and webhook-signature are wanted' }
  }
  return verifySignature(head, body, by)
}

/** The header that says the same of what we send. Pure. */
export function signStandard(
  secret: string,
  { id, timestamp, body }: Omit<StandardSigned, 'signature'> & { readonly body: string },
): string {
  const [key = Buffer.from(secret)] = standardKeys(secret)
  const made = createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest('base64')
  return `v1,${made}`
}

/** Why a secret that a sender made cannot serve, or null. Never names it. Pure. */
export function secretFault(secret: string): string | null {
  if (!secret.startsWith(standardPrefix)) return null
  return decoded(secret.slice(standardPrefix.length)) === null
    ? `after ${standardPrefix} base64 of at least ${keyMinBytes} bytes is expected`
    : null
}

const wrongSignature = {
  valid: false,
  reason: 'no secret of this webhook made the signature of this body',
} as const

/** `whsec_` says that base64 follows; without it both readings are in use among senders. */
function standardKeys(secret: string): readonly Buffer[] {
  const isMarked = secret.startsWith(standardPrefix)
  const key = decoded(isMarked ? secret.slice(standardPrefix.length) : secret)
  return [...(isMarked ? [] : [Buffer.from(secret)]), ...(key === null ? [] : [key])]
}

/** Null for what is not canonical base64: a lenient reader would make a short key of it, or none. */
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
      // All are compared, also after a match.
      if (one.length === other.length && timingSafeEqual(one, other)) found = true
    }
  }
  return found
}
