import { Problem } from '@flotilla/protocol/problem'
import { createFairShare } from '../intake/index.ts'
import type { SkillVerdict } from './check-skill.ts'
import { startCheckThread } from './check-thread.ts'
import type { CheckThread } from './check-thread.ts'

export type CheckSource = (agentId: string, source: string) => Promise<SkillVerdict>

/** Checks that wait or run. An agent asks for one after the other; a second one is what it asked again. */
const places = { max: 200, perAgentMax: 2, floor: 1, reserveMax: 100 }
const retryAfterSeconds = 5
/** A thread that was unused for this many milliseconds is ended. */
const idleMaxMs = 5_000

/**
 * Checks each source in another thread, one after the other, an agent in its turn. What takes the types out is one
 * program for the whole thread, and a source that is nested deep enough breaks it for good: in the mesh's own thread one
 * agent's source would be the end of every skill, and of every part of the mesh that is loaded later. A thread goes on
 * to the next source only if it could read the last one. Problem `rate-limited` when too many wait; rejects, and checks
 * the next one as ever, where no thread can be had.
 */
export function createCheckInThread(start: () => Promise<CheckThread> = startCheckThread): CheckSource {
  const share = createFairShare(places)
  /** What agents wait for; the first of them is the next. */
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
      const detail = `too many skills ${whose} wait to be checked`
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
      message: 'it takes too long to be read; write it with less nesting',
    },
  ],
}
