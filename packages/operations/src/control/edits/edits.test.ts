import { readFile, writeFile } from 'node:fs/promises'
import type { AgentEdit } from '@flotilla/protocol/agent-edit'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { heedsLesson } from '../../../../../tests/verifies.ts'
import { patient } from '../../../../testing/src/fleet-harness.ts'
import { actorOf } from '../../../../identity/src/access/caller.ts'
import type { Caller } from '../../../../identity/src/access/caller.ts'
import {
  anEditsHarness,
  atTerminal,
  inChat,
  noModel,
  operator,
} from '../../../../../tests/support/edits-harness.ts'
import type { EditsHarness } from '../../../../../tests/support/edits-harness.ts'

const minuteMs = 60_000
let made: EditsHarness

beforeEach(async () => {
  made = await anEditsHarness()
})
afterEach(() => made.close())

const permissions = (set: Record<string, unknown>): AgentEdit =>
  ({ field: 'permissions', value: { set, add: {}, remove: {} }, reason: '' }) as AgentEdit
const soul = (value: string): AgentEdit => ({ field: 'SOUL.md', value, reason: '' })
const role = (value: string): AgentEdit => ({ field: 'role', value, reason: '' })

describe('an edit', () => {
  test('an edit of each field takes effect at once, gives its undo deadline, and can be undone', async () => {
    const { edits, harness, texts } = made
    texts.set('w/SOUL.md', 'old soul')
    const all: readonly [AgentEdit, minutes: number, now: () => unknown, undoneBy?: Caller][] = [
      [role('reads'), 5, () => harness.fleet.registry.find('w')?.role],
      [
        { field: 'model', value: 'scripted/b', reason: '' },
        30,
        () => harness.fleet.registry.find('w')?.model,
      ],
      [
        { field: 'budget', value: { daily_usd: 3 }, reason: '' },
        30,
        () => harness.fleet.registry.find('w')?.budget,
        // Undoing a lower limit raises it, which needs a person at the terminal.
        atTerminal,
      ],
      [permissions({ can_message: ['x'] }), 30, () => made.permissions.snapshot().recordOf('w')?.can_message],
      [soul('new soul'), 5, () => texts.get('w/SOUL.md')],
    ]
    for (const [edit, minutes, now, undoneBy = operator] of all) {
      const before = now()
      const change = await edits.apply(operator, 'w', { edit })
      expect(change.expires_at - change.applied_at, edit.field).toBe(minutes * minuteMs)
      expect(now(), edit.field).not.toEqual(before)
      expect(change).toMatchObject({ state: 'applied', actor: 'agent:operator' })
      expect(await edits.undo(undoneBy, change.undo_token)).toMatchObject({
        state: 'undone',
        undone_by: actorOf(undoneBy),
      })
      expect(now(), edit.field).toEqual(before)
    }
  })

  test('an edit of one budget period leaves the other unchanged', async () => {
    heedsLesson(85)
    const { edits, harness } = made
    await edits.apply(atTerminal, 'w', { edit: { field: 'budget', value: { daily_usd: 3 }, reason: '' } })
    expect(harness.fleet.registry.find('w')?.budget).toEqual({ dailyUsd: 3, monthlyUsd: 200 })
  })

  test('an edit to a model that is not set up is refused, and nothing is written', async () => {
    const { edits, harness } = made
    const edit: AgentEdit = { field: 'model', value: noModel, reason: '' }
    await expect(edits.apply(operator, 'w', { edit })).rejects.toMatchObject({ code: 'unprocessable' })
    expect(harness.fleet.registry.find('w')?.model).toBeNull()
    expect(edits.list(operator, { limit: 10 })).toEqual([])
  })

  test('an edit to a model that may search the web by itself is for people at the terminal, and is journaled', async () => {
    const { edits, harness, journal } = made
    const models = [
      'perplexity/sonar-pro',
      'openrouter/auto',
      'openrouter/m:online ',
      'openrouter/m@preset/x',
    ]
    for (const value of models) {
      const edit: AgentEdit = { field: 'model', value, reason: '' }
      for (const caller of [operator, inChat]) {
        const refused = edits.apply(caller, 'w', { edit })
        await expect(refused, value).rejects.toMatchObject({ code: 'human-only' })
      }
      expect(harness.fleet.registry.find('w')?.model).toBeNull()
      expect(journal.at(-1)).toMatchObject({ action: 'ceiling.refused', subject: 'w' })
    }
    await edits.apply(atTerminal, 'w', { edit: { field: 'model', value: models[0] ?? '', reason: '' } })
    expect(harness.fleet.registry.find('w')?.model).toBe(models[0])
  })

  test('an edit with a key that was used is the same change, and no other', async () => {
    const { edits } = made
    const first = await edits.apply(operator, 'w', { edit: role('a'), idempotencyKey: 'k' })
    expect(await edits.apply(operator, 'w', { edit: role('a'), idempotencyKey: 'k' })).toEqual(first)
    await expect(edits.apply(operator, 'w', { edit: role('b'), idempotencyKey: 'k' })).rejects.toMatchObject({
      code: 'conflict',
    })
    expect(edits.list(operator, { limit: 10 })).toHaveLength(1)
  })

  test('an edit with a key that was used for another value of the same field is a conflict, whatever the field', async () => {
    const { edits } = made
    const pairs: readonly (readonly [AgentEdit, AgentEdit])[] = [
      [permissions({ can_message: ['x'] }), permissions({ can_message: ['y'] })],
      [
        { field: 'budget', value: { daily_usd: 3 }, reason: '' },
        { field: 'budget', value: { daily_usd: 4 }, reason: '' },
      ],
      [
        { field: 'model', value: 'scripted/b', reason: '' },
        { field: 'model', value: null, reason: '' },
      ],
      [role(' a '), role('b')],
    ]
    for (const [one, other] of pairs) {
      const idempotencyKey = one.field
      const first = await edits.apply(atTerminal, 'w', { edit: one, idempotencyKey })
      const repeat = await edits.apply(atTerminal, 'w', { edit: one, idempotencyKey })
      expect(repeat.undo_token, one.field).toBe(first.undo_token)
      const refused = edits.apply(atTerminal, 'w', { edit: other, idempotencyKey })
      await expect(refused, one.field).rejects.toMatchObject({ code: 'conflict' })
    }
  })

  test('an edit of the operator by itself is rejected, and by a person is accepted', async () => {
    heedsLesson(124)
    const { edits } = made
    await expect(edits.apply(operator, 'operator', { edit: role('king') })).rejects.toMatchObject({
      code: 'denied',
    })
    expect(await edits.apply(atTerminal, 'operator', { edit: role('leads') })).toMatchObject({
      state: 'applied',
    })
  })

  test('an edit by a worker is denied, whether the agent exists or not', async () => {
    heedsLesson(43)
    const worker = { kind: 'agent', agentId: 'w', token: 'door', run: null } as const
    for (const id of ['operator', 'nobody', 'w']) {
      await expect(made.edits.apply(worker, id, { edit: role('x') })).rejects.toMatchObject({
        code: 'denied',
      })
    }
  })

  test('an interrupted edit leaves no change that could be undone', async () => {
    const { edits } = made
    await writeFile(made.permissionsPath, '{')
    await expect(
      edits.apply(atTerminal, 'w', { edit: permissions({ can_spawn: true }) }),
    ).rejects.toMatchObject({ code: 'unprocessable' })
    expect(edits.list(atTerminal, { limit: 10 })).toEqual([])
  })

  test('an edit of model or role re-creates a running sandbox before its next run, and never during a run', async () => {
    const { edits, harness } = made
    await harness.fleet.connection.ensureRunning('w', patient)
    const change = await edits.apply(operator, 'w', {
      edit: { field: 'model', value: 'scripted/b', reason: '' },
    })
    expect(change.takes_effect).toBe('next-run')
    expect(harness.fleet.lifecycle.modelInUse('w')).toBe('scripted/demo')
    await harness.fleet.connection.reach('w', patient)
    expect(harness.runtime.started).toHaveLength(1)
    await harness.fleet.connection.ensureRunning('w', patient)
    expect(harness.runtime.started.map((spec) => spec.environment['FLOTILLA_MODEL'])).toEqual([
      'scripted/demo',
      'scripted/b',
    ])
    expect(harness.fleet.lifecycle.modelInUse('w')).toBe('scripted/b')
  })

  test('an edit is journaled with values of settings and without words of texts', async () => {
    const { edits, journal } = made
    await edits.apply(operator, 'w', { edit: soul('a private thought') })
    await edits.apply(operator, 'w', { edit: permissions({ can_manage_cron: true }) })
    const told = journal.filter((entry) => entry.action === 'agent.edited')
    expect(told).toMatchObject([
      { actor: 'agent:operator', subject: 'w', detail: { field: 'SOUL.md' } },
      { detail: { after: { can_manage_cron: true } } },
    ])
    expect(JSON.stringify(told)).not.toContain('private')
  })
})

