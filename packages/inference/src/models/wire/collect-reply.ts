import type { JsonValue } from '@flotilla/protocol/json-value'
import { jsonLimits } from '@flotilla/protocol/limits'
import { Problem } from '@flotilla/protocol/problem'
import { readJson } from '@flotilla/foundation/intake'
import { pipeBytes } from './byte-stream.ts'
import type { CallBounds, ProviderReply } from '../llm-provider.ts'

/** The bound for a whole answer, pictures included. */
const replyMaxBytes = 16 * 1024 * 1024

/** Runs synchronous work, on the caller's share of the event loop if `spend` is given. */
export function spendIn<T>(bounds: CallBounds | undefined, work: () => T): T {
  return bounds?.spend === undefined ? work() : bounds.spend(work)
}

function tooLarge(): Problem {
  return new Problem('upstream-failed', { detail: 'the answer of the model is too large' })
}

/**
 * Collects an answer and returns the result of `read` for its text. Rejects with the error of the reply, of `hold` or
 * of `read`, or with the Problem `upstream-failed`.
 */
export function collect<T>(
  reply: ProviderReply,
  bounds: CallBounds | undefined,
  read: (text: string) => T,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const chunks: Uint8Array[] = []
    let bytes = 0
    pipeBytes(reply.body, {
      write(chunk) {
        bytes += chunk.length
        try {
          if (bytes > replyMaxBytes) throw tooLarge()
          bounds?.hold?.(chunk.length)
          chunks.push(chunk)
          return true
        } catch (error) {
          chunks.length = 0
          reject(error)
          return false
        }
      },
      end: () => {
        try {
          resolve(spendIn(bounds, () => read(textOf(chunks))))
        } catch (error) {
          reject(error)
        }
      },
      fail: reject,
    })
  })
}

function textOf(chunks: readonly Uint8Array[]): string {
  const [only] = chunks
  const bytes =
    chunks.length === 1 && only
      ? Buffer.from(only.buffer, only.byteOffset, only.byteLength)
      : Buffer.concat(chunks)
  return bytes.toString('utf8')
}

export function parsedAnswer(text: string): Record<string, unknown> {
  const answer = answerIn(text)
  if (typeof answer !== 'object' || answer === null || Array.isArray(answer)) {
    throw new Problem('upstream-failed', { detail: 'the answer of the model is not an object' })
  }
  return answer
}

function answerIn(text: string): JsonValue {
  try {
    return readJson(text, jsonLimits.modelAnswer)
  } catch (cause) {
    const isTooMuch = cause instanceof Problem && cause.code === 'body-too-large'
    const detail = isTooMuch ? 'the answer of the model is too large' : 'the answer of the model is not JSON'
    throw new Problem('upstream-failed', { detail, cause })
  }
}
