import { describe, expect, it, test } from 'vitest'
import type { Facts } from '../facts.ts'
import { sharedKey } from '../steps.ts'
import { checkAll } from './all-checks.ts'
import { checkMoney, checkTotals } from './check-money.ts'
import { aCall, aLetter, aMessage, anAsker, aRun, aSpend, aTask, someFacts, someMoney } from './some-facts.ts'

const foundIn = (changes: Partial<Facts>): string[] => checkAll(someFacts(changes)).map(({ check }) => check)
const board = { callId: 'c1.0.1', where: 'journal row 1' }

test('a fleet where all went well gives no finding', () => {
  expect(checkAll(someFacts())).toEqual([])
})

describe('of runs, the checks find', () => {
  it.each<[string, string, Partial<Facts>]>([
    ['one that never ended', 'run-without-end', { runs: [aRun({ state: 'running', outcome: null })] }],
    ['one that ended twice', 'run-ended-not-once', { endings: new Map([['run_1', 2]]) }],
    ['one that ended without a row of the journal', 'run-ended-not-once', { endings: new Map() }],
    [
      'two of one key',
      'key-with-two-runs',
      {
        runs: [aRun(), aRun({ id: 'run_2', origin: 'webhook', costUsd: 0 })],
        endings: new Map([
          ['run_1', 1],
          ['run_2', 1],
        ]),
      },
    ],
    [
      'two that one asker was told of',
      'key-with-two-runs',
      { asked: [anAsker({ runIds: ['run_1', 'run_9'] })] },
    ],
    ['one that was taken and is in no row', 'run-lost', { asked: [anAsker({ runIds: ['run_9'] })] }],
  ])('%s', (_what, check, changes) => {
    expect(foundIn(changes)).toContain(check)
  })
})

describe('of askers, the checks find', () => {
  it.each<[string, string, Partial<Facts>]>([
    ['one that waited and heard nothing', 'asker-not-told', { asked: [anAsker({ told: null })] }],
    ['one that was never taken', 'never-taken', { asked: [anAsker({ accepted: false, runIds: [] })] }],
    [
      'one that heard something else',
      'told-otherwise',
      { asked: [anAsker({ told: { status: 'failed', text: 'No.' } })] },
    ],
    ['a person with two letters', 'letters-not-one', { letters: [aLetter(), aLetter({ id: 'note_2' })] }],
    ['a person with none', 'letters-not-one', { letters: [] }],
    [
      'a letter that counts as delivered and was read by nobody',
      'delivered-to-nobody',
      { asked: [anAsker({ way: 'leaves', told: null })] },
    ],
    [
      'a letter to a run that is still on its way',
      'letter-pending',
      { letters: [aLetter(), aLetter({ id: 'note_2', recipient: 'run:run_7', state: 'pending' })] },
    ],
    [
      'a firing that never heard',
      'trigger-not-told',
      { firings: [{ what: 'the firing 1', runId: 'run_1', outcome: null }] },
    ],
    [
      'a firing that heard something else',
      'trigger-not-told',
      { firings: [{ what: 'the firing 1', runId: 'run_1', outcome: 'failed: interrupted' }] },
    ],
    ['a steer that was said twice', 'steer-twice', { steersSeen: new Map([['s1', 2]]) }],
    ['a steer without a row', 'steer-not-one', { asked: [anAsker(), anAsker({ key: 's1', kind: 'steer' })] }],
    [
      'a steer that waits for ever',
      'steer-waits',
      {
        asked: [anAsker(), anAsker({ key: 's1', kind: 'steer' })],
        steers: [{ id: 'steer_1', key: 's1', state: 'waiting', becameRunId: null }],
      },
    ],
    [
      'a steer that became a run and was never read',
      'steer-unread',
      {
        asked: [anAsker(), anAsker({ key: 's1', kind: 'steer' })],
        steers: [{ id: 'steer_1', key: 's1', state: 'became-run', becameRunId: 'run_1' }],
      },
    ],
  ])('%s', (_what, check, changes) => {
    expect(foundIn(changes)).toContain(check)
  })

  it('the checks find no fault when the person left and the letter still waits', () => {
    const changes = {
      asked: [anAsker({ way: 'leaves', told: null })],
      letters: [aLetter({ state: 'pending' })],
    }
    expect(foundIn(changes)).toEqual([])
  })
})

