import { Problem } from '@flotilla/protocol/problem'
import { createFairShare } from '@flotilla/foundation/intake'
import type { SkillVerdict } from './check-skill.ts'
import { startCheckThread } from './check-thread.ts'
import type { CheckThread } from './check-thread.ts'

export type CheckSource = (agentId: string, source: string) => Promise<SkillVerdict>

/** Checks that wait or run. An agent requests one at a time; a second one is a repeated request. */
const places = { max: 200, perAgentMax: 2, floor: 1, reserveMax: 100 }
/** When a caller may retry if too many checks of skills wait, in seconds. */
const retryAfterSeconds = 5
/** A thread that was unused for this many milliseconds is ended. */
const idleMaxMs = 5_000

/**
 * Checks each source in another thread, one after the other, taking turns among agents. One program strips the types
 * for the whole thread, and a deeply nested source breaks it permanently. In the mesh's own thread, one agent's
 * source would stop all skills, and every part of the mesh that is loaded later. A thread gets the next source only
 * if it could parse the last one. Problem `rate-limited` if too many wait. Rejects if no thread can be started; the
 * next check tries again.
 */
export function createCheckInThread(start: () => Promise<CheckThread> = startCheckThread): CheckSource {
  const share = createFairShare(places)
  /** The waiting checks of each agent; the agent that comes first is served next. */
  const turns = new Map<string, (() => Promise<void>)[]>()
  let running = false
  let thread: CheckThread | null = null
  let idle: NodeJS.Timeout | undefined

  async function endThread(): Promise<void> {
    const ending = thread
    thread = null
    await ending?.end()
  }

  async function checkOne(source: string): Promise<SkillVerdict> {
    let verdict: SkillVerdict | null = null
    let isFit = false
    try {
      thread ??= await start()
      verdict = await thread.check(source)
      isFit = verdict !== null && (verdict.ok || verdict.faults.every(({ rule }) => rule !== 'syntax'))
    } finally {
      if (!isFit) await endThread()
    }
    return verdict ?? unreadable
  }

  async function runAll(): Promise<void> {
    if (running) return
    running = true
    clearTimeout(idle)
    for (let [next] = turns; next !== undefined; [next] = turns) {
      const [agentId, own] = next
      await own.shift()?.()
      turns.delete(agentId)
      if (own.length > 0) turns.set(agentId, own)
    }
    running = false
    idle = setTimeout(() => void endThread(), idleMaxMs).unref()
  }

  return async (agentId, source) => {
    const full = share.take(agentId, 1)
    if (full !== null) {
      const whose = full === 'agent' ? 'of this agent' : 'of all agents'
      const detail = `too many skills ${whose} are waiting for their check`
      throw new Problem('rate-limited', { detail, retryAfterSeconds })
    }
    const { promise, resolve, reject } = Promise.withResolvers<SkillVerdict>()
    const turn = () => checkOne(source).then(resolve, reject)
    const own = turns.get(agentId)
    if (own === undefined) turns.set(agentId, [turn])
    else own.push(turn)
    void runAll()
    try {
      return await promise
    } finally {
      share.giveBack(agentId, 1)
    }
  }
}

const unreadable: SkillVerdict = {
  ok: false,
  faults: [
    {
      line: 1,
      column: 1,
      rule: 'syntax',
      message: 'the source takes too long to parse; write it with less nesting',
    },
  ],
}