describe('an edit of a value that the editor saw', () => {
  test('an edit of a value that the editor saw is made if the value is unchanged, for each field, and refused if it was changed since', async () => {
    const { edits, harness, texts } = made
    texts.set('w/SOUL.md', 'old soul')
    await edits.apply(atTerminal, 'w', { edit: permissions({ can_message: ['operator'] }) })
    const all: readonly [AgentEdit, seen: unknown, stale: unknown][] = [
      [role('reads'), harness.fleet.registry.find('w')?.role, 'another role'],
      [
        { field: 'model', value: 'scripted/b', reason: '' },
        harness.fleet.registry.find('w')?.model,
        'scripted/c',
      ],
      [
        { field: 'budget', value: { daily_usd: 3 }, reason: '' },
        { daily_usd: 10, monthly_usd: 200 },
        { daily_usd: 9, monthly_usd: 200 },
      ],
      [soul('new soul'), 'old soul', 'soul of yesterday'],
      [permissions({ can_message: ['w2'] }), { can_message: ['operator'] }, { can_message: [] }],
    ]
    for (const [edit, seen, stale] of all) {
      const asked = (value: unknown) =>
        edits.apply(atTerminal, 'w', { edit: { ...edit, seen: value } as AgentEdit })
      const before = edits.list(atTerminal, { limit: 100 }).length
      await expect(asked(stale), edit.field).rejects.toMatchObject({ code: 'edit-overtaken' })
      expect(edits.list(atTerminal, { limit: 100 })).toHaveLength(before)
      expect((await asked(seen)).state, edit.field).toBe('applied')
      // The value that was seen is no longer current.
      await expect(asked(seen), edit.field).rejects.toMatchObject({ code: 'edit-overtaken' })
    }
    expect(texts.get('w/SOUL.md')).toBe('new soul')
    expect(harness.fleet.registry.find('w')?.role).toBe('reads')
    // Invisible characters in an agent's text are not shown, and the text can be edited all the same.
    texts.set('w/SOUL.md', 'calm\u200B soul')
    await edits.apply(atTerminal, 'w', { edit: { ...soul('calmer'), seen: 'calm soul' } })
    expect(texts.get('w/SOUL.md')).toBe('calmer')
  })
})

