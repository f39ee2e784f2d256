import { rootOf } from '@flotilla/identity/events'
import type { Captcha } from '@flotilla/protocol/browser-service-api'
import { Problem } from '@flotilla/protocol/problem'
import type { RunTicket } from '@flotilla/identity/access'
import type { CaptchaSettings } from '@flotilla/foundation/config'
import { listNamesHost } from '@flotilla/egress/egress'
import { nanoFromUsd, usdFromNano, utcDay } from '@flotilla/inference/spending'
import type { Reservation, Spending } from '@flotilla/inference/spending'
import type { BrowserService } from '../browser-service.ts'
import type { HandOver } from '../hand-over-table.ts'
import { solverName } from '../hand-overs.ts'
import type { HandOvers } from '../hand-overs.ts'
import type { ShownPage } from '../shown-page.ts'
import type { CaptchaTask, SolveCaptcha } from './captcha-solver.ts'
import type { SolverKeys } from './solver-keys.ts'
import { beginSolve, endSolve, restsUntil } from './solver-state.ts'
import type { SolverStateTable } from './solver-state-table.ts'
import { tryKeys } from './try-keys.ts'
import { solverLimits } from './solver-limits.ts'
import type { WorkKernel } from '@flotilla/work/events'

/** The time limit for inserting a solution of a CAPTCHA into the page, in milliseconds. */
const putInWithinMs = 15_000

export interface AskedCaptcha {
  readonly agentId: string
  readonly run: RunTicket | null
  readonly captcha: NonNullable<Captcha>
  readonly page: ShownPage
}

/**
 * Paid answers to CAPTCHAs, if the owner has configured them.
 *
 * 1. Before a request is sent, its cost is reserved, it counts towards the limits of all agents, and it is in the
 *    audit log.
 * 2. Meanwhile the browser is handed over as to a person, and the run waits parked.
 * 3. A failure ends where a run without a solver begins: a person is asked.
 * 4. Keys are sent only to the solver. Only the answer is inserted into the page, and only if the page still shows
 *    the same CAPTCHA.
 */
export interface AnswerCaptchas {
  /** Starts an answer by the solver; null if a person must answer, whom the caller then has to notify. */
  begin(request: AskedCaptcha): Promise<HandOver | null>
  /** Returns the latest end of an agent's cooldown; null if no agent is in a cooldown. */
  restsUntil(): number | null
  counts(): Readonly<Record<'solved' | 'failed' | 'left', number>>
  /** Resolves after the abort signal, once calls in progress have recorded their cost. */
  settled(): Promise<void>
}

export interface AnswerCaptchasDeps extends Pick<
  WorkKernel,
  'database' | 'journal' | 'clock' | 'log' | 'identityEvents'
> {
  /** The keys of the solver; null if none is configured. */
  readonly keys: SolverKeys | null
  readonly solve: SolveCaptcha
  readonly captchaSettings: () => CaptchaSettings
  readonly state: SolverStateTable
  readonly spending: Pick<Spending, 'reserve' | 'settle' | 'refund'>
  readonly handOvers: Pick<HandOvers, 'of' | 'beginSolving' | 'askAfterAll' | 'wait'>
  readonly serviceOf: (agentId: string) => Pick<BrowserService, 'answerCaptcha'> | null
  /** Ends the hand-over and records the page that the browser shows then. */
  readonly giveBack: (handOver: HandOver) => Promise<void>
  readonly tellOwner: (notice: { readonly agentId: string; readonly message: string }) => void
  readonly stopped: AbortSignal
}

interface Work {
  readonly keys: SolverKeys
  readonly task: CaptchaTask
  readonly host: string
  readonly handOver: HandOver
  readonly reservation: Reservation
  readonly mostNano: number
  readonly day: string
}

