import type { CaptchaSettings } from '@flotilla/foundation/config'
import type { UnknownCost } from '@flotilla/inference/spending'
import type { CaptchaTask, SolveCaptcha, SolverAnswer } from './captcha-solver.ts'
import type { SolverKeys } from './solver-keys.ts'

export interface TriedKeys {
  /** The answer for the last key that was tried. */
  readonly answer: SolverAnswer
  readonly key: 'primary' | 'secondary'
  /** The cost of all calls. */
  readonly costNano: number
  /** Why `costNano` contains a reservation instead of a reported cost; null if the solver reported every cost. */
  readonly unconfirmed: UnknownCost | null
}

/** Tries the primary key once, and if that fails the secondary key once. Returns the last answer and all costs. */
export async function tryKeys(
  solve: SolveCaptcha,
  request: {
    readonly task: CaptchaTask
    readonly keys: SolverKeys
    readonly settings: CaptchaSettings
    /** The reservation for each call. */
    readonly eachNano: number
    readonly signal: AbortSignal
  },
): Promise<TriedKeys> {
  const { task, keys, settings, eachNano, signal } = request
  const proxy =
    settings.proxy === undefined
      ? null
      : { ...settings.proxy, login: keys.proxyLogin, password: keys.proxyPassword }
  const ask = (url: string, key: SolverKeys['primary']) => solve(task, { url, key, proxy, signal })
  const first = await ask(settings.solver_url, keys.primary)
  const costs = [costOf(first, eachNano, signal)]
  const isOver = first.kind === 'solved' || keys.secondary === null || signal.aborted
  if (isOver) return { answer: first, key: 'primary', ...sumOf(costs) }
  const second = await ask(settings.secondary_solver_url ?? settings.solver_url, keys.secondary)
  costs.push(costOf(second, eachNano, signal))
  return { answer: second, key: 'secondary', ...sumOf(costs) }
}

type Cost = Pick<TriedKeys, 'costNano' | 'unconfirmed'>

function costOf(answer: SolverAnswer, eachNano: number, signal: AbortSignal): Cost {
  switch (answer.kind) {
    case 'refused':
      return { costNano: 0, unconfirmed: null }
    case 'lost':
      return { costNano: eachNano, unconfirmed: signal.aborted ? 'mesh-stopped' : 'broken-off' }
    case 'solved':
      return answer.costNano === null
        ? { costNano: eachNano, unconfirmed: 'no-usage' }
        : { costNano: answer.costNano, unconfirmed: null }
  }
}

function sumOf(costs: readonly Cost[]): Cost {
  return {
    costNano: costs.reduce((sum, { costNano }) => sum + costNano, 0),
    unconfirmed: costs.find(({ unconfirmed }) => unconfirmed !== null)?.unconfirmed ?? null,
  }
}
