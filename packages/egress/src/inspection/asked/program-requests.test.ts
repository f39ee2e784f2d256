import { Readable } from 'node:stream'
import * as fc from 'fast-check'
import { Problem } from '@flotilla/protocol/problem'
import { describe, expect, test } from 'vitest'
import { aHomeThatAsks, approvalIn } from '../../../../testing/src/approved-requests-harness.ts'
import { person } from '../../../../testing/src/ledger-harness.ts'
import { ownLoop } from '../../../../testing/src/own-loop.ts'
import { createKeptBodyTable, keptBodyLimits } from './kept-body-table.ts'
import { createOpenAnswers } from './open-answers.ts'
import { createProgramRequests, programRequestKind } from './program-requests.ts'
import type { AskedRequest } from '../terminate/asked-request.ts'
import type { Approvals } from '@flotilla/work/approvals'
import type { SendKept } from './send-kept.ts'

const dayMs = 24 * 3600 * 1000
const answer = {
  status: 200,
  headers: ['X-A', 'b'],
  body: Buffer.from('unpack ok'),
  trailers: [],
  isCut: false,
}

/** A home whose programs ask; `opened` starts a process on its rows. */
function aProgramHome(holdMs = 0) {
  const home = aHomeThatAsks()
  function opened(send: SendKept) {
    const { kinds, approvals, effects, confirm } = home.desk()
    const bodies = createKeptBodyTable(home.database)
    const held = { now: 0 }
    const requests = createProgramRequests({
      approved: effects,
      database: home.database,
      bodies,
      answers: createOpenAnswers(home),
      send,
      holdMs: () => holdMs,
      held: {
        take: (_agent, bytes) => (held.now += bytes),
        giveBack: (_agent, bytes) => (held.now -= bytes),
      },
      loop: ownLoop(),
    })
    kinds[programRequestKind] = requests.kind
    const asked = (body: string | Buffer, more: Partial<AskedRequest> = {}): AskedRequest => ({
      caller: home.caller,
      destination: { host: 'git.test', port: 443 },
      method: 'POST',
      path: '/a.git/git-receive-pack',
      headers: ['Host', 'git.test', 'Authorization', 'Bearer placeholder'],
      body: Readable.from([Buffer.from(body)]),
      credentials: ['github'],
      decision: home.decision,
      signal: new AbortController().signal,
      keepOpen: () => () => {},
      ...more,
    })
    const ask = (body: string | Buffer, more?: Partial<AskedRequest>) =>
      requests.ask(asked(body, more)).then(() => expect.fail('it was answered'), approvalIn)
    return { approvals, requests, confirm, asked, ask, held, bodies }
  }
  /** How many further runs wait for an approval. */
  const joined = (id: string): number =>
    Number(
      home.database.prepare('SELECT count(*) AS n FROM approval_runs WHERE approval_id = ?').get(id)?.['n'],
    )
  /** Ends a run, and says so as the ledger does. */
  function endRun(approvals: Pick<Approvals, 'runSettled'>, id: string, state: 'cancelled' | 'done'): void {
    home.database.prepare('UPDATE runs SET state = ?, ended_at = 1 WHERE id = ?').run(state, id)
    approvals.runSettled({ ...home.ledger.queries.find(id), state } as never)
  }
  return { ...home, opened, joined, endRun }
}

/** An outside world that records what reaches it. */
function aWorld() {
  const reached: string[] = []
  const send: SendKept = async (_caller, { body }, line) => {
    line.dispatching()
    reached.push(body.toString())
    return answer
  }
  return { reached, send }
}

