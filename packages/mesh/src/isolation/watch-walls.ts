import type { Clock } from '@flotilla/protocol/clock'
import type { EventBus } from '../events/event-bus.ts'
import type { Journal } from '../journal/journal.ts'
import type { Log } from '../platform/log.ts'
import type { SandboxRuntime, WallReport } from '../sandbox/sandbox-runtime.ts'

/** Between two looks at the walls while everything holds. */
const wallCheckIntervalMs = 10 * 60 * 1000

/** Between two looks while one does not hold, so that a mended wall soon lets the fleet go on. */
const brokenWallCheckIntervalMs = 30 * 1000

const triedAgain = 'the container engine was away; the walls are being tried again'

export interface WallWatchDeps {
  readonly runtime: Pick<SandboxRuntime, 'verifyWalls' | 'isolates' | 'onEngineBack'>
  /** Known once the agent door listens. */
  readonly doorPort: () => number
  readonly clock: Clock
  readonly events: EventBus
  readonly journal: Journal
  readonly log: Log
}

export interface WallState {
  /** Null before the first look. */
  readonly checkedAt: number | null
  readonly walls: readonly WallReport[]
  /** In words why agents may not run; null when they may. */
  readonly broken: string | null
}

/**
 * Keeps the verdict on the walls. Agents run only while every wall held at the last look; before the first look
 * none does. A runtime that does not isolate has no walls to look at and says so on every surface instead.
 */
export function createWallWatch(deps: WallWatchDeps) {
  let state: WallState = { checkedAt: null, walls: [], broken: 'the walls have not been tried yet' }
  let underWay: Promise<WallState> | null = null
  /** How often the engine came back. A look that began before the last time proves nothing. */
  let returns = 0

  async function look(signal?: AbortSignal): Promise<WallState> {
    const began = returns
    let walls: readonly WallReport[]
    try {
      walls = await deps.runtime.verifyWalls({ doorPort: deps.doorPort(), ...(signal ? { signal } : {}) })
    } catch (error) {
      const detail = error instanceof Error ? error.message : 'the probe failed'
      walls = [{ id: 'probe-ran', holds: false, detail }]
    }
    announce(walls)
    const failed = walls.filter((wall) => !wall.holds)
    const broken = failed.length === 0 ? null : failed.map((wall) => `${wall.id}: ${wall.detail}`).join('; ')
    state = {
      checkedAt: deps.clock.now(),
      walls,
      broken: began === returns ? broken : (broken ?? triedAgain),
    }
    return state
  }

  function announce(walls: readonly WallReport[]): void {
    for (const wall of walls.filter((one) => !one.holds)) {
      deps.log.error({ wallId: wall.id, detail: wall.detail }, 'a wall does not hold; agents are not run')
      deps.events.publish({ type: 'wall.failed', wall_id: wall.id, detail: wall.detail })
    }
    deps.journal.append({
      actor: 'system',
      action: 'walls.verified',
      subject: 'fleet',
      detail: {
        held: walls.filter((wall) => wall.holds).map((wall) => wall.id),
        failed: walls.filter((wall) => !wall.holds).map((wall) => wall.id),
      },
    })
  }

  function verify(signal?: AbortSignal): Promise<WallState> {
    underWay ??= look(signal).finally(() => {
      underWay = null
    })
    return underWay
  }

  /** An engine that was away may have made its networks and rules anew: until a fresh look, nothing is believed. */
  async function doubt(signal: AbortSignal): Promise<void> {
    returns++
    state = { ...state, broken: triedAgain }
    deps.log.info({}, 'the container engine is back; the walls are tried again')
    await underWay?.catch(() => undefined)
    if (!signal.aborted) await verify(signal)
  }

  return {
    /** Looks now; callers at the same time share one look. */
    verify,
    state: () => state,
    /** Looks again and again, and whenever the engine comes back, until the signal aborts. */
    async watch(signal: AbortSignal): Promise<void> {
      const stopHearing = deps.runtime.onEngineBack(() => void doubt(signal))
      while (!signal.aborted) {
        const pauseMs = state.broken === null ? wallCheckIntervalMs : brokenWallCheckIntervalMs
        await deps.clock.sleep(pauseMs, signal).catch(() => {})
        if (!signal.aborted) await verify(signal)
      }
      stopHearing()
    },
  }
}

export type WallWatch = ReturnType<typeof createWallWatch>
