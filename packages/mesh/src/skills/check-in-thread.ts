import { Worker } from 'node:worker_threads'
import { Problem } from '@flotilla/protocol/problem'
import { createFairShare } from '../intake/fair-share.ts'
import type { SkillVerdict } from './check-skill.ts'

export type CheckSource = (agentId: string, source: string) => Promise<SkillVerdict>

/** Checks that wait or run; an agent asks for one after the other, and for more only when it was taken over. */
const places = { max: 20, perAgentMax: 4, floor: 1, reserveMax: 10 }
const retryAfterSeconds = 5
/** A check takes milliseconds; a thread that needs longer than this, milliseconds, has met a source made to hold it. */
const checkMaxMs = 20_000
/** Heap of a thread, MB: a source has ten thousand characters. */
const heapMaxMb = 128

/**
 * Checks each source in a thread of its own, one after the other, an agent in its turn. What takes the types out is one
 * program for the whole thread, and a source that is nested deep enough breaks it for good: in the mesh's own thread one
 * agent's source would be the end of every skill, and of every part of the mesh that is loaded later. Problem
 * `rate-limited` when too many wait.
 */
export function createCheckInThread(): CheckSource {
  const share = createFairShare(places)
  /** What agents wait for; the first of them is the next. */
  const turns = new Map<string, (() => Promise<void>)[]>()
  let running = false

  async function runAll(): Promise<void> {
    if (running) return
    running = true
    for (let [next] = turns; next !== undefined; [next] = turns) {
      const [agentId, own] = next
      await own.shift()?.()
      turns.delete(agentId)
      if (own.length > 0) turns.set(agentId, own)
    }
    running = false
  }

  return async (agentId, source) => {
    const full = share.take(agentId, 1)
    if (full !== null) {
      const whose = full === 'agent' ? 'of this agent' : 'of all agents'
      throw new Problem('rate-limited', {
        detail: `too many skills ${whose} wait to be checked`,
        retryAfterSeconds,
      })
    }
    const { promise, resolve } = Promise.withResolvers<SkillVerdict>()
    const turn = async () => resolve(await checkOnce(source))
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

/** Always resolves: a thread that dies or hangs has met a source that cannot be read. */
async function checkOnce(source: string): Promise<SkillVerdict> {
  const worker = new Worker(new URL('./check-worker.ts', import.meta.url), {
    workerData: source,
    resourceLimits: { maxOldGenerationSizeMb: heapMaxMb },
  })
  const answer = Promise.withResolvers<SkillVerdict>()
  const limit = AbortSignal.timeout(checkMaxMs)
  const giveUp = () => answer.resolve(unreadable)
  limit.addEventListener('abort', giveUp, { once: true })
  worker.once('message', (verdict: SkillVerdict) => answer.resolve(verdict))
  worker.once('error', giveUp)
  worker.once('exit', giveUp)
  try {
    return await answer.promise
  } finally {
    limit.removeEventListener('abort', giveUp)
    await worker.terminate()
  }
}

const unreadable: SkillVerdict = {
  ok: false,
  faults: [
    {
      line: 1,
      column: 1,
      rule: 'syntax',
      message: 'it cannot be read; write it with less nesting',
    },
  ],
}
