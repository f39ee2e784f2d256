import { isolationRungs } from '@flotilla/protocol/isolation'
import type { IsolationRung, IsolationWish, RungView } from '@flotilla/protocol/isolation'
import { Problem } from '@flotilla/protocol/problem'
import type { Log } from '@flotilla/foundation/platform'
import type { SandboxRuntime, WallReport } from '../sandbox/index.ts'

/** Where an agent runs. */
export interface Placement {
  readonly rung: IsolationRung
  /** The reason why an agent runs at a fallback and not at the requested level; null if it gets that level. */
  readonly fallback: string | null
}

export interface Placing {
  /**
   * Chooses the isolation level for this wish. At the first request, a test shows whether the level works and
   * isolates. Problem `isolation-unavailable` if no level at or above the required one is available.
   */
  place(wish: IsolationWish): Promise<Placement>
  /** Returns the known reason why an agent with this wish could not be started; null if none is known. */
  lacking(wish: IsolationWish): string | null
  /** Registers an adopted agent's level, so that its isolation is monitored. */
  adopted(rung: IsolationRung): void
  views(): readonly RungView[]
  /** Returns the levels besides containers on which agents may run now. */
  inUse(): readonly IsolationRung[]
  /** Reports a failed start on the level, so that the level is tested again before the next start. */
  doubt(rung: IsolationRung): void
  /** Tests again the levels that were not available. */
  retry(): Promise<void>
  /** Discards all results, so that each level is tested again when it is next requested. */
  forget(): void
}

/** The maximum length of the reason for a fallback, which people read, characters. */
const reasonMaxChars = 400

export function createPlacing(deps: {
  readonly runtime: Pick<SandboxRuntime, 'isolates' | 'tryRung'>
  readonly wallsOf: (rung: IsolationRung) => Promise<readonly WallReport[]>
  readonly log: Log
}): Placing {
  const trials = new Map<IsolationRung, Promise<RungView>>()
  const known = new Map<IsolationRung, RungView>()

  function tried(rung: IsolationRung): Promise<RungView> {
    const before = trials.get(rung)
    if (before) return before
    const trial = tryWithWalls(rung).then((view) => {
      // If the results were discarded while this trial ran, its result is ignored.
      if (trials.get(rung) === trial) known.set(rung, view)
      return view
    })
    trials.set(rung, trial)
    return trial
  }

  async function tryWithWalls(rung: IsolationRung): Promise<RungView> {
    const view = await tryOnce(rung)
    const { detail, repair } = view
    if (view.available) deps.log.info({ rung, detail }, 'this isolation level is available')
    else
      deps.log.warn(
        { rung, detail, repair },
        'an isolation level is unavailable; agents that prefer it use a weaker one',
      )
    return view
  }

  async function tryOnce(rung: IsolationRung): Promise<RungView> {
    try {
      const trial = await deps.runtime.tryRung(rung)
      if (!trial.available) return { rung, ...trial }
      const fallen = (await deps.wallsOf(rung)).filter(({ holds }) => !holds)
      if (fallen.length === 0) return { rung, ...trial }
      const detail = fallen.map((wall) => `${wall.id}: ${wall.detail}`).join('; ')
      return { rung, available: false, detail, repair: wallsRepair }
    } catch (error) {
      const detail = error instanceof Error ? error.message : 'the test of this isolation level failed'
      return { rung, available: false, detail, repair: wallsRepair }
    }
  }

  return {
    async place({ wanted, floor }) {
      if (!deps.runtime.isolates) {
        if (floor === 'container') return { rung: 'container', fallback: null }
        throw unavailable(floor, 'agents run as plain processes', 'Start the mesh without --runtime process.')
      }
      let reason = ''
      for (const rung of new Set([wanted, floor])) {
        // Containers depend on the isolation check of the whole fleet: if it fails, no agent is started.
        if (rung === 'container') return { rung, fallback: rung === wanted ? null : reason }
        const { available, detail, repair } = await tried(rung)
        if (available === true) return { rung, fallback: rung === wanted ? null : reason }
        if (rung === floor) throw unavailable(rung, detail, repair)
        reason = `${rung} is not available: ${detail}`.slice(0, reasonMaxChars)
      }
      throw new TypeError('a floor is an isolation level')
    },
    lacking: ({ floor }) => {
      const view = known.get(floor)
      return view?.available === false ? lackingWords(view) : null
    },
    adopted: (rung) => {
      if (rung === 'container' || trials.has(rung)) return
      const view = {
        rung,
        available: true,
        detail: 'running agents of the previous process use this level',
        repair: '',
      }
      trials.set(rung, Promise.resolve(view))
      known.set(rung, view)
    },
    views: () =>
      isolationRungs.map(
        (rung) =>
          known.get(rung) ?? {
            rung,
            available: rung === 'container' && deps.runtime.isolates ? true : null,
            detail: rung === 'container' ? '' : 'this isolation level was not tested yet',
            repair: '',
          },
      ),
    inUse: () => [...known.values()].filter(({ available }) => available).map(({ rung }) => rung),
    doubt: (rung) => {
      trials.delete(rung)
      known.delete(rung)
    },
    retry: async () => {
      const failed = [...known.values()].filter(({ available }) => available === false)
      for (const { rung } of failed) trials.delete(rung)
      await Promise.all(failed.map(({ rung }) => tried(rung)))
    },
    forget: () => {
      trials.clear()
      known.clear()
    },
  }
}

const wallsRepair = 'Run flotilla doctor, which tests this isolation level again and names what is missing.'

function lackingWords({ rung, detail }: Pick<RungView, 'rung' | 'detail'>): string {
  return `${rung} is required and not available: ${detail}`.slice(0, reasonMaxChars)
}

function unavailable(rung: IsolationRung, detail: string, repair: string): Problem {
  return new Problem('isolation-unavailable', {
    detail: lackingWords({ rung, detail }),
    repair: `${repair} After that, run flotilla doctor, which tests the level again. Or require a lower level: isolation in config/settings.json, or flotilla permissions set AGENT required_isolation=container.`,
  })
}
