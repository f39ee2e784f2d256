import * as fc from 'fast-check'
import { httpRequestSchema } from '@flotilla/protocol/mesh-agent-api'
import { Problem } from '@flotilla/protocol/problem'
import { describe, expect, test } from 'vitest'
import { aHomeThatAsks } from '../../../../testing/src/approved-requests-harness.ts'
import type { SendRequest } from '../../../../testing/src/approved-requests-harness.ts'
import { person } from '../../../../testing/src/ledger-harness.ts'
import { askedBodyMaxChars } from './approved-requests.ts'

const dayMs = 24 * 3600 * 1000
const reply = { status: 201, url: 'https://git.test/a', headers: {}, body: 'pushed', truncated: false }

/** An outside world that records what reaches it. */
function aWorld() {
  const reached: string[] = []
  const send: SendRequest = async (_caller, request, line) => {
    line.dispatching()
    reached.push(request.body)
    return reply
  }
  return { reached, send }
}

describe('a request that a rule asks for', () => {
  test('is stored with its exact bytes, is not sent, and says so', () => {
    const { reached, send } = aWorld()
    const home = aHomeThatAsks()
    const { approved, approvals } = home.opened(send)
    const request = httpRequestSchema.parse({
      url: 'https://git.test/a?key=$CRED{git_token}',
      method: 'POST',
      headers: { 'x-a': 'b' },
      body: 'héllo',
    })
    expect(() => approved.ask(home.caller, request, { decision: home.decision })).toThrow(
      expect.objectContaining({
        code: 'approval-required',
        detail: 'The request waits for a person as appr_1, and was not sent: A push changes the repository.',
      }),
    )
    const [view] = approvals.list(person, { open: true, limit: 9 })
    expect(view).toMatchObject({
      kind: 'http-request',
      asked_by: 'agent:scout',
      run_id: home.runId,
      args: { ...request, agent_id: 'scout', rule: 'push' },
      summary: 'send POST https://git.test/a?…',
      consequences: [
        'The mesh sends POST https://git.test/a?key=$CRED{git_token} for scout, once.',
        'Header x-a: "b"',
        'Body, 6 bytes: "héllo"',
        'The mesh fills in the credential git_token.',
        'The rule push of config/policy.yaml asks: A push changes the repository.',
      ],
    })
    expect(reached).toEqual([])
  })

  test('is asked about once if its call is repeated, also after it was carried out, and another call is a new request', async () => {
    const { reached, send } = aWorld()
    const home = aHomeThatAsks()
    const { ask, confirm } = home.opened(send)
    expect([ask({}, 'run:1'), ask({}, 'run:1')]).toEqual(['appr_1', 'appr_1'])
    await confirm('appr_1')
    const again = home.opened(send)
    expect(again.ask({}, 'run:1')).toBe('appr_1')
    expect(reached).toHaveLength(1)
    const next = again.ask({}, 'run:2')
    expect(next).not.toBe('appr_1')
    await again.confirm(next)
    expect(reached).toHaveLength(2)
  })

  test('that was decided says so when its call is repeated', async () => {
    const { send } = aWorld()
    const home = aHomeThatAsks()
    const { ask, approvals, approved } = home.opened(send)
    approvals.cancel(person, ask({}, 'run:1'))
    const request = httpRequestSchema.parse({ url: 'https://git.test/a', method: 'POST', headers: {} })
    expect(() => approved.ask(home.caller, request, { decision: home.decision, key: 'run:1' })).toThrow(
      expect.objectContaining({
        code: 'approval-required',
        detail:
          'This request waited for a person as appr_1, which is cancelled: A person rejected the action.',
      }),
    )
  })

  test('is sent once after a person approved it, and its run gets the answer', async () => {
    const { reached, send } = aWorld()
    const { ask, confirm } = aHomeThatAsks().opened(send)
    const id = ask({ body: 'one' })
    expect(await confirm(id)).toMatchObject({
      state: 'done',
      detail: 'The request was sent once and answered with status 201: pushed',
    })
    await expect(confirm(id)).rejects.toMatchObject({ code: 'approval-used' })
    expect(reached).toEqual(['one'])
  })

  test('joins an equal request that waits, and not one with other bytes', () => {
    const { ask } = aHomeThatAsks().opened(aWorld().send)
    const first = ask({ body: 'one' })
    expect(ask({ body: 'one', timeout_ms: 5000 })).toBe(first)
    expect(ask({ body: 'two' })).not.toBe(first)
    expect(ask({ body: 'one', headers: { 'x-a': 'b' } })).not.toBe(first)
    expect(ask({ body: 'one', url: 'https://git.test/b' })).not.toBe(first)
    expect(ask({ body: 'one', method: 'PUT' })).not.toBe(first)
  })

  test('is sent anew, by an approval of its own, after an equal one was sent', async () => {
    const { reached, send } = aWorld()
    const { ask, confirm } = aHomeThatAsks().opened(send)
    const first = ask({ body: 'one' })
    await confirm(first)
    const second = ask({ body: 'one' })
    expect(second).not.toBe(first)
    await confirm(second)
    expect(reached).toEqual(['one', 'one'])
  })

  test('with a body longer than a person can be shown is denied', () => {
    const { ask, approvals } = aHomeThatAsks().opened(aWorld().send)
    expect(() => ask({ body: 'x'.repeat(askedBodyMaxChars + 1) })).toThrow(
      expect.objectContaining({ code: 'policy-denied' }),
    )
    ask({ body: 'x'.repeat(askedBodyMaxChars) })
    expect(approvals.pendingCount()).toBe(1)
  })

  test('of a run that has ended is not sent', async () => {
    const { reached, send } = aWorld()
    const home = aHomeThatAsks()
    const { ask, confirm } = home.opened(send)
    const id = ask()
    home.database.prepare("UPDATE runs SET state = 'cancelled', ended_at = 1 WHERE id = ?").run(home.runId)
    expect(await confirm(id)).toMatchObject({
      state: 'failed',
      detail: 'the run that requested this has ended, so nothing was sent',
    })
    expect(reached).toEqual([])
  })

  test('that expires while it is prepared does not leave', async () => {
    const { reached, send } = aWorld()
    const home = aHomeThatAsks()
    const { ask, confirm } = home.opened(async (caller, request, line) => {
      await home.clock.advance(dayMs)
      return send(caller, request, line)
    })
    expect(await confirm(ask())).toMatchObject({ state: 'expired' })
    expect(reached).toEqual([])
  })

  test('that fails before it leaves is reported with its reason', async () => {
    const { ask, confirm } = aHomeThatAsks().opened(async () => {
      throw new Problem('policy-denied', { detail: 'a rule forbids it now' })
    })
    expect(await confirm(ask())).toMatchObject({ state: 'failed', detail: 'a rule forbids it now' })
  })
})

