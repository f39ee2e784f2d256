import { Problem } from '@flotilla/protocol/problem'
import { describe, expect, test } from 'vitest'
import { openDatabase } from '../storage/database.ts'
import { allMigrations } from '../storage/migrations/all-migrations.ts'
import { migrate } from '../storage/migrate.ts'
import { createEffectOnce } from './effect-once.ts'
import { aLedgerHarness } from '../../../testing/src/ledger-harness.ts'
import type { EffectCall, EffectOnce, OutsideLine } from './effect-once.ts'

function anEffect() {
  const database = openDatabase(':memory:')
  migrate(database, allMigrations)
  const clock = { now: () => 1000, sleep: async () => {} }
  return {
    database,
    effects: createEffectOnce({ database, clock }),
    again: () => createEffectOnce({ database, clock }),
  }
}

const call: EffectCall = { agentId: 'a', runId: 'run_1', key: 'run_1:3', request: { to: 'a' } }
const other: EffectCall = { ...call, request: { to: 'b' } }

/**
 * The four kinds of effects, for the tests of what they have in common. `work` runs at the point at which the
 * effect may leave the mesh.
 */
const ways = (['local', 'resumable', 'outside', 'repeatable'] as const).map((way) => ({
  way,
  once: async <T>(effects: EffectOnce, of: EffectCall, work: () => T): Promise<T> => {
    if (way === 'local') return effects.local(of, work)
    if (way === 'resumable') return effects.resumable<T>(of, async () => work())
    return effects[way](of, async ({ dispatching }) => {
      dispatching()
      return work()
    })
  },
}))

describe.each(ways)('a keyed call ($way)', ({ way, once }) => {
  test('a repeated call gets the first answer, also after a restart, and has no second effect', async () => {
    const { effects, again } = anEffect()
    let done = 0
    const work = () => ({ count: ++done })
    const answers = [await once(effects, call, work), await once(effects, call, work)]
    expect([...answers, await once(again(), call, work)]).toEqual([{ count: 1 }, { count: 1 }, { count: 1 }])
  })

  test('a key that was used for another request is a conflict, also while that request runs', async () => {
    const { effects } = anEffect()
    const first = once(effects, call, () => 1)
    const second = once(effects, other, () => 2)
    const ends = await Promise.allSettled([first, second, once(effects, other, () => 3)])
    expect(ends).toMatchObject([
      { value: 1 },
      { reason: { code: 'conflict' } },
      { reason: { code: 'conflict' } },
    ])
  })

  test('a call that was rejected before its effect can be sent again', async () => {
    const { effects, database } = anEffect()
    const refused = () => {
      throw new Problem('denied')
    }
    const sent =
      way === 'local' ? once(effects, call, refused) : effects[way]<number>(call, async () => refused())
    await expect(sent).rejects.toMatchObject({ code: 'denied' })
    expect(database.prepare('SELECT * FROM effect').all()).toEqual([])
    expect(await once(effects, call, () => 'now')).toBe('now')
  })
})

test.each(ways.filter(({ way }) => way !== 'local'))(
  'a repeat joins what is under way ($way)',
  async ({ once }) => {
    const { effects } = anEffect()
    let done = 0
    const many = Array.from({ length: 20 }, () => once(effects, call, () => ++done))
    expect(await Promise.all(many)).toEqual(Array(20).fill(1))
  },
)

describe('an effect in rows', () => {
  test('a local effect and its answer are committed together or not at all, wherever the work throws', () => {
    const { effects, database } = anEffect()
    const notes = () => database.prepare('SELECT count(*) AS n FROM notes').get()?.['n']
    const write = () =>
      database
        .prepare("INSERT INTO notes (id, agent_id, message, created_at) VALUES ('n', 'a', 'm', 1)")
        .run()
    const broken = () => {
      write()
      throw new Error('a defect')
    }
    expect(() => effects.local(call, broken)).toThrow('a defect')
    expect(notes()).toBe(0)
    effects.local(call, () => {
      write()
      return 'written'
    })
    expect([notes(), effects.local(call, broken)]).toEqual([1, 'written'])
  })

  test('a rejected local effect keeps the rows of its refusal and nothing of an aborted nested transaction', () => {
    const { effects, database } = anEffect()
    const count = () => Number(database.prepare('SELECT count(*) AS n FROM notes').get()?.['n'])
    const denied = () => {
      database
        .prepare('INSERT INTO notes (id, agent_id, message, created_at) VALUES (?, ?, ?, 1)')
        .run(`note_${count()}`, 'a', 'a call was denied')
      throw new Problem('denied')
    }
    expect(() => effects.local(call, denied)).toThrow(expect.objectContaining({ code: 'denied' }))
    expect(count()).toBe(1)
    const brokenOff = () => database.transaction(denied)
    expect(() => effects.local(call, brokenOff)).toThrow(expect.objectContaining({ code: 'denied' }))
    expect(count()).toBe(1)
  })
})