describe('a request of a program that a rule asks for', () => {
  test('is kept with its exact bytes and shown, and nothing is sent', async () => {
    const { reached, send } = aWorld()
    const home = aProgramHome()
    const { ask, approvals, held } = home.opened(send)
    const id = await ask('héllo')
    expect(approvals.read(person, id)).toMatchObject({
      kind: 'program-request',
      asked_by: 'agent:scout',
      run_id: home.runId,
      summary: 'send POST https://git.test:443/a.git/git-receive-pack for a program',
      consequences: [
        'The mesh sends POST https://git.test:443/a.git/git-receive-pack for a program of scout, once.',
        'Header Host: "git.test"',
        'Header Authorization: "Bearer placeholder"',
        'The server may read the body as a git push; the mesh cannot read it as one.',
        'Body, 6 bytes: "héllo"',
        'The mesh fills in the credential github.',
        'The rule push of config/policy.yaml asks: A push changes the repository.',
      ],
    })
    expect(reached).toEqual([])
    expect(held.now).toBe(0)
  })

  test('has a one-line summary without its query, which the program writes freely', async () => {
    const { ask, approvals } = aProgramHome().opened(aWorld().send)
    const path = `/v1/items?note=${'harmless,'.repeat(100)}`
    const view = approvals.read(person, await ask('one', { path }))
    expect(view.summary).toBe('send POST https://git.test:443/v1/items?… for a program')
    expect(view.consequences[0]).toContain(path)
  })

  test('is sent once after a person approved it, and its body is forgotten', async () => {
    const { reached, send } = aWorld()
    const home = aProgramHome()
    const { ask, confirm } = home.opened(send)
    const id = await ask('one')
    expect(await confirm(id)).toMatchObject({
      state: 'done',
      detail: 'The request was sent once and answered with status 200: unpack ok',
    })
    await expect(confirm(id)).rejects.toMatchObject({ code: 'approval-used' })
    expect(reached).toEqual(['one'])
    expect(home.database.prepare('SELECT * FROM kept_bodies').all()).toEqual([])
  })

  test('joins an equal request that waits, and not one that differs in any part', async () => {
    const { ask } = aProgramHome().opened(aWorld().send)
    const first = await ask('one')
    expect(await ask('one')).toBe(first)
    const others: readonly Partial<AskedRequest>[] = [
      { method: 'PUT' },
      { path: '/b' },
      { destination: { host: 'git.test', port: 8443 } },
      { destination: { host: 'other.test', port: 443 } },
      { headers: ['Host', 'git.test', 'Authorization', 'Bearer other'] },
    ]
    for (const other of others) expect(await ask('one', other)).not.toBe(first)
    expect(await ask('two')).not.toBe(first)
  })

  test('whose kept body was changed is not sent', async () => {
    const { reached, send } = aWorld()
    const home = aProgramHome()
    const { ask, confirm } = home.opened(send)
    const id = await ask('one')
    home.database.prepare('UPDATE kept_bodies SET body = ?').run(Buffer.from('two'))
    expect(await confirm(id)).toMatchObject({ state: 'failed', detail: expect.stringContaining('differs') })
    expect(reached).toEqual([])
  })

  test('that a person refuses leaves nothing behind', async () => {
    const home = aProgramHome()
    const { ask, approvals } = home.opened(aWorld().send)
    approvals.cancel(person, await ask('one'))
    expect(home.database.prepare('SELECT * FROM kept_bodies').all()).toEqual([])
  })

  test('with a body larger than can be kept is denied, and nothing is kept', async () => {
    const home = aProgramHome()
    const { ask, held } = home.opened(aWorld().send)
    await expect(ask(Buffer.alloc(keptBodyLimits.oneMaxBytes + 1))).rejects.toMatchObject({
      code: 'policy-denied',
    })
    expect(held.now).toBe(0)
    expect(home.database.prepare('SELECT * FROM kept_bodies').all()).toEqual([])
  })

  test('beyond the bytes that one agent may keep is refused, and its approval too', async () => {
    const home = aProgramHome()
    const { ask, approvals } = home.opened(aWorld().send)
    const most = keptBodyLimits.agentMaxBytes / keptBodyLimits.oneMaxBytes
    const large = (first: number) => Buffer.alloc(keptBodyLimits.oneMaxBytes, first)
    for (let count = 0; count < most; count++) await ask(large(count))
    await expect(ask(large(most))).rejects.toMatchObject({ code: 'approvals-full' })
    expect(approvals.pendingCount()).toBe(most)
  })

  test('of a run that has ended is not sent', async () => {
    const { reached, send } = aWorld()
    const home = aProgramHome()
    const { ask, confirm } = home.opened(send)
    const id = await ask('one')
    home.database.prepare("UPDATE runs SET state = 'cancelled', ended_at = 1 WHERE id = ?").run(home.runId)
    expect(await confirm(id)).toMatchObject({ state: 'failed' })
    expect(reached).toEqual([])
  })
})

