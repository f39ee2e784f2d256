import { headers as names } from '@flotilla/protocol/headers'
import { limits } from '@flotilla/protocol/limits'
import { requirePlainBody } from '@flotilla/protocol/plain-body'
import { Problem } from '@flotilla/protocol/problem'

/** Longest name that a sender may give a delivery, characters. */
const senderIdMaxChars = 256

/** What the headers of a delivery say. */
export interface DeliveryHead {
  /** As Standard Webhooks or GitHub name the delivery. */
  readonly senderId: string | null
  readonly timestamp: string | null
  readonly standardSignature: string | null
  /** `x-webhook-signature`, or GitHub's name for the same. */
  readonly bodySignature: string | null
}

/** Headers as Node gives them: lower case, repeated ones joined. */
export type RawHeaders = Readonly<Record<string, string | readonly string[] | undefined>>

/** Pure. Throws the Problem `bad-request` for an id that is none. */
export function readDeliveryHead(raw: RawHeaders): DeliveryHead {
  const senderId = text(raw, names.webhookId) ?? text(raw, names.hubDelivery)
  if (senderId !== null && (senderId.length > senderIdMaxChars || !/^[\x21-\x7e]+$/.test(senderId))) {
    throw new Problem('bad-request', {
      detail: `the id of a delivery is 1 to ${senderIdMaxChars} printable ASCII characters`,
    })
  }
  return {
    senderId,
    timestamp: text(raw, names.webhookTimestamp),
    standardSignature: text(raw, names.webhookStandardSignature),
    bodySignature: text(raw, names.webhookSignature) ?? text(raw, names.hubSignature),
  }
}

/**
 * Refuses by the headers what need not be read: a body that says it is too long (Problem `body-too-large`), one that is
 * not JSON or is packed (`bad-request`). Pure.
 */
export function requireJsonHead(raw: RawHeaders): void {
  const length = text(raw, 'content-length')
  if (length !== null && Number(length) > limits.webhook.bodyMaxBytes) throw bodyTooLarge()
  const [type = '', ...parameters] = (text(raw, 'content-type') ?? '').split(';')
  if (!/^application\/(?:[\w.+-]+\+)?json$/i.test(type.trim())) {
    throw new Problem('bad-request', {
      detail: 'send Content-Type: application/json (at GitHub: content type application/json, not a form)',
    })
  }
  const charset = parameters.map((one) => /^\s*charset="?([^"]*)"?\s*$/i.exec(one)?.[1]).find(Boolean)
  if (charset !== undefined && !/^(?:utf-?8|us-ascii)$/i.test(charset)) {
    throw new Problem('bad-request', { detail: 'the charset of JSON is UTF-8' })
  }
  requirePlainBody(raw)
}

export function bodyTooLarge(): Problem {
  return new Problem('body-too-large', {
    detail: `a webhook takes at most ${limits.webhook.bodyMaxBytes} bytes`,
    extra: { max_bytes: limits.webhook.bodyMaxBytes },
  })
}

function text(raw: RawHeaders, name: string): string | null {
  const value = raw[name]
  return typeof value === 'string' ? value : null
}