describe('an effect outside', () => {
  const cutOff = async (effects: EffectOnce) => {
    const left = Promise.withResolvers<void>()
    void effects.outside(call, async ({ dispatching }) => {
      dispatching()
      left.resolve()
      return new Promise(() => {})
    })
    await left.promise
  }

  test('an outside effect is never repeated once it may have left, whatever interrupted it', async () => {
    const { effects, again } = anEffect()
    await cutOff(effects)
    const repeat = () => expect.fail('it was made again')
    for (let life = 0; life < 2; life++) {
      await expect(again().outside(call, repeat)).rejects.toMatchObject({ code: 'outcome-unknown' })
    }
  })

  test('an interrupted outside effect reports an unknown outcome with its cause, and so does each repeat', async () => {
    const { effects, again } = anEffect()
    const breaking = async ({ dispatching }: OutsideLine) => {
      dispatching()
      throw new Problem('upstream-timeout', { detail: 'no complete answer within 100 ms' })
    }
    await expect(effects.outside(call, breaking)).rejects.toMatchObject({
      code: 'outcome-unknown',
      detail: expect.stringContaining('no complete answer within 100 ms'),
    })
    const repeat = again().outside(call, async () => expect.fail('it was made again'))
    await expect(repeat).rejects.toMatchObject({ code: 'outcome-unknown' })
  })

  test('a call without outside changes is sent again, and reports why it was not answered', async () => {
    const { effects } = anEffect()
    const breaking = async ({ dispatching }: OutsideLine) => {
      dispatching()
      throw new Problem('upstream-timeout')
    }
    await expect(effects.repeatable(call, breaking)).rejects.toMatchObject({ code: 'upstream-timeout' })
    expect(await effects.repeatable(call, async () => 'answer')).toBe('answer')
  })

  test('an outside effect is not sent if its row cannot be written or its run is over', async () => {
    const { effects, database } = anEffect()
    let hasLeft = false
    const work = async ({ dispatching }: OutsideLine) => {
      effects.runEnded(call.runId)
      dispatching()
      hasLeft = true
    }
    await expect(effects.outside(call, work)).rejects.toMatchObject({ code: 'cancelled' })
    database.close()
    await expect(effects.outside(call, work)).rejects.toThrow('not open')
    expect(hasLeft).toBe(false)
  })

  test('an outside effect is aborted with its run, and those of other runs continue', async () => {
    const { effects } = anEffect()
    const waiting = (of: EffectCall) =>
      effects.outside(of, async ({ dispatching, signal }) => {
        dispatching()
        return new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason))
        })
      })
    const [cut, other] = [waiting(call), waiting({ ...call, runId: 'run_2' })]
    await Promise.resolve()
    effects.runEnded('run_1')
    await expect(cut).rejects.toMatchObject({ code: 'outcome-unknown' })
    expect(await Promise.race([other, Promise.resolve('goes on')])).toBe('goes on')
  })

  test('concurrent outside effects are limited for each agent across its runs, and some are left for others', async () => {
    const { effects } = anEffect()
    let calls = 0
    const words = new Map<string, Problem>()
    const started = async (agent: number): Promise<boolean> => {
      const call = {
        agentId: `agent_${agent}`,
        runId: `run_${agent}_${calls % 3}`,
        key: `${calls++}`,
        request: 1,
      }
      const stuck = effects.outside(call, () => new Promise<never>(() => {}))
      const refused = stuck.catch((error: unknown) => {
        if (!(error instanceof Problem)) return error
        words.set(call.agentId, error)
        return error.code
      })
      const later = new Promise<null>((resolve) => setImmediate(() => resolve(null)))
      const why = await Promise.race([refused, later])
      if (why !== null) expect(why).toBe('rate-limited')
      return why === null
    }
    const takeAll = async (agent: number): Promise<number> => {
      let taken = 0
      while (await started(agent)) taken++
      return taken
    }
    expect(await takeAll(0)).toBe(64)
    // So many agents that their shares would use up the total.
    for (let agent = 1; agent < 16; agent++) await takeAll(agent)
    for (let agent = 16; agent < 64; agent++) expect(await takeAll(agent)).toBeGreaterThanOrEqual(4)
    expect(words.get('agent_0')?.detail).toMatch(
      /^64 calls of this agent are in progress.*try again in a second$/,
    )
    expect(words.get('agent_63')).toMatchObject({
      detail: expect.stringMatching(
        /^the fleet has the maximum number of calls in progress, \d+ of them of this agent.* try again in a second$/,
      ),
      retryAfterSeconds: 1,
    })
  })

  test('closing waits for running effects and then aborts them', async () => {
    const { effects, again } = anEffect()
    const answered = Promise.withResolvers<string>()
    const answering = effects.outside(call, async ({ dispatching }) => {
      dispatching()
      return answered.promise
    })
    void effects
      .outside({ ...call, key: 'other' }, async ({ dispatching, signal }) => {
        dispatching()
        return new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason))
        })
      })
      .catch(() => undefined)
    await Promise.resolve()
    answered.resolve('late')
    await effects.close(1)
    expect(await answering).toBe('late')
    expect(await again().outside(call, async () => expect.fail('it was made again'))).toBe('late')
    await expect(
      again().outside({ ...call, key: 'other' }, async () => expect.fail('it was made again')),
    ).rejects.toMatchObject({ code: 'outcome-unknown' })
  })
})

