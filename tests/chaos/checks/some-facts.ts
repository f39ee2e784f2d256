import type {
  AskedFact,
  CallFact,
  Facts,
  MessageFact,
  MoneyFacts,
  RunFact,
  SpendFact,
  TaskFact,
} from '../facts.ts'

/** Facts of a fleet without faults: one chat whose agent wrote to the blackboard, and the cost of it. */
export function someFacts(changes: Partial<Facts> = {}): Facts {
  return {
    runs: [aRun()],
    endings: new Map([['run_1', 1]]),
    letters: [aLetter()],
    notes: [],
    tasks: [],
    steers: [],
    steersSeen: new Map(),
    messages: [],
    answersSeen: new Map(),
    firings: [],
    asked: [anAsker()],
    calls: [aCall()],
    effects: [{ callId: 'c1.0.1', where: 'journal row 1' }],
    versions: new Map(),
    billed: [{ number: 1, marker: 'c1', costNano: 500, whole: true }],
    money: someMoney([aSpend()]),
    leftovers: [],
    ...changes,
  }
}

export function aRun(changes: Partial<RunFact> = {}): RunFact {
  return {
    id: 'run_1',
    agentId: 'left',
    state: 'done',
    origin: 'human',
    parentId: null,
    taskId: null,
    key: 'c1',
    marker: 'c1',
    talksOf: changes.marker === undefined ? 'c1' : changes.marker,
    conversation: `left ${changes.marker ?? 'c1'}`,
    outcome: { status: 'done', text: 'It is done.' },
    costUsd: 500e-9,
    ...changes,
  }
}

export function aLetter(changes: Partial<Facts['letters'][number]> = {}): Facts['letters'][number] {
  return {
    id: 'note_1',
    source: 'run:run_1',
    recipient: 'human:cli',
    runId: 'run_1',
    state: 'delivered',
    ...changes,
  }
}

export function anAsker(changes: Partial<AskedFact> = {}): AskedFact {
  return {
    key: 'c1',
    kind: 'chat',
    way: 'waits',
    runIds: ['run_1'],
    told: { status: 'done', text: 'It is done.' },
    accepted: true,
    refused: '',
    ...changes,
  }
}

export function aCall(changes: Partial<CallFact> = {}): CallFact {
  return { id: 'c1.0.1', marker: 'c1', step: 'board', told: 'done', words: '{"version":1}', ...changes }
}

export function aTask(changes: Partial<TaskFact> = {}): TaskFact {
  return {
    id: 'task_1',
    title: 'Link h1.0.1',
    state: 'done',
    parentRunId: 'run_1',
    runId: 'run_2',
    givenAnew: 0,
    ...changes,
  }
}

export function aMessage(changes: Partial<MessageFact> = {}): MessageFact {
  return {
    id: 'msg_1',
    callId: 'c1.0.1',
    state: 'answered',
    askingRunId: 'run_1',
    runId: 'run_2',
    ...changes,
  }
}

export function aSpend(changes: Partial<SpendFact> = {}): SpendFact {
  return {
    id: 'call_1.1',
    agentId: 'left',
    runId: 'run_1',
    taskId: null,
    project: null,
    state: 'settled',
    day: '2026-11-22',
    reservedNano: 900,
    costNano: 500,
    promptTokens: 1,
    completionTokens: 300,
    unconfirmed: null,
    ...changes,
  }
}

/** Spend rows with the totals and the report that belong to them, added up by hand for one agent and one run. */
export function someMoney(spend: readonly SpendFact[], changes: Partial<MoneyFacts> = {}): MoneyFacts {
  const settled = spend.filter(({ state }) => state === 'settled')
  const spentNano = settled.reduce((sum, row) => sum + row.costNano, 0)
  const openNano = spend.reduce((sum, row) => sum + (row.state === 'open' ? row.reservedNano : 0), 0)
  const sums = { openNano, spentNano, calls: settled.length }
  const scopes = [
    ['fleet', '2026-11-22'],
    ['fleet', '2026-11'],
    ['agent:left', '2026-11-22'],
    ['agent:left', '2026-11'],
    ['run:run_1', ''],
  ]
  return {
    spend,
    totals: scopes.map(([scope = '', period = '']) => ({ scope, period, ...sums })),
    daily: [{ day: '2026-11-22', agentId: 'left', costNano: spentNano, calls: settled.length }],
    ...changes,
  }
}
