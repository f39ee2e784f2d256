import type { IncomingMessage } from 'node:http'
import { requirePlainBody } from '@flotilla/protocol/plain-body'
import { Problem } from '@flotilla/protocol/problem'
import { wireLimits } from '@flotilla/protocol/limits'

/** The body as one JSON value. Problems `body-too-large` (nothing of it is kept) and `bad-json`. */
export async function readJson(
  request: IncomingMessage,
  maxBytes: number = wireLimits.bodyMaxBytes,
): Promise<unknown> {
  refuseLongBody(request, maxBytes)
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > maxBytes) throw tooLarge(maxBytes)
    chunks.push(chunk)
  }
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks)))
  } catch (cause) {
    const reason = cause instanceof SyntaxError ? cause.message : 'The body is not UTF-8.'
    throw new Problem('bad-json', { detail: reason, cause })
  }
}

/** Rejects compressed bodies, and too long ones by their announced length, before a byte is read. */
export function refuseLongBody(request: IncomingMessage, maxBytes: number): void {
  requirePlainBody(request.headers)
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) throw tooLarge(maxBytes)
}

export function tooLarge(maxBytes: number): Problem {
  return new Problem('body-too-large', { detail: `At most ${maxBytes} bytes are taken.` })
}
