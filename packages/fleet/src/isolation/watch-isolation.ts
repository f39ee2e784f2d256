import type { IsolationRung } from '@flotilla/protocol/isolation'
import type { Clock } from '@flotilla/protocol/clock'
import { Problem } from '@flotilla/protocol/problem'
import type { Caller, Guard } from '@flotilla/identity/access'
import type { EventBus } from '@flotilla/foundation/events'
import type { Journal } from '@flotilla/foundation/journal'
import type { Log } from '@flotilla/foundation/platform'
import type { SandboxRuntime, WallReport } from '../sandbox/index.ts'
import { createPlacing } from './place-agents.ts'
import type { Placing } from './place-agents.ts'

/** Interval between two checks while every check passes, milliseconds. */
const checkIntervalMs = 10 * 60 * 1000

/** Interval between checks after a failure, milliseconds; short, so that the fleet resumes soon after a repair. */
const brokenCheckIntervalMs = 30 * 1000

const triedAgain = 'the container engine did not answer; the isolation checks run again now'

export interface IsolationDeps {
  readonly runtime: Pick<SandboxRuntime, 'checkIsolation' | 'isolates' | 'onEngineBack' | 'tryRung'>
  /** The isolation level that a start option of the mesh requires for every agent; null for none. */
  readonly atLeast: IsolationRung | null
  /** The port of the agent API, known once it listens. */
  readonly agentPort: () => number
  readonly guard: Guard
  readonly clock: Clock
  readonly events: EventBus
  readonly journal: Journal
  readonly log: Log
}

export interface IsolationState {
  /** When the isolation was last checked; null before the first check. */
  readonly checkedAt: number | null
  readonly checks: readonly WallReport[]
  /** The reason why agents may not run, as text; null if they may. */
  readonly broken: string | null
}

export interface Isolation extends Pick<Placing, 'place' | 'adopted' | 'lacking' | 'doubt'> {
  /** The isolation level that a start option of the mesh requires for every agent. */
  readonly atLeast: IsolationRung
  /** The isolation levels and whether each is available, weakest first. */
  readonly rungs: Placing['views']
  state(): IsolationState
  /** Returns the state for callers that may view the fleet. Problem `denied`. */
  view(caller: Caller): IsolationState
  /** Checks now; concurrent callers share one check. */
  check(signal?: AbortSignal): Promise<IsolationState>
  /** Checks as `check` does, for callers that may manage the fleet. Problem `denied`. */
  checkAgain(caller: Caller): Promise<IsolationState>
  /** Checks now. Throws the Problem `fleet-paused` with the failed checks. */
  require(signal: AbortSignal): Promise<void>
  /** Checks periodically, and whenever the engine is reachable again, until the signal aborts. */
  watch(signal: AbortSignal): Promise<void>
}

/**
 * Maintains the verdict of the isolation checks. Agents run only while every check passed the last time; before the
 * first check none runs. A runtime without isolation has no checks and reports that on every surface.
 */
export function createIsolation(deps: IsolationDeps): Isolation {
  let state: IsolationState = { checkedAt: null, checks: [], broken: 'the isolation checks have not run yet' }
  let underWay: Promise<IsolationState> | null = null
  /** How often the engine was reachable again after a failure. A check that began before the last time is void. */
  let returns = 0
  const placing = createPlacing({ ...deps, wallsOf })

  async function runChecks(signal?: AbortSignal): Promise<IsolationState> {
    const began = returns
    const checks: WallReport[] = []
    for (const rung of ['container', ...placing.inUse()] as const) {
      checks.push(...(await wallsOf(rung, signal)))
    }
    announce(checks)
    const failed = checks.filter((check) => !check.holds)
    const broken = failed.length === 0 ? null : failed.map(({ id, detail }) => `${id}: ${detail}`).join('; ')
    state = {
      checkedAt: deps.clock.now(),
      checks,
      broken: began === returns ? broken : (broken ?? triedAgain),
    }
    return state
  }

  /** Tests the isolation from inside a sandbox at this level. Never rejects: a failed probe is a failed wall. */
  async function wallsOf(rung: IsolationRung, signal?: AbortSignal): Promise<readonly WallReport[]> {
    const named = (id: string) => (rung === 'container' ? id : `${rung}-${id}`)
    try {
      const walls = await deps.runtime.checkIsolation({
        meshPort: deps.agentPort(),
        rung,
        ...(signal ? { signal } : {}),
      })
      return walls.map((wall) => ({ ...wall, id: named(wall.id) }))
    } catch (error) {
      const detail = error instanceof Error ? error.message : 'the probe container failed'
      return [{ id: named('probe-ran'), holds: false, detail }]
    }
  }

  function announce(checks: readonly WallReport[]): void {
    const failed = checks.filter((check) => !check.holds)
    for (const { id, detail } of failed) {
      deps.log.error({ wallId: id, detail }, 'an isolation check failed; no agent runs until it passes')
      deps.events.publish({ type: 'wall.failed', wall_id: id, detail })
    }
    deps.journal.append({
      actor: 'system',
      action: 'walls.verified',
      subject: 'fleet',
      detail: {
        held: checks.filter((check) => check.holds).map(({ id }) => id),
        failed: failed.map(({ id }) => id),
      },
    })
  }

  function check(signal?: AbortSignal): Promise<IsolationState> {
    underWay ??= runChecks(signal).finally(() => {
      underWay = null
    })
    return underWay
  }

  /**
   * An engine that was unreachable may have re-created its networks and rules: no isolation is trusted until a check.
   */
  async function doubt(signal: AbortSignal): Promise<void> {
    returns++
    placing.forget()
    state = { ...state, broken: triedAgain }
    deps.log.info({}, 'the container engine is back; isolation is checked again before any agent runs')
    await underWay?.catch(() => undefined)
    if (!signal.aborted) await check(signal)
  }

  return {
    atLeast: deps.atLeast ?? 'container',
    place: placing.place,
    adopted: placing.adopted,
    lacking: placing.lacking,
    doubt: placing.doubt,
    rungs: placing.views,
    state: () => state,
    view: (caller) => {
      deps.guard(caller, { do: 'view-fleet' })
      return state
    },
    check,
    checkAgain: async (caller) => {
      deps.guard(caller, { do: 'manage-fleet' })
      await placing.retry()
      return check()
    },
    require: async (signal) => {
      const { broken } = await check(signal)
      if (broken !== null) throw new Problem('fleet-paused', { detail: broken })
    },
    watch: async (signal) => {
      const unsubscribe = deps.runtime.onEngineBack(() => void doubt(signal))
      while (!signal.aborted) {
        const pauseMs = state.broken === null ? checkIntervalMs : brokenCheckIntervalMs
        await deps.clock.sleep(pauseMs, signal).catch(() => {})
        if (!signal.aborted) await check(signal)
      }
      unsubscribe()
    },
  }
}