export function createAnswerCaptchas(deps: AnswerCaptchasDeps): AnswerCaptchas {
  const { database, journal, clock, spending, handOvers, state, stopped } = deps
  const counts = { solved: 0, failed: 0, left: 0 }
  // Calls in progress. Each browser has at most one, which also bounds their total.
  const underWay = new Set<Promise<void>>()

  function leave({ agentId, captcha }: AskedCaptcha, why: string): null {
    counts.left += 1
    const { kind, host } = captcha
    journal.append({
      actor: `agent:${agentId}`,
      action: 'captcha.left',
      subject: host,
      detail: { kind, why },
    })
    return null
  }

  const isOurs = ({ id, agentId }: HandOver): boolean => {
    const open = handOvers.of(agentId)
    return open?.id === id && open.takenBy === solverName
  }

  async function work(of: Work): Promise<void> {
    const { handOver, task, host, reservation, mostNano } = of
    const { agentId } = handOver
    const tried = await tryKeys(deps.solve, {
      ...of,
      settings: deps.captchaSettings(),
      eachNano: mostNano / (of.keys.secondary === null ? 1 : 2),
      signal: stopped,
    })
    const { answer, costNano, unconfirmed } = tried
    if (costNano === 0) spending.refund(reservation)
    else {
      spending.settle(reservation, {
        costNano,
        promptTokens: 0,
        completionTokens: 0,
        ...(unconfirmed === null ? {} : { unconfirmed }),
      })
    }
    // When the mesh stops, the daily limit keeps the whole reservation, and the next start ends the hand-over.
    if (stopped.aborted) return
    const isSolved = answer.kind === 'solved'
    const isAnswered = isSolved && isOurs(handOver) && (await putIn(of, answer.token))
    counts[isSolved ? 'solved' : 'failed'] += 1
    database.transaction(() => {
      const ended = endSolve(state.read(), clock.now(), {
        day: of.day,
        agentId: rootOf(deps.identityEvents, agentId),
        mostNano,
        costNano,
        isSolved,
      })
      state.write(ended.state)
      const detail = { hand_over: handOver.id, kind: task.kind, cost_usd: usdFromNano(costNano) }
      journal.append({
        actor: 'system',
        action: isSolved ? 'captcha.solved' : 'captcha.failed',
        subject: host,
        detail: isSolved
          ? { ...detail, key: tried.key, answered: isAnswered }
          : { ...detail, why: answer.why },
      })
      if (ended.rests && !isSolved) {
        const minutes = solverLimits.restMs / 60_000
        deps.tellOwner({
          agentId,
          message: `For ${minutes} minutes people must solve the CAPTCHAs of ${agentId}: the solver failed ${solverLimits.failuresMax} times in a row. The last failure: ${answer.why}.\nCheck the account of the solver and browser.captcha in config/settings.json. After ${minutes} minutes the mesh uses the solver for ${agentId} again.`,
        })
      }
    })
    if (!isOurs(handOver)) return
    if (isAnswered) await deps.giveBack(handOver)
    else handOvers.askAfterAll(handOver)
  }

  async function putIn({ handOver, task, host }: Work, token: string): Promise<boolean> {
    const service = deps.serviceOf(handOver.agentId)
    if (service === null) return false
    const signal = AbortSignal.any([stopped, AbortSignal.timeout(putInWithinMs)])
    const answer = { kind: task.kind, host, site_key: task.siteKey, token }
    return service.answerCaptcha(answer, signal).catch(() => false)
  }

  function start(of: Work): void {
    const working = work(of)
      .catch((err: unknown) => {
        deps.log.error({ err, agentId: of.handOver.agentId }, 'failed to solve a CAPTCHA; a person is asked')
        if (!stopped.aborted && isOurs(of.handOver)) handOvers.askAfterAll(of.handOver)
      })
      .finally(() => underWay.delete(working))
    underWay.add(working)
  }

  return {
    begin: async (request) => {
      const { agentId, run, captcha, page } = request
      const { keys } = deps
      if (keys === null || run === null) return null
      const task = taskOf(captcha, page)
      if (task === null) return leave(request, 'the solver cannot solve this kind of CAPTCHA')
      const settings = deps.captchaSettings()
      if (listNamesHost(settings.never_solve, captcha.host))
        return leave(request, 'browser.captcha.never_solve in config/settings.json lists this host')
      const mostNano = nanoFromUsd(settings.answer_usd) * (keys.secondary === null ? 1 : 2)
      const caps = { mostNano, perHour: settings.per_hour, dailyNano: nanoFromUsd(settings.daily_usd) }
      const now = clock.now()
      const day = utcDay(now)
      const asking = { now, day, agentId: rootOf(deps.identityEvents, agentId) }
      const early = beginSolve(state.read(), asking, caps)
      if (typeof early === 'string') return leave(request, early)
      const reservation = await spending
        .reserve({
          agentId,
          run,
          model: 'captcha-solver',
          promptTokens: 0,
          promptNano: mostNano,
          outputNanoPerToken: 0,
          answers: 1,
          maxTokens: 1,
        })
        .catch((error: unknown) => {
          if (error instanceof Problem) return error
          throw error
        })
      if (reservation instanceof Problem) return leave(request, reservation.code)
      const begun = database.transaction(() => {
        const next = beginSolve(state.read(), asking, caps)
        if (typeof next === 'string') return next
        const handOver = handOvers.beginSolving(agentId, page)
        if (handOver === null) return 'a person is solving the CAPTCHA'
        handOvers.wait(handOver, run.runId)
        state.write(next)
        journal.append({
          actor: `agent:${agentId}`,
          action: 'captcha.asked',
          subject: captcha.host,
          detail: { hand_over: handOver.id, kind: task.kind, most_usd: usdFromNano(mostNano) },
        })
        return handOver
      })
      if (typeof begun === 'string') {
        spending.refund(reservation)
        return leave(request, begun)
      }
      start({ keys, task, host: captcha.host, handOver: begun, reservation, mostNano, day })
      return begun
    },
    restsUntil: () => restsUntil(state.read(), clock.now()),
    counts: () => ({ ...counts }),
    settled: async () => void (await Promise.allSettled(underWay)),
  }
}

/** Returns the task for the solver; null for a CAPTCHA that only a person can answer. Pure. */
function taskOf(
  { kind, host, site_key: siteKey }: NonNullable<Captcha>,
  page: ShownPage,
): CaptchaTask | null {
  if (kind === 'generic' || siteKey === null || !URL.canParse(page.url)) return null
  const { protocol, hostname, origin, pathname } = new URL(page.url)
  if (!/^https?:$/.test(protocol) || hostname !== host) return null
  return { kind, siteKey, pageUrl: `${origin}${pathname}` }
}