describe('a program that is held open', () => {
  test('gets the answer after a person approved its request', async () => {
    const { reached, send } = aWorld()
    const kept = { open: 0 }
    const { requests, asked, approvals, confirm } = aProgramHome(60_000).opened(send)
    const keepOpen = () => {
      kept.open += 1
      return () => void (kept.open -= 1)
    }
    const answered = requests.ask(asked('one', { keepOpen }))
    await expect.poll(() => approvals.pendingCount()).toBe(1)
    expect(kept.open).toBe(1)
    const [view] = approvals.list(person, { open: true, limit: 1 })
    await confirm(view?.id ?? '')
    expect(await answered).toEqual(answer)
    expect(reached).toEqual(['one'])
    expect(kept.open).toBe(0)
  })

  test('gets a copy of the answer, which says so, if an equal request of another run asked before', async () => {
    const { reached, send } = aWorld()
    const home = aProgramHome(60_000)
    const { requests, asked, approvals, confirm } = home.opened(send)
    const first = requests.ask(asked('one'))
    await expect.poll(() => approvals.pendingCount()).toBe(1)
    const id = approvals.list(person, { open: true, limit: 1 })[0]?.id ?? ''
    const second = requests.ask(asked('one', { caller: home.callerInOtherRun() }))
    const repeated = requests.ask(asked('one'))
    await expect.poll(() => home.joined(id)).toBe(1)
    await confirm(id)
    expect(await first).toEqual(answer)
    const copy = { ...answer, headers: ['X-A', 'b', 'x-flotilla-joined-approval', id] }
    expect(await Promise.all([second, repeated])).toEqual([copy, copy])
    expect(reached).toEqual(['one'])
  })

  test.each(['cancelled', 'done'] as const)(
    'gets its answer although the run that asked first is %s',
    async (state) => {
      const { reached, send } = aWorld()
      const home = aProgramHome(60_000)
      const { requests, asked, approvals, confirm } = home.opened(send)
      void requests.ask(asked('one')).catch(() => {})
      await expect.poll(() => approvals.pendingCount()).toBe(1)
      const id = approvals.list(person, { open: true, limit: 1 })[0]?.id ?? ''
      const second = requests.ask(asked('one', { caller: home.callerInOtherRun() }))
      await expect.poll(() => home.joined(id)).toBe(1)
      home.endRun(approvals, home.runId, state)
      expect(await confirm(id)).toMatchObject({ state: 'done' })
      expect(await second).toMatchObject({ status: 200, headers: expect.arrayContaining([id]) as unknown })
      expect(reached).toEqual(['one'])
    },
  )

  test('gets the refusal of a person', async () => {
    const { requests, asked, approvals } = aProgramHome(60_000).opened(aWorld().send)
    const refused = requests.ask(asked('one')).catch((error: unknown) => error)
    await expect.poll(() => approvals.pendingCount()).toBe(1)
    approvals.cancel(person, approvals.list(person, { open: true, limit: 1 })[0]?.id ?? '')
    expect(await refused).toMatchObject({ code: 'policy-denied' })
  })

  test('is told to wait for a person at the time limit, and its request stays kept', async () => {
    const { reached, send } = aWorld()
    const home = aProgramHome(60_000)
    const { ask, confirm, approvals } = home.opened(send)
    const waits = ask('one')
    await expect.poll(() => approvals.pendingCount()).toBe(1)
    await home.clock.advance(60_000)
    await confirm(await waits)
    expect(reached).toEqual(['one'])
  })

  test('is not told to wait while its approved request is being sent', async () => {
    const home = aProgramHome(60_000)
    const { requests, asked, confirm, approvals } = home.opened(async (_caller, _kept, line) => {
      line.dispatching()
      await home.clock.advance(60_000)
      return answer
    })
    const answered = requests.ask(asked('one'))
    await expect.poll(() => approvals.pendingCount()).toBe(1)
    await confirm(approvals.list(person, { open: true, limit: 1 })[0]?.id ?? '')
    expect(await answered).toEqual(answer)
  })

  test('that disconnects leaves its request to the person', async () => {
    const { reached, send } = aWorld()
    const { requests, asked, confirm, approvals } = aProgramHome(60_000).opened(send)
    const gone = new AbortController()
    const cut = requests.ask(asked('one', { signal: gone.signal })).catch((error: unknown) => error)
    await expect.poll(() => approvals.pendingCount()).toBe(1)
    gone.abort(new Problem('client-gone'))
    expect(await cut).toMatchObject({ code: 'client-gone' })
    await confirm(approvals.list(person, { open: true, limit: 1 })[0]?.id ?? '')
    expect(reached).toEqual(['one'])
  })
})

