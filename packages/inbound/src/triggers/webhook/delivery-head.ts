import { headers as names } from '@flotilla/protocol/headers'
import { requirePlainBody } from '@flotilla/protocol/plain-body'
import { Problem } from '@flotilla/protocol/problem'
import { deliveryLimits } from './delivery-limits.ts'

/** The maximum length of a sender's delivery id, in characters. */
const senderIdMaxChars = 256

/** The relevant headers of a delivery. */
export interface DeliveryHead {
  /** The delivery id of Standard Webhooks or GitHub. */
  readonly senderId: string | null
  readonly timestamp: string | null
  readonly standardSignature: string | null
  /** The value of the header `x-webhook-signature`, or of GitHub's header with the same meaning. */
  readonly bodySignature: string | null
}

/** Headers as Node provides them: lower case, repeated ones joined. */
export type RawHeaders = Readonly<Record<string, string | readonly string[] | undefined>>

/** Returns the parsed headers of a delivery. Throws the Problem `bad-request` for an invalid id. Pure. */
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
 * Throws for a delivery whose headers show a body that is too long (Problem `body-too-large`), not
 * JSON or compressed (`bad-request`). Pure.
 */
export function requireJsonHead(raw: RawHeaders): void {
  const length = text(raw, 'content-length')
  if (length !== null && Number(length) > deliveryLimits.bodyMaxBytes) throw bodyTooLarge()
  const [type = '', ...parameters] = (text(raw, 'content-type') ?? '').split(';')
  if (!/^application\/(?:[\w.+-]+\+)?json$/i.test(type.trim())) {
    throw new Problem('bad-request', {
      detail:
        'the header Content-Type must be application/json (at GitHub choose the content type application/json)',
    })
  }
  const charset = parameters.map((one) => /^\s*charset="?([^"]*)"?\s*$/i.exec(one)?.[1]).find(Boolean)
  if (charset !== undefined && !/^(?:utf-?8|us-ascii)$/i.test(charset)) {
    throw new Problem('bad-request', { detail: 'the charset of JSON must be UTF-8' })
  }
  requirePlainBody(raw)
}

export function bodyTooLarge(): Problem {
  return new Problem('body-too-large', {
    detail: `a webhook accepts at most ${deliveryLimits.bodyMaxBytes} bytes`,
    extra: { max_bytes: deliveryLimits.bodyMaxBytes },
  })
}

function text(raw: RawHeaders, name: string): string | null {
  const value = raw[name]
  return typeof value === 'string' ? value : null
}