describe('an undoing', () => {
  test('an undo works once, before its deadline, while the value is unchanged; each refusal has its own code', async () => {
    heedsLesson(58)
    const { edits, harness } = made
    const used = await edits.apply(operator, 'w', { edit: role('a') })
    await edits.undo(operator, used.undo_token)
    await expect(edits.undo(operator, used.undo_token)).rejects.toMatchObject({ code: 'undo-used' })

    const overtaken = await edits.apply(operator, 'w', { edit: role('b') })
    await edits.apply(atTerminal, 'w', { edit: role('c') })
    await expect(edits.undo(operator, overtaken.undo_token)).rejects.toMatchObject({
      code: 'undo-overtaken',
      extra: { now: '"c"', made: '"b"' },
    })

    const late = await edits.apply(operator, 'w', { edit: role('d') })
    await harness.clock.advance(5 * minuteMs)
    await expect(edits.undo(atTerminal, late.undo_token)).rejects.toMatchObject({ code: 'undo-expired' })
    expect(harness.fleet.registry.find('w')?.role).toBe('d')
    await expect(edits.undo(operator, 'change_none')).rejects.toMatchObject({ code: 'not-found' })
  })

  test('an undo by twenty at once happens once', async () => {
    heedsLesson(58)
    const { edits } = made
    const { undo_token: token } = await edits.apply(operator, 'w', { edit: role('a') })
    const ends = await Promise.allSettled(Array.from({ length: 20 }, () => edits.undo(operator, token)))
    expect(ends.filter((end) => end.status === 'fulfilled')).toHaveLength(1)
  })

  test('an undo survives a restart', async () => {
    const { edits, again, harness } = made
    const { undo_token: token } = await edits.apply(operator, 'w', { edit: role('a') })
    await again().undo(atTerminal, token)
    expect(harness.fleet.registry.find('w')?.role).toBe('works')
  })

  test('undoing an edit of a person is hidden from the operator', async () => {
    heedsLesson(43)
    const { edits } = made
    const byPerson = await edits.apply(atTerminal, 'w', { edit: role('a') })
    await expect(edits.undo(operator, byPerson.undo_token)).rejects.toMatchObject({ code: 'not-found' })
    expect(edits.list(operator, { limit: 10 })).toEqual([])
    // The same holds if the person edited the operator itself.
    const ofOperator = await edits.apply(atTerminal, 'operator', { edit: role('a') })
    await expect(edits.undo(operator, ofOperator.undo_token)).rejects.toMatchObject({ code: 'not-found' })
    expect(await edits.undo(atTerminal, byPerson.undo_token)).toMatchObject({ state: 'undone' })
  })

  test('an undo does not bring back through the operator what only a person may give', async () => {
    heedsLesson(6)
    const { edits } = made
    await edits.apply(atTerminal, 'w', { edit: permissions({ can_spawn: true }) })
    const lowered = await edits.apply(operator, 'w', { edit: permissions({ can_spawn: false }) })
    await expect(edits.undo(operator, lowered.undo_token)).rejects.toMatchObject({ code: 'human-only' })
    await expect(edits.undo(inChat, lowered.undo_token)).rejects.toMatchObject({ code: 'human-only' })
    expect((await made.recordOf('w'))?.can_spawn).toBe(false)
    await edits.undo(atTerminal, lowered.undo_token)
    expect((await made.recordOf('w'))?.can_spawn).toBe(true)
  })

  test.each(['a browser', 'a model that searches the web'])(
    'an undo does not give %s back through the operator, which a person does',
    async (what) => {
      const { edits } = made
      const model = (value: string): AgentEdit => ({ field: 'model', value, reason: '' })
      const [given, taken] =
        what === 'a browser'
          ? [permissions({ can_use_browser: true }), permissions({ can_use_browser: false })]
          : [model('openrouter/perplexity/sonar'), model('scripted/demo')]
      await expect(edits.apply(operator, 'w', { edit: given })).rejects.toMatchObject({ code: 'human-only' })
      await edits.apply(atTerminal, 'w', { edit: given })
      const lowered = await edits.apply(operator, 'w', { edit: taken })
      await expect(edits.undo(operator, lowered.undo_token)).rejects.toMatchObject({ code: 'human-only' })
      expect(await edits.undo(atTerminal, lowered.undo_token)).toMatchObject({ state: 'undone' })
    },
  )
})