describe('an effect that no transaction spans', () => {
  test('a resumable effect sees the mark that the previous process wrote before it began, and no answer', async () => {
    const { effects, again } = anEffect()
    const begun = Promise.withResolvers<void>()
    void effects.resumable(call, async (step) => {
      step.begin({ id: 'x' })
      begun.resolve()
      return new Promise(() => {})
    })
    await begun.promise
    expect(await again().resumable(call, async (step) => step.settle(() => step.begun))).toEqual({ id: 'x' })
    expect(await again().resumable(call, async () => expect.fail('it is answered'))).toEqual({ id: 'x' })
  })

  test('a resumable effect can be resumed by the process in which it failed', async () => {
    const { effects } = anEffect()
    const failing = effects.resumable(call, async (step) => {
      step.begin('mark')
      throw new Error('no room on the disk')
    })
    await expect(failing).rejects.toThrow('no room')
    expect(await effects.resumable(call, async ({ begun }) => begun)).toBe('mark')
  })
})

const full = expect.objectContaining({ code: 'unprocessable' })

test('a run whose answers use up its limit is rejected, and another run is not', () => {
  const { effects, again } = anEffect()
  const large = 'x'.repeat(16 * 1024 * 1024)
  for (let step = 0; step < 4; step++) effects.local({ ...call, key: `run_1:${step}` }, () => large)
  const next = { ...call, key: 'run_1:next' }
  expect(() => effects.local(next, () => 1)).toThrow(full)
  // The limit also holds after a restart; earlier answers are still returned.
  expect(() => again().local(next, () => 1)).toThrow(full)
  expect(again().local({ ...call, key: 'run_1:2' }, () => 'other')).toBe(large)
  expect(effects.local({ ...call, runId: 'run_2' }, () => 1)).toBe(1)
})

test('many empty answers use up the limit of a run too', () => {
  const { database, effects } = anEffect()
  database
    .prepare(
      `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 140000)
       INSERT INTO effect (run_id, key, request_digest, begun_at, reply)
       SELECT 'run_1', 'run_1:' || i, 'digest', 1000, '{}' FROM n`,
    )
    .run()
  expect(() => effects.local({ ...call, key: 'next' }, () => 1)).toThrow(full)
  expect(effects.local({ ...call, runId: 'run_2' }, () => 1)).toBe(1)
})

test('the answers of a run are deleted a minute after its end, and not before', async () => {
  const harness = aLedgerHarness()
  harness.ledger.start()
  const { database, clock } = harness
  const effects = createEffectOnce({ database, clock })
  const ended = harness.chat('operator')
  const working = harness.chat('worker')
  await clock.settle()
  for (const run of [ended, working]) effects.local({ ...call, runId: run.id }, () => 'kept')
  harness.agents.finish('operator')
  await clock.settle()
  const kept = () =>
    database
      .prepare('SELECT run_id FROM effect')
      .all()
      .map((row) => row['run_id'])

  effects.forgetOld()
  expect(kept()).toHaveLength(2)
  await clock.advance(60_000)
  effects.forgetOld()
  expect(kept()).toEqual([working.id])
  await harness.ledger.close()
})