/** Where a process is killed while it carries out a request. */
const killPoints = ['never', 'before the row', 'after the row', 'after it left'] as const

type Step =
  | { readonly do: 'ask'; readonly body: string }
  | { readonly do: 'confirm'; readonly at: number; readonly kill: (typeof killPoints)[number] }
  | { readonly do: 'cancel'; readonly at: number }
  | { readonly do: 'pass'; readonly ms: number }
  | { readonly do: 'restart' }

describe('any series of requests, edits, approvals, expiries and kills', () => {
  const at = fc.nat(5)
  const step: fc.Arbitrary<Step> = fc.oneof(
    fc.record({ do: fc.constant('ask' as const), body: fc.constantFrom('a', 'b', 'c') }),
    fc.record({ do: fc.constant('confirm' as const), at, kill: fc.constantFrom(...killPoints) }),
    fc.record({ do: fc.constant('cancel' as const), at }),
    fc.record({ do: fc.constant('pass' as const), ms: fc.constantFrom(1000, dayMs / 2, dayMs) }),
    fc.record({ do: fc.constant('restart' as const) }),
  )

  test('sends an approved request at most once, and no other', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
        const home = aHomeThatAsks()
        /** How often each body left, and how many approvals of it a person gave in time. */
        const left = new Map<string, number>()
        const approved = new Map<string, number>()
        const bodyOf = new Map<string, string>()
        let kill: (typeof killPoints)[number] = 'never'
        let killed: () => void = () => {}
        const never = new Promise<never>(() => {})
        const dieAt = async (point: (typeof killPoints)[number]) => {
          if (kill !== point) return
          killed()
          await never
        }
        const send: SendRequest = async (_caller, request, line) => {
          await dieAt('before the row')
          line.dispatching()
          await dieAt('after the row')
          left.set(request.body, (left.get(request.body) ?? 0) + 1)
          await dieAt('after it left')
          return reply
        }
        let mesh = home.opened(send)
        const restart = async () => {
          kill = 'never'
          mesh = home.opened(send)
          await mesh.approvals.resume()
        }
        for (const one of steps) {
          const ids = [...bodyOf.keys()]
          if (one.do === 'ask') bodyOf.set(mesh.ask({ body: one.body }), one.body)
          else if (one.do === 'pass') await home.clock.advance(one.ms)
          else if (one.do === 'restart') await restart()
          else {
            const id = ids[one.at % Math.max(ids.length, 1)]
            if (id === undefined) continue
            const isOpen = mesh.approvals.read(person, id).state === 'pending'
            if (one.do === 'cancel') {
              if (isOpen) mesh.approvals.cancel(person, id)
              continue
            }
            const inTime = mesh.approvals.read(person, id).expires_at > home.clock.now()
            const body = bodyOf.get(id) ?? ''
            if (isOpen && inTime) approved.set(body, (approved.get(body) ?? 0) + 1)
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
      }),
      { numRuns: 150 },
    )
  })
})
