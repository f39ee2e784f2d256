import type { SolveCaptcha, SolverAnswer } from '../../browsing/src/captcha/captcha-solver.ts'

/** ADAPTER of `captcha-solver.ts` in memory: answers in turn, by key. */
export function fakeCaptchaSolver(answers: Readonly<Record<string, SolverAnswer>>): {
  readonly solve: SolveCaptcha
  readonly asked: { readonly url: string; readonly key: string }[]
} {
  const asked: { url: string; key: string }[] = []
  return {
    asked,
    solve: async (_task, { url, key, signal }) => {
      asked.push({ url, key: key.reveal() })
      if (signal.aborted) return { kind: 'lost', why: 'the mesh stopped' }
      return answers[key.reveal()] ?? { kind: 'refused', why: 'the solver reported ERROR_KEY_DOES_NOT_EXIST' }
    },
  }
}
