import type { RunView } from '@flotilla/protocol/run'

/** A chat run that ended with the answer "Hello", with these changes. */
export function aRunView(changes: Partial<RunView> = {}): RunView {
  return {
    id: 'run_1',
    agent_id: 'operator',
    kind: 'chat',
    origin: { kind: 'human', channel: 'cli' },
    input: { kind: 'chat', message: 'Hi', session: 'default' },
    state: 'done',
    attempt: 1,
    fence: 1,
    proactive: false,
    parent_id: null,
    task_id: null,
    waiting_on: [],
    steers: [],
    trace_id: 't',
    created_at: 1,
    started_at: 2,
    ended_at: 3,
    outcome: { status: 'done', text: 'Hello' },
    tokens_used: 3,
    cost_usd: 0,
    unconfirmed_tokens: 0,
    unconfirmed_usd: 0,
    reported_tokens: 0,
    ...changes,
  }
}