describe('a budget', () => {
  const budget = (daily_usd: number): AgentEdit => ({ field: 'budget', value: { daily_usd }, reason: '' })
  const now = () => made.harness.fleet.registry.find('w')?.budget.dailyUsd

  test('a budget can be raised only by a person at the terminal, by an edit or by undoing', async () => {
    const { edits } = made
    for (const caller of [operator, inChat]) {
      await expect(edits.apply(caller, 'w', { edit: budget(10.01) })).rejects.toMatchObject({
        code: 'human-only',
      })
    }
    const lowered = await edits.apply(operator, 'w', { edit: budget(3) })
    for (const caller of [operator, inChat]) {
      await expect(edits.undo(caller, lowered.undo_token)).rejects.toMatchObject({ code: 'human-only' })
    }
    expect(now()).toBe(3)
    await edits.undo(atTerminal, lowered.undo_token)
    expect(now()).toBe(10)
    const raised = await edits.apply(atTerminal, 'w', { edit: budget(50) })
    // Undoing a raise lowers the limit, which a chat may do.
    await edits.undo(inChat, raised.undo_token)
    expect(now()).toBe(10)
  })
})

describe('permissions', () => {
  test('permissions lose nothing when fifty lists grow at once and a hand writes in between', async () => {
    heedsLesson(33)
    const { edits } = made
    const grow = (from: number, to: number) =>
      Promise.all(
        Array.from({ length: to - from }, (_, index) =>
          edits.apply(atTerminal, 'w', {
            edit: {
              field: 'permissions',
              value: { set: {}, add: { can_message: [`agent-${from + index}`] }, remove: {} },
              reason: '',
            },
          }),
        ),
      )
    await grow(0, 25)
    const text = await readFile(made.permissionsPath, 'utf8')
    await writeFile(
      made.permissionsPath,
      text.replaceAll('"can_manage_cron": false', '"can_manage_cron": true'),
    )
    await grow(25, 75)
    const record = await made.recordOf('w')
    expect(record?.can_message).toHaveLength(76)
    expect(record?.can_manage_cron).toBe(true)
  })

  test('permissions are unchanged by an invalid value or name, and the refusal says why', async () => {
    const { edits } = made
    for (const set of [
      { can_message: 'all' },
      { can_fly: true },
      { can_message: [], wallet_rate_limit_per_hour: 1.5 },
      {},
    ]) {
      await expect(edits.apply(atTerminal, 'w', { edit: permissions(set) })).rejects.toMatchObject({
        code: 'bad-request',
      })
    }
    const toFlag = { set: {}, add: { can_spawn: ['x'] }, remove: {} }
    await expect(
      edits.apply(atTerminal, 'w', { edit: { field: 'permissions', value: toFlag, reason: '' } }),
    ).rejects.toMatchObject({ code: 'bad-request' })
    expect(edits.list(atTerminal, { limit: 10 })).toEqual([])
  })

  test('permissions can be raised only by a person at the terminal', async () => {
    const { edits } = made
    const wallet = permissions({ can_use_wallet: true })
    for (const caller of [operator, inChat, { kind: 'internal' } as const, { kind: 'system' } as const]) {
      await expect(edits.apply(caller, 'w', { edit: wallet })).rejects.toMatchObject({ code: 'human-only' })
    }
    expect((await made.recordOf('w'))?.can_use_wallet).toBe(false)
    expect(made.journal.filter((entry) => entry.action === 'ceiling.refused')).toHaveLength(4)
    await edits.apply(atTerminal, 'w', { edit: wallet })
    expect(
      made.decide(
        { kind: 'agent', agentId: 'w', token: 'door', run: null },
        { do: 'use-wallet', chain: 'ethereum' },
      ),
    ).toBe(false)
    expect((await made.recordOf('w'))?.can_use_wallet).toBe(true)
  })
})

