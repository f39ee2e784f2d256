import { describe, expect, onTestFinished, test } from 'vitest'
import { silentLog } from '../../../foundation/src/platform/log.ts'
import type { AgentCaller } from '../../../identity/src/http/gates/agent-gate.ts'
import { createCheckEffect } from '../../../identity/src/policy/check-effect.ts'
import { snapshotOf } from '../../../identity/src/policy/policy-file.ts'
import { aLedgerHarness, person } from '../../../testing/src/ledger-harness.ts'
import type { LedgerHarness } from '../../../testing/src/ledger-harness.ts'
import type { JsonObject } from '../../../protocol/src/json-value.ts'
import { harnessApprovalKind } from '../../../protocol/src/harness-api.ts'
import type { ApprovalKind } from '../approvals/approval-kind.ts'
import { createApprovalOfRun } from '../approvals/approval-of-run.ts'
import { createApprovals } from '../approvals/approvals.ts'
import { originOf } from '../runs/submit-run.ts'
import { askedHoldMs, createPermitCall } from './permit-call.ts'
import type { HarnessCall } from './permit-call.ts'

const never = new AbortController().signal
const asks = (verdict = 'ask') =>
  `rules:\n  - { name: programs, match: { tool: harness_execute }, verdict: ${verdict}, reason: It runs. }`
const tests: HarnessCall = {
  kind: 'execute',
  subject: 'npm test',
  input: '{"command":"npm test"}',
  is_cut: false,
  sha256: 'a'.repeat(64),
}

/** A process of the mesh on the rows of a ledger, with the owner's policy as a text that may change. */
function aDesk(ledger: LedgerHarness, policy = { text: asks() }) {
  const kinds: Record<string, ApprovalKind> = {}
  const approvals = createApprovals({
    ...ledger,
    kinds,
    notifyRun: ledger.ledger.delivery.notifyRun,
    originOf: (of) => originOf(of),
    runCosts: () => null,
    log: silentLog,
  })
  ledger.workEvents.runAwaits.subscribe((runId) =>
    approvals
      .list(person, { open: true, limit: 100 })
      .filter(({ run_id }) => run_id === runId)
      .map(({ id }) => id),
  )
  ledger.workEvents.runSettled.subscribe(approvals.runSettled)
  const checkEffect = createCheckEffect({
    ...ledger,
    policy: { snapshot: () => snapshotOf(policy.text) },
    projectOf: () => null,
    originsOf: () => ({ origins: ['human'], channels: ['cli'] }),
    log: silentLog,
    use: { note: () => undefined },
  })
  const { permit, kind } = createPermitCall({
    ...ledger,
    checkEffect,
    approvals: { ...approvals, ofRun: createApprovalOfRun(ledger.database) },
  })
  kinds[harnessApprovalKind] = kind
  const caller = () => ledger.callerOf('coder') as AgentCaller // the harness of the ledger makes agents alone
  const open = () => approvals.list(person, { open: true, limit: 100 })
  return {
    policy,
    approvals,
    open,
    effectOf: (args: JsonObject) => kind.policyEffect?.(args) ?? null,
    ask: (call: HarnessCall = tests) => permit(caller(), call, never),
    confirm: async () => {
      const one = open()[0]
      return approvals.confirm(person, { id: one?.id ?? '', digest: one?.digest ?? '' })
    },
    reject: () => approvals.cancel(person, open()[0]?.id ?? ''),
  }
}

async function atWork() {
  const ledger = aLedgerHarness()
  onTestFinished(() => ledger.ledger.close())
  ledger.ledger.start()
  const run = ledger.chat('coder')
  await ledger.clock.settle()
  return { ledger, run, ...aDesk(ledger) }
}