describe('of effects, the checks find', () => {
  it.each<[string, string, Partial<Facts>]>([
    ['one that was made twice', 'effect-twice', { effects: [board, { ...board, where: 'journal row 2' }] }],
    ['one that was told as done and is not there', 'effect-lost', { effects: [] }],
    ['one that was told as refused and is there', 'effect-denied', { calls: [aCall({ told: 'refused' })] }],
    [
      'one that no model asked for',
      'effect-without-request',
      { effects: [board, { callId: 'c9.0.9', where: 'request 1' }] },
    ],
    [
      'a step that two answers of the model made',
      'step-twice',
      {
        calls: [aCall(), aCall({ id: 'c1.0.2' })],
        effects: [board, { callId: 'c1.0.2', where: 'journal row 2' }],
      },
    ],
    ['a gap in the versions of a key', 'version-gap', { versions: new Map([['output/x', [1, 3]]]) }],
    ['a version that was given twice', 'version-gap', { versions: new Map([['output/x', [1, 1]]]) }],
    [
      'more versions of a shared key than calls',
      'shared-miscounted',
      {
        calls: [aCall(), aCall({ id: 'c1.1.2', step: 'shared' })],
        versions: new Map([[sharedKey, [1, 2]]]),
      },
    ],
    [
      'fewer versions of a shared key than were told as done',
      'shared-miscounted',
      {
        calls: [
          aCall(),
          aCall({ id: 'c1.1.2', step: 'shared' }),
          aCall({ id: 'c1.2.3', step: 'shared', told: 'unknown' }),
          aCall({ id: 'c1.3.4', step: 'shared' }),
        ],
        versions: new Map([[sharedKey, [1]]]),
      },
    ],
    [
      'a conversation in which no result was recognized',
      'results-unread',
      {
        calls: Array.from({ length: 20 }, (_, at) =>
          aCall({ id: `c1.${at}.${at}`, step: 'complete', told: null, words: '' }),
        ),
      },
    ],
  ])('%s', (_what, check, changes) => {
    expect(foundIn(changes)).toContain(check)
  })

  it('the checks report nothing about a call of unknown outcome, whether it took effect or not', () => {
    const calls = [aCall({ told: 'unknown' })]
    expect([foundIn({ calls }), foundIn({ calls, effects: [] })]).toEqual([[], []])
  })

  it('the checks find no fault in a job whose plan is repeated by each firing', () => {
    const calls = ['j1.0.1', 'j1.0.2'].map((id) => aCall({ id, marker: 'j1' }))
    const effects = calls.map(({ id }) => ({ callId: id, where: 'journal' }))
    expect(foundIn({ calls, effects })).toEqual([])
  })
})

describe('of hand-offs, the checks find', () => {
  const letter = aLetter({ id: 'note_2', source: 'task:task_1:done', recipient: 'run:run_1' })
  const told = { runId: 'run_1', source: 'task:task_1:done' }
  const good = { tasks: [aTask()], notes: [told], letters: [aLetter(), letter] }
  it.each<[string, string, Partial<Facts>]>([
    ['a task that never ended', 'task-open', { ...good, tasks: [aTask({ state: 'working' })] }],
    ['a parent that was not told', 'parent-told-not-once', { ...good, notes: [] }],
    [
      'a parent that was told twice',
      'parent-told-not-once',
      { ...good, notes: [told, { ...told, source: 'task:task_1:done:1' }] },
    ],
  ])('%s', (_what, check, changes) => {
    expect(foundIn(changes)).toContain(check)
  })

  it('the checks find no fault if the parent was notified once, or had ended before', () => {
    const givenUp = { ...letter, state: 'undeliverable' }
    expect(foundIn(good)).toEqual([])
    expect(foundIn({ ...good, notes: [], letters: [aLetter(), givenUp] })).toEqual([])
  })

  it('the checks find no fault in a question that was delivered before the end', () => {
    const asked = { ...told, source: 'task:task_1:blocked' }
    expect(foundIn({ ...good, notes: [asked, told] })).toEqual([])
    expect(foundIn({ ...good, notes: [asked] })).toEqual(['parent-told-not-once'])
  })
})

describe('of messages, the checks find', () => {
  const letter = aLetter({ id: 'note_2', source: 'message:msg_1', recipient: 'run:run_1' })
  const told = { runId: 'run_1', source: 'message:msg_1' }
  const messages = [aMessage()]
  const answersSeen = new Map([['c1.0.1', 1]])
  const good = { messages, notes: [told], letters: [aLetter(), letter], answersSeen }
  it.each<[string, string, Partial<Facts>]>([
    ['one that nobody answered', 'message-open', { ...good, messages: [aMessage({ state: 'sent' })] }],
    ['a run that was not told', 'asking-run-told-not-once', { ...good, notes: [] }],
    ['a run that was told twice', 'asking-run-told-not-once', { ...good, notes: [told, told] }],
    ['an answer that no model read', 'answer-unread', { ...good, answersSeen: new Map() }],
    ['an answer that a model read twice', 'answer-twice', { ...good, answersSeen: new Map([['c1.0.1', 2]]) }],
  ])('%s', (_what, check, changes) => {
    expect(foundIn(changes)).toContain(check)
  })

  it('the checks find no fault if the run was notified once, had ended before, or the message is kept for a heartbeat', () => {
    const givenUp = { ...letter, state: 'undeliverable' }
    expect(foundIn(good)).toEqual([])
    expect(foundIn({ ...good, notes: [], letters: [aLetter(), givenUp] })).toEqual([])
    expect(foundIn({ messages: [aMessage({ state: 'kept', runId: null })] })).toEqual([])
  })
})