describe('an edit that the mesh died in', () => {
  const key = { edit: soul('new'), idempotencyKey: 'k' }
  async function cutOff(now: string) {
    const { edits, texts, harness, again } = made
    texts.set('w/SOUL.md', 'old')
    await edits.apply(operator, 'w', key)
    harness.database.exec("UPDATE changes SET state = 'applying'")
    texts.set('w/SOUL.md', now)
    return again()
  }

  test.each(['old', 'new'])(
    'an edit that the mesh died in is made once and can be undone if the current value is %j',
    async (now) => {
      const edits = await cutOff(now)
      const change = await edits.apply(operator, 'w', key)
      expect(change).toMatchObject({ state: 'applied', before: 'old', after: 'new' })
      expect(made.texts.get('w/SOUL.md')).toBe('new')
      expect(await edits.apply(operator, 'w', key)).toEqual(change)
      expect(edits.list(operator, { limit: 10 })).toHaveLength(1)
      await edits.undo(operator, change.undo_token)
      expect(made.texts.get('w/SOUL.md')).toBe('old')
    },
  )

  test('an edit that the mesh died in has an unknown outcome if the value was changed since, and that change is kept', async () => {
    const edits = await cutOff('a third')
    await expect(edits.apply(operator, 'w', key)).rejects.toMatchObject({ code: 'outcome-unknown' })
    expect(made.texts.get('w/SOUL.md')).toBe('a third')
  })
})

test('the last given texts of an agent are kept, except for its memory', async () => {
  const { edits, harness, close } = await anEditsHarness()
  const given = () => [
    harness.fleet.registry.find('w')?.instructions,
    harness.fleet.registry.seedFiles.of('w'),
  ]
  try {
    const edit = (field: 'INSTRUCTIONS.md' | 'SOUL.md' | 'MEMORY.md', value: string) =>
      edits.apply(atTerminal, 'w', { edit: { field, value, reason: '' } })
    await edit('INSTRUCTIONS.md', 'Do.')
    await edit('MEMORY.md', 'a fact')
    await edit('SOUL.md', 'Calm.')
    const { undo_token: token } = await edit('SOUL.md', 'Loud.')
    expect(given()).toEqual(['Do.', { 'SOUL.md': 'Loud.' }])
    await edits.undo(atTerminal, token)
    expect(given()).toEqual(['Do.', { 'SOUL.md': 'Calm.' }])
  } finally {
    await close()
  }
})
