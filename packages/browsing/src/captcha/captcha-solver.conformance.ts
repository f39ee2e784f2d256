import { captchaToken } from '@flotilla/protocol/browser-service-api'
import { describe, expect, test } from 'vitest'
import { createSecret } from '../../../egress/src/credentials/index.ts'
import type { SolveCaptcha, SolverCall } from './captcha-solver.ts'

export const goodKey = 'good-key-0123456789'
export const badKey = 'bad-key-0123456789'

const task = {
  kind: 'hcaptcha',
  siteKey: '10000000-ffff-ffff-ffff-000000000001',
  pageUrl: 'https://shop.example/a',
} as const

/** The properties of a solver that the mesh relies on: `goodKey` has a balance, `badKey` is unknown. */
export function captchaSolverConformance(name: string, make: () => SolveCaptcha): void {
  const ask = (key: string, more: Partial<SolverCall> = {}) =>
    make()(task, {
      url: 'https://solver.example',
      key: createSecret('captcha_solver_key', key),
      proxy: null,
      signal: new AbortController().signal,
      ...more,
    })

  describe(`${name} answers CAPTCHAs`, () => {
    test(`${name} answers CAPTCHAs with a token that is bounded`, async () => {
      const answer = await ask(goodKey)
      expect(answer.kind === 'solved' && captchaToken.test(answer.token)).toBe(true)
    })

    test(`${name} answers CAPTCHAs and refuses a key that it does not know, in words without it`, async () => {
      const answer = await ask(badKey)
      expect(answer).toEqual({ kind: 'refused', why: 'the solver reported ERROR_KEY_DOES_NOT_EXIST' })
    })

    test(`${name} answers CAPTCHAs until the mesh ends, and does not reject even then`, async () => {
      const answer = await ask(goodKey, { signal: AbortSignal.abort() })
      expect(answer.kind).not.toBe('solved')
    })
  })
}
