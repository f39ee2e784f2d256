import { jsonObjectSchema } from '@flotilla/protocol/json-value'
import type { JsonObject } from '@flotilla/protocol/json-value'
import { Problem } from '@flotilla/protocol/problem'
import type { PinnedFetch } from '../../egress/src/egress/index.ts'

interface Question {
  readonly url: string
  readonly method: string
  readonly body: JsonObject
}

/**
 * Fake of a CAPTCHA solver's API behind the outbound filter: the first poll is not ready, the second returns a
 * token.
 */
export interface FakeCaptchaApi {
  readonly fetch: PinnedFetch
  readonly asked: Question[]
  /**
   * Replaces the usual answer: an object, a text, a Problem (nothing is sent), or `silent`; undefined for the usual
   * answer.
   */
  answer: (question: Question) => JsonObject | string | Problem | undefined
}

export const fakeCaptchaToken = '03AGdBq25-token_of.the-solver'

export function createFakeCaptchaApi(): FakeCaptchaApi {
  let looks = 0
  const usual = (method: string): JsonObject => {
    if (method === 'createTask') {
      looks = 0
      return { errorId: 0, taskId: 7654321 }
    }
    looks += 1
    if (looks === 1) return { errorId: 0, status: 'processing' }
    return { errorId: 0, status: 'ready', solution: { token: fakeCaptchaToken }, cost: '0.00299' }
  }
  const solver: FakeCaptchaApi = {
    asked: [],
    answer: () => undefined,
    fetch: async (request, signal) => {
      const method = request.url.pathname.split('/').at(-1) ?? ''
      const question = {
        url: request.url.href,
        method,
        body: jsonObjectSchema.parse(JSON.parse(request.body)),
      }
      solver.asked.push(question)
      const answer = solver.answer(question) ?? usual(method)
      if (answer instanceof Problem) throw answer
      request.onLeaving?.()
      if (answer === 'silent') {
        await new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason), { once: true })
        })
      }
      const text = typeof answer === 'string' ? answer : JSON.stringify(answer)
      return { status: 200, headers: {}, body: once(Buffer.from(text)), close: async () => {} }
    },
  }
  return solver
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}