describe('of money, the checks find', () => {
  const open = aSpend({ id: 'call_2', state: 'open', costNano: 0, promptTokens: 0, completionTokens: 0 })
  const whole = someMoney([aSpend()])
  it.each<[string, string, Partial<Facts>]>([
    [
      'a total that is not the sum of its rows',
      'total-not-its-rows',
      { money: { ...whole, totals: whole.totals.map((total) => ({ ...total, spentNano: 400 })) } },
    ],
    ['a total of rows that is missing', 'total-not-its-rows', { money: { ...whole, totals: [] } }],
    [
      'a total of no rows',
      'total-not-its-rows',
      {
        money: {
          ...whole,
          totals: [...whole.totals, { scope: 'run:run_9', period: '', openNano: 7, spentNano: 0, calls: 0 }],
        },
      },
    ],
    [
      'a hold below nothing',
      'negative-total',
      { money: { ...whole, totals: whole.totals.map((total) => ({ ...total, openNano: -1 })) } },
    ],
    ['a hold that stays', 'open-hold', { money: someMoney([aSpend(), open]) }],
    ['a report that is not the sum of its rows', 'report-not-its-rows', { money: { ...whole, daily: [] } }],
    [
      'an answer that was booked twice',
      'booked-twice',
      { money: someMoney([aSpend(), aSpend({ id: 'call_1.2' })]), runs: [aRun({ costUsd: 1000e-9 })] },
    ],
    [
      'an answer that was billed and never booked',
      'billed-not-booked',
      {
        billed: [1, 2].map((number) => ({ number, marker: 'c1', costNano: 500, whole: number === 1 })),
      },
    ],
    [
      'an answer whose booking of another run does not count',
      'billed-not-booked',
      {
        billed: [{ number: 1, marker: 'h7', costNano: 500, whole: false }],
        money: someMoney([aSpend({ promptTokens: 0, completionTokens: 0 })]),
      },
    ],
    ['a run that says another cost', 'run-cost', { runs: [aRun({ costUsd: 700e-9 })] }],
  ])('%s', (_what, check, changes) => {
    expect(foundIn(changes)).toContain(check)
  })

  it('the checks find no fault if the cost of an interrupted answer is recorded as unconfirmed', () => {
    const unconfirmed = aSpend({
      id: 'call_2',
      costNano: 900,
      promptTokens: 0,
      completionTokens: 0,
      unconfirmed: 'mesh-killed',
    })
    const billed = [1, 2].map((number) => ({ number, marker: 'c1', costNano: 500, whole: number === 1 }))
    const changes = {
      billed,
      money: someMoney([aSpend(), unconfirmed]),
      runs: [aRun({ costUsd: 1400e-9 })],
    }
    expect(foundIn(changes)).toEqual([])
  })

  it('an answer that was cut off, where a guess of its tokens is the number of another one', () => {
    const guess = aSpend({ id: 'call_2', costNano: 0, promptTokens: 2, unconfirmed: 'broken-off' })
    const billed = [1, 2].map((number) => ({ number, marker: 'c1', costNano: 500, whole: false }))
    expect(foundIn({ billed, money: someMoney([aSpend(), guess]) })).toEqual(['billed-not-booked'])
  })

  it('nothing where the run that a steer became was cut off in the conversation of the steered one', () => {
    const steered = aRun({ id: 'run_2', key: 's1', marker: null, talksOf: 'c1', costUsd: 900e-9 })
    const whole = someMoney([
      aSpend(),
      aSpend({ id: 'call_2', runId: 'run_2', costNano: 900, promptTokens: 0, unconfirmed: 'mesh-killed' }),
    ])
    const billed = [1, 2].map((number) => ({ number, marker: 'c1', costNano: 500, whole: number === 1 }))
    const found = checkMoney(someFacts({ runs: [aRun(), steered], billed, money: whole }))
    expect(found.map(({ check }) => check)).not.toContain('billed-not-booked')
  })

  it('nothing where the answer to an earlier event was cut off in the conversation of a later event', () => {
    const conversation = 'left webhook:hook_1'
    const earlier = aRun({ conversation, costUsd: 1400e-9 })
    const later = aRun({ id: 'run_2', key: 'w2', marker: 'w2', talksOf: 'w2', conversation, costUsd: 0 })
    const whole = someMoney([
      aSpend(),
      aSpend({ id: 'call_2', costNano: 900, promptTokens: 0, unconfirmed: 'mesh-killed' }),
    ])
    // The history had both events when the earlier one was processed again.
    const billed = [
      { number: 1, marker: 'c1', costNano: 500, whole: true },
      { number: 2, marker: 'w2', costNano: 500, whole: true },
    ]
    const found = (of: typeof later) =>
      checkMoney(someFacts({ runs: [earlier, of], billed, money: whole })).map(({ check }) => check)
    expect(found(later)).not.toContain('billed-not-booked')
    expect(found({ ...later, conversation: 'left another' })).toContain('billed-not-booked')
  })

  it('nothing between two instances of the mesh about money that is still set aside', () => {
    expect(checkTotals(someMoney([aSpend(), open]))).toEqual([])
  })
})

test('each leftover is reported as a finding', () => {
  const leftovers = [{ check: 'orphan' as const, what: 'process 7' }]
  expect(checkAll(someFacts({ leftovers }))).toEqual([{ check: 'orphan', what: 'process 7', evidence: [] }])
})
