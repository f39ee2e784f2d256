import { Problem } from '@flotilla/protocol/problem'
import type { LiveStore } from './live-store.ts'

/** How long the event stream may be broken before the page calls the mesh to check it, in milliseconds. */
const firstAskAfterMs = 1000
/** The interval between two calls to a mesh that does not answer, in milliseconds. */
const askEveryMs = 3000

/**
 * Watches whether the mesh answers. A broken event stream alone does not prove that the mesh is down: a proxy may
 * block WebSockets.
 */
export interface MeshWatch {
  /** When the mesh stopped answering, in milliseconds since 1970; null while it answers. */
  goneSince(): number | null
  subscribe(listener: () => void): () => void
  /** Calls the mesh now instead of at the next interval. */
  askNow(): void
}

/** The statuses with which a proxy answers in place of a mesh that is down. */
const proxyStatuses: readonly unknown[] = [502, 503, 504]

/** Whether the mesh itself did not answer; its own refusals are problems with a code. */
function isGone(error: unknown): boolean {
  // Only the time limit of the call is no Problem.
  if (!(error instanceof Problem)) return true
  const { code, status } = error.extra
  return error.code === 'mesh-unreachable' || (code === undefined && proxyStatuses.includes(status))
}

export function createMeshWatch(deps: {
  readonly live: Pick<LiveStore, 'read' | 'subscribe'>
  /** A small call with a time limit; it rejects if the mesh does not answer. */
  readonly ask: () => Promise<unknown>
  /** Called when the mesh answers again. */
  readonly onBack: () => void
  readonly now: () => number
}): MeshWatch {
  const { live, ask, onBack, now } = deps
  const listeners = new Set<() => void>()
  let isBroken = false
  let answeredAt = 0
  let unreachableSince: number | null = null
  let timer: ReturnType<typeof setTimeout> | null = null
  let asking = false

  function set(next: number | null): void {
    if (next === unreachableSince) return
    const isBack = next === null
    unreachableSince = next
    for (const listener of listeners) listener()
    if (isBack) onBack()
  }

  function later(ms: number): void {
    if (timer !== null) clearTimeout(timer)
    timer = setTimeout(() => void look(), ms)
  }

  async function look(): Promise<void> {
    if (asking || !isBroken) return
    asking = true
    const answers = await ask().then(
      () => true,
      (error: unknown) => !isGone(error),
    )
    asking = false
    if (!isBroken) return
    if (answers) answeredAt = now()
    set(answers ? null : (unreachableSince ?? answeredAt))
    later(askEveryMs)
  }

  live.subscribe(() => {
    const { line } = live.read()
    if (line === 'broken' && !isBroken) {
      isBroken = true
      answeredAt = now()
      later(firstAskAfterMs)
    }
    if (line !== 'live') return
    isBroken = false
    if (timer !== null) clearTimeout(timer)
    set(null)
  })
  return {
    goneSince: () => unreachableSince,
    subscribe: (listener) => {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    askNow: () => void look(),
  }
}