/** Where a process is killed while it carries out a request. */
const killPoints = ['never', 'before the row', 'after the row', 'after it left'] as const
type KillPoint = (typeof killPoints)[number]

type Step =
  | { readonly do: 'ask'; readonly body: string; readonly run: number }
  | { readonly do: 'end'; readonly run: number; readonly state: 'cancelled' | 'done' }
  | { readonly do: 'confirm'; readonly at: number; readonly kill: KillPoint }
  | { readonly do: 'cancel'; readonly at: number }
  | { readonly do: 'pass'; readonly ms: number }
  | { readonly do: 'restart' }

describe('any series of requests of programs, approvals, expiries and kills', () => {
  const at = fc.nat(5)
  const step: fc.Arbitrary<Step> = fc.oneof(
    fc.record({ do: fc.constant('ask' as const), body: fc.constantFrom('a', 'b', 'c'), run: fc.nat(2) }),
    fc.record({
      do: fc.constant('end' as const),
      run: fc.nat(2),
      state: fc.constantFrom('cancelled' as const, 'done' as const),
    }),
    fc.record({ do: fc.constant('confirm' as const), at, kill: fc.constantFrom(...killPoints) }),
    fc.record({ do: fc.constant('cancel' as const), at }),
    fc.record({ do: fc.constant('pass' as const), ms: fc.constantFrom(1000, dayMs / 2, dayMs) }),
    fc.record({ do: fc.constant('restart' as const) }),
  )

  test('sends an approved request at most once, and no other', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 20 }), async (steps) => {
        const home = aProgramHome()
        const callers = [home.caller, home.callerInOtherRun(), home.callerInOtherRun()]
        const ended = new Set<string>()
        const left = new Map<string, number>()
        const approved = new Map<string, number>()
        const bodyOf = new Map<string, string>()
        let kill: KillPoint = 'never'
        let killed: () => void = () => {}
        const dieAt = async (point: KillPoint) => {
          if (kill !== point) return
          killed()
          await new Promise<never>(() => {})
        }
        const send: SendKept = async (_caller, { body }, line) => {
          await dieAt('before the row')
          line.dispatching()
          await dieAt('after the row')
          const text = body.toString()
          left.set(text, (left.get(text) ?? 0) + 1)
          await dieAt('after it left')
          return answer
        }
        let mesh = home.opened(send)
        const restart = async () => {
          kill = 'never'
          mesh = home.opened(send)
          await mesh.approvals.resume()
        }
        for (const one of steps) {
          const caller = callers[('run' in one ? one.run : 0) % callers.length]
          if (one.do === 'ask') {
            if (caller === undefined || ended.has(caller.run.runId)) continue
            bodyOf.set(await mesh.ask(one.body, { caller }), one.body)
          } else if (one.do === 'end') {
            if (caller === undefined || ended.has(caller.run.runId)) continue
            ended.add(caller.run.runId)
            home.endRun(mesh.approvals, caller.run.runId, one.state)
          } else if (one.do === 'pass') await home.clock.advance(one.ms)
          else if (one.do === 'restart') await restart()
          else {
            const ids = [...bodyOf.keys()]
            const id = ids[one.at % Math.max(ids.length, 1)]
            if (id === undefined) continue
            const { state, expires_at: expiresAt } = mesh.approvals.read(person, id)
            if (one.do === 'cancel') {
              if (state === 'pending') mesh.approvals.cancel(person, id)
              continue
            }
            const body = bodyOf.get(id) ?? ''
            if (state === 'pending' && expiresAt > home.clock.now())
              approved.set(body, (approved.get(body) ?? 0) + 1)
            kill = one.kill
            const isKilled = new Promise<'killed'>((resolve) => {
              killed = () => resolve('killed')
            })
            const end = await Promise.race([mesh.confirm(id).catch(() => 'refused'), isKilled])
            if (end === 'killed') await restart()
            kill = 'never'
          }
          for (const [body, count] of left) expect(count).toBeLessThanOrEqual(approved.get(body) ?? 0)
        }
        // What no longer waits keeps no body.
        const waiting = mesh.approvals.list(person, { open: true, limit: 100 }).length
        expect(home.database.prepare('SELECT * FROM kept_bodies').all()).toHaveLength(waiting)
      }),
      { numRuns: 100 },
    )
  })
})