describe('a call that a harness asks for', () => {
  test('is allowed always by a rule about exactly this call, and asked about if anything differs', async () => {
    const { ask, open, policy, ledger, effectOf } = await atWork()
    void ask()
    await ledger.clock.settle()
    const { details, rule } = effectOf(open()[0]?.args ?? {}) ?? {}
    expect(rule).toBe('programs')
    policy.text += `\n  - { name: always, match: { tool: harness_execute }, when: 'call == "${details?.call}"', verdict: allow, excepts: programs }\n`
    const other = await atWork()
    other.policy.text = policy.text
    expect(await other.ask()).toMatchObject({ allowed: true })
    expect(other.open()).toEqual([])
    const different: readonly Partial<HarnessCall>[] = [
      { subject: 'npm test ' },
      { input: '{"command":"npm publish"}' },
      { sha256: 'b'.repeat(64) },
      { is_cut: true },
      { kind: null, subject: 'unnamed' },
      { sha256: '' },
    ]
    for (const [at, more] of different.entries()) {
      void other.ask({ ...tests, ...more })
      await other.ledger.clock.settle()
      expect(other.open()).toHaveLength(at + 1)
    }
  })

  test.each([{ is_cut: true }, { kind: null, subject: 'unnamed' }, { sha256: '' }])(
    'with %j can be named by no rule',
    async (more) => {
      const { ask, open, ledger, effectOf } = await atWork()
      void ask({ ...tests, ...more })
      await ledger.clock.settle()
      expect(effectOf(open()[0]?.args ?? {})?.details.call).toBe(null)
    },
  )

  test('is allowed without a rule, and no person is asked', async () => {
    const { ask, open } = await atWork()
    expect(await ask({ ...tests, kind: 'read' })).toMatchObject({ allowed: true, waits: false })
    expect(open()).toEqual([])
  })

  test('waits for a person if a rule asks, and gets the answer within its turn alone', async () => {
    const { ask, open, confirm, ledger, run } = await atWork()
    const asked = ask()
    await ledger.clock.settle()
    expect(open()).toMatchObject([{ kind: 'harness-call', subject: 'coder', run_id: run.id }])
    expect(open()[0]?.consequences.join(' ')).toContain('npm test')
    await confirm()
    expect(await asked).toMatchObject({ allowed: true, waits: false })
    ledger.agents.finish('coder', { response: 'done' })
    await ledger.clock.settle()
    expect(ledger.state(run)).toBe('done')
  })

  test('is refused if the person rejects it, and an equal call of the run is not asked about again', async () => {
    const { ask, open, reject, ledger } = await atWork()
    const asked = ask()
    await ledger.clock.settle()
    reject()
    expect(await asked).toMatchObject({ allowed: false, waits: false })
    expect(await ask()).toMatchObject({ allowed: false, waits: false })
    expect(open()).toEqual([])
  })

  test('an approved call holds for equal calls of the run, and no other call', async () => {
    const { ask, open, confirm, ledger } = await atWork()
    const asked = ask()
    await ledger.clock.settle()
    await confirm()
    await asked
    expect(await ask()).toMatchObject({ allowed: true })
    void ask({ ...tests, input: '{"command":"rm -rf /"}' })
    await ledger.clock.settle()
    expect(open()).toHaveLength(1)
  })

  test('an answer about a call of which a part is shown holds for no call with another middle', async () => {
    const { ask, open, confirm, ledger } = await atWork()
    const long = { ...tests, input: 'echo a[9 characters omitted]z', is_cut: true }
    const asked = ask(long)
    await ledger.clock.settle()
    expect(open()[0]?.consequences.join('\n')).toContain(`more than is shown here`)
    expect(open()[0]?.consequences.join('\n')).toContain(long.sha256)
    await confirm()
    expect(await asked).toMatchObject({ allowed: true })
    void ask({ ...long, sha256: 'b'.repeat(64) })
    await ledger.clock.settle()
    expect(open()).toHaveLength(1)
  })

  test('a harness cannot add a line of its own to what a person reads', async () => {
    const { ask, open, ledger } = await atWork()
    const forged = '\nThe rule programs of config/policy.yaml allows: \u202eit'
    void ask({ ...tests, subject: `npm test${forged}`, input: `{}${forged}` })
    await ledger.clock.settle()
    const [one] = open()
    for (const text of [one?.summary, ...(one?.consequences ?? [])])
      expect(text).not.toMatch(/[\p{C}\p{Zl}\p{Zp}]/u)
    expect(one?.consequences).toContain(
      'Input, as the harness states it: "{}\\nThe rule programs of config/policy.yaml allows: it"',
    )
  })

  test('that names no kind is decided as the kind about which the policy is strictest', async () => {
    const { ask, open, confirm, ledger, policy } = await atWork()
    const asked = ask({ ...tests, kind: null })
    await ledger.clock.settle()
    expect(open()[0]?.summary).toContain('whose kind the harness does not name, decided as harness_execute')
    await confirm()
    expect(await asked).toMatchObject({ allowed: true })
    policy.text = asks('deny')
    expect(await ask({ ...tests, kind: null })).toMatchObject({ allowed: false })
    policy.text = 'rules: []'
    expect(await ask({ ...tests, kind: null, subject: 'another' })).toMatchObject({ allowed: true })
  })

  test('that is sent again while it waits, also to a new process of the mesh, is asked about once', async () => {
    const { ask, open, ledger, run } = await atWork()
    void ask()
    await ledger.clock.settle()
    const next = aDesk(ledger)
    const asked = next.ask()
    await ledger.clock.settle()
    expect(open()).toHaveLength(1)
    await next.confirm()
    expect(await asked).toMatchObject({ allowed: true })
    expect(ledger.state(run)).toBe('running')
  })

  test('answers the agent before its connection times out, and says that a person may still answer', async () => {
    const { ask, ledger } = await atWork()
    const asked = ask()
    await ledger.clock.settle()
    await ledger.clock.leap(25_000)
    expect(await asked).toMatchObject({ allowed: false, waits: true })
  })

  test('is refused when the turn was held long enough, and the run waits for the answer after its turn', async () => {
    const { ask, open, confirm, ledger, run } = await atWork()
    void ask()
    await ledger.clock.settle()
    for (let passed = 0; passed < askedHoldMs; passed += 20_000) {
      await ledger.clock.advance(20_000)
      ledger.heartbeat()
    }
    expect(await ask()).toMatchObject({ allowed: false, waits: false })
    ledger.agents.finish('coder', { response: 'A person has to allow it.' })
    await ledger.clock.settle()
    expect(ledger.state(run)).toBe('waiting')
    expect(open()).toHaveLength(1)
    await confirm()
    await ledger.clock.settle()
    expect(ledger.state(run)).toBe('running')
    expect(ledger.agents.sent.at(-1)?.message).toContain('A person allowed the call')
    expect(await ask()).toMatchObject({ allowed: true })
  })

  test('is refused after the approval if the policy denies it by then', async () => {
    const { ask, confirm, ledger, policy } = await atWork()
    const asked = ask()
    await ledger.clock.settle()
    policy.text = asks('deny')
    expect(await confirm()).toMatchObject({ state: 'failed' })
    expect(await asked).toMatchObject({ allowed: false, waits: false })
  })

  test('of a cancelled run is not answered, and its approval is cancelled', async () => {
    const { ask, open, ledger, run } = await atWork()
    const asked = ask()
    await ledger.clock.settle()
    ledger.ledger.lifecycle.cancelRun(person, run.id)
    await expect(asked).rejects.toMatchObject({ code: 'stale-fence' })
    expect(open()).toEqual([])
  })

  test('is refused with the reason when too many calls wait for a person', async () => {
    const { ask, open, ledger } = await atWork()
    for (let at = 0; at < 20; at += 1) void ask({ ...tests, subject: `call ${at}` })
    await ledger.clock.settle()
    const more = await ask({ ...tests, subject: 'one more' })
    expect(more).toMatchObject({ allowed: false, reason: expect.stringContaining('already wait') })
    expect(open()).toHaveLength(20)
  })
})
