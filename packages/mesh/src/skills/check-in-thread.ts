import { Worker } from 'node:worker_threads'
import { Problem } from '@flotilla/protocol/problem'
import type { SkillVerdict } from './check-skill.ts'

export type CheckSource = (source: string) => Promise<SkillVerdict>

/** Checks that wait for the one that runs, of all agents together. */
const waitingMax = 20
const retryAfterSeconds = 5
/** A check takes milliseconds; a thread that needs longer than this, milliseconds, has met a source made to hold it. */
const checkMaxMs = 20_000
/** Heap of a thread, MB: a source has ten thousand characters. */
const heapMaxMb = 128

/**
 * Checks each source in a thread of its own, one after the other. What takes the types out is one program for the whole
 * thread, and a source that is nested deep enough breaks it for good: in the mesh's own thread one agent's source would
 * be the end of every skill, and of every part of the mesh that is loaded later. Problem `rate-limited` when too many
 * wait.
 */
export function createCheckInThread(): CheckSource {
  let last: Promise<unknown> = Promise.resolve()
  let waiting = 0
  return async (source) => {
    if (waiting >= waitingMax) {
      throw new Problem('rate-limited', {
        detail: `${waitingMax} skills wait to be checked already`,
        retryAfterSeconds,
      })
    }
    waiting += 1
    const mine = last.then(() => checkOnce(source))
    last = mine
    try {
      return await mine
    } finally {
      waiting -= 1
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
