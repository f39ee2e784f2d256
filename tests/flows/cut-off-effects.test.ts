import process from 'node:process'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { agentEditSchema } from '@flotilla/protocol/agent-edit'
import { cronAgentEndpoints } from '@flotilla/protocol/cron-api'
import { harnessEndpoints } from '@flotilla/protocol/harness-api'
import { messageAgentEndpoints } from '@flotilla/protocol/message-endpoints'
import { meshAgentEndpoints } from '@flotilla/protocol/mesh-agent-api'
import { operatorEndpoints } from '@flotilla/protocol/operator-endpoints'
import { spawnEndpoints } from '@flotilla/protocol/spawn-api'
import { projectAgentEndpoints } from '@flotilla/protocol/project-api'
import { topicAgentEndpoints } from '@flotilla/protocol/topics-api'
import { resourceRequestEndpoints } from '@flotilla/protocol/resource-requests-api'
import { vaultAgentEndpoints } from '@flotilla/protocol/vault-api'
import type { Composed } from '../../packages/mesh/src/app/compose.ts'
import type { Caller } from '../../packages/identity/src/access/caller.ts'
import { aPowerCutHome, agentApiRoutes, owner, routeOf, runOf } from '../support/power-cut-home.ts'
import type { PowerCutHome, ApiCall } from '../support/power-cut-home.ts'
import { runUntilCut } from '../support/power-cut.ts'

/** One call that is interrupted at any boundary: it takes effect once, and a repetition gets the usual answer. */
interface Case {
  readonly title: string
  readonly caller?: string
  readonly call: (made: string) => ApiCall
  /** Creates what the call needs; the result is passed to `call`. */
  readonly before?: (parts: Composed) => Promise<string> | string
  /** Actions that a failed attempt also writes to the audit log, any number of times. */
  readonly alsoTried?: readonly string[]
}

const agent = (agentId: string): Caller => ({
  kind: 'agent',
  agentId,
  token: 'door',
  run: {
    runId: runOf(agentId),
    agentId,
    fence: 1,
    taskId: null,
    origin: { kind: 'human', channel: 'cli' },
    budgetUsd: null,
    budgetTokens: null,
  },
})
const never = new AbortController().signal
const aJob = (parts: Composed) =>
  parts.contexts.inbound.cron.create(
    agent('left'),
    { agent: 'left', schedule: '0 9 * * *', message: 'look' },
    never,
  )

/** A permission change is recorded before the file; the next start reports a change that never reached it. */
const recordedBefore = (field: string): Pick<Case, 'alsoTried'> =>
  field === 'permissions' ? { alsoTried: ['permission.changed'] } : {}

const cases: readonly Case[] = [
  {
    title: 'a blackboard write that wants the key to be new',
    call: () => ({
      endpoint: meshAgentEndpoints.blackboardWrite,
      params: { key: 'plans/one' },
      body: { value: { a: 1 }, expected_version: 0 },
    }),
  },
  {
    title: 'a blackboard write of any version',
    call: () => ({
      endpoint: meshAgentEndpoints.blackboardWrite,
      params: { key: 'plans/one' },
      body: { value: 2 },
    }),
  },
  {
    title: 'a hand-off',
    call: () => ({
      endpoint: meshAgentEndpoints.handOff,
      body: { to: 'right', title: 'Sum', description: 'Sum it up.' },
    }),
  },
  {
    title: 'a message',
    call: () => ({
      endpoint: messageAgentEndpoints.messageSend,
      body: { to: 'right', text: 'How many are there?' },
    }),
  },
  {
    title: 'an agent that is made for one task',
    call: () => ({
      endpoint: spawnEndpoints.spawn,
      body: { role: 'counter', task: 'Count it.', ttl: 3600, budget_usd: 0.1 },
    }),
    // The record is written before the agent; the next start removes the record of an agent that was never created.
    alsoTried: ['permission.granted', 'permission.revoked'],
  },
  {
    title: 'the heartbeat of a worker',
    caller: 'operator',
    call: () => ({
      endpoint: operatorEndpoints.agentHeartbeat,
      params: { id: 'right' },
      body: { schedule: 'every 45m' },
    }),
  },
  {
    title: 'the tokens that a harness reports',
    call: () => ({
      endpoint: harnessEndpoints.reportTokens,
      body: { prompt_tokens: 90, completion_tokens: 20 },
    }),
  },
  {
    title: 'a steer',
    caller: 'operator',
    call: () => ({
      endpoint: meshAgentEndpoints.steer,
      params: { id: 'left' },
      body: { text: 'Look there too.' },
    }),
  },
  {
    title: 'the end of a task',
    before: (parts) =>
      parts.contexts.work.tasks.handOff(owner, { to: 'left', title: 't', description: 'd', data: {} })
        .task_id,
    call: (id) => ({
      endpoint: meshAgentEndpoints.completeTask,
      params: { id },
      body: { summary: 'It is blocked.', status: 'failed' },
    }),
  },
  {
    title: 'a note on a task',
    before: (parts) =>
      parts.contexts.work.tasks.handOff(owner, { to: 'left', title: 't', description: 'd', data: {} })
        .task_id,
    call: (id) => ({
      endpoint: meshAgentEndpoints.updateTask,
      params: { id },
      body: { action: 'progress', note: 'Half of it.' },
    }),
  },
  {
    title: 'a task that is cancelled',
    caller: 'operator',
    before: (parts) =>
      parts.contexts.work.tasks.handOff(owner, { to: 'right', title: 't', description: 'd', data: {} })
        .task_id,
    call: (id) => ({
      endpoint: meshAgentEndpoints.manageTask,
      params: { id },
      body: { action: 'cancel', note: 'not needed' },
    }),
  },
  {
    title: 'a verdict on a task',
    caller: 'operator',
    before: ({ contexts: { work } }) => {
      const given = { to: 'right', title: 't', description: 'd', data: {} }
      const { task_id: taskId } = work.tasks.handOff(owner, given)
      return work.tasks.manageTask(owner, { taskId, action: 'cancel', note: '' }).id
    },
    call: (id) => ({
      endpoint: meshAgentEndpoints.reviewTask,
      params: { id },
      body: { outcome: 'rejected', comment: 'It was late.' },
    }),
  },
  {
    title: 'a new project',
    caller: 'operator',
    call: () => ({
      endpoint: projectAgentEndpoints.projectManage,
      params: { name: 'acme' },
      body: { action: 'create', agents: ['right'] },
    }),
  },
  {
    title: 'the goal of a project',
    caller: 'operator',
    before: ({ contexts: { collaboration } }) =>
      collaboration.projects.manage(owner, 'acme', { action: 'create', agents: [] }).name,
    call: (name) => ({
      endpoint: projectAgentEndpoints.projectWrite,
      params: { name },
      body: { text: 'To count.', expected_version: 0 },
    }),
  },
  {
    title: 'a saved artifact',
    before: async ({ contexts: { collaboration } }) =>
      (
        await collaboration.artifacts.save(agent('left'), {
          name: 'r.md',
          contentBase64: 'YQ==',
          description: '',
        })
      ).name,
    call: (name) => ({ endpoint: meshAgentEndpoints.saveArtifact, body: { name, content_base64: 'Yg==' } }),
  },
  {
    title: 'a note to the owner',
    call: () => ({ endpoint: meshAgentEndpoints.notify, body: { message: 'It is done.' } }),
  },
  {
    title: 'a published signal',
    before: ({ contexts: { collaboration } }) =>
      collaboration.topics.subscribe(agent('right'), 'news').join(),
    call: () => ({ endpoint: topicAgentEndpoints.signalPublish, body: { topic: 'news', text: 'Rain.' } }),
  },
  {
    title: 'signals that are read',
    before: ({ contexts: { collaboration } }) => {
      collaboration.topics.subscribe(agent('left'), 'news')
      return collaboration.topics.publish(agent('right'), { topic: 'news', text: 'Rain.', data: null })
        .signalId
    },
    call: () => ({ endpoint: topicAgentEndpoints.signalsRead, body: { limit: 1 } }),
  },
  {
    title: 'a subscription',
    call: () => ({ endpoint: topicAgentEndpoints.topicSubscribe, body: { topic: 'news' } }),
  },
  {
    title: 'the end of a subscription',
    before: ({ contexts: { collaboration } }) => collaboration.topics.subscribe(agent('left'), 'news').join(),
    call: () => ({ endpoint: topicAgentEndpoints.topicUnsubscribe, body: { topic: 'news' } }),
  },
  {
    title: 'a generated credential',
    call: () => ({ endpoint: vaultAgentEndpoints.vaultGenerate, body: { name: 'door_key' } }),
  },
  {
    title: 'a request for a credential',
    caller: 'operator',
    call: () => ({
      endpoint: vaultAgentEndpoints.credentialRequest,
      body: { name: 'mail_key', service: 'mail', description: 'to send' },
    }),
  },
  {
    title: 'a request for another size',
    call: () => ({
      endpoint: resourceRequestEndpoints.sizeRequest,
      body: { memory_mb: 512, reason: 'to build' },
    }),
  },
  {
    title: 'a new job',
    call: () => ({ endpoint: cronAgentEndpoints.cronSet, body: { schedule: '0 9 * * *', message: 'look' } }),
  },
  {
    title: 'a changed job',
    before: async (parts) => (await aJob(parts)).id,
    call: (id) => ({
      endpoint: cronAgentEndpoints.cronChange,
      params: { id },
      body: { schedule: '0 10 * * *', message: 'look again' },
    }),
  },
  {
    title: 'a removed job',
    before: async (parts) => (await aJob(parts)).id,
    call: (id) => ({ endpoint: cronAgentEndpoints.cronDrop, params: { id } }),
  },
  {
    title: 'a new agent',
    caller: 'operator',
    call: () => ({
      endpoint: operatorEndpoints.agentCreate,
      body: { id: 'third', role: 'sums', permissions: { can_message: ['left'] } },
    }),
    alsoTried: ['permission.granted', 'permission.revoked'],
  },
  ...(
    [
      { field: 'role', value: 'sums up' },
      { field: 'budget', value: { daily_usd: 1 } },
      { field: 'permissions', value: { set: { can_message: ['right'] } } },
      { field: 'model', value: null },
    ] as const
  ).map((edit): Case => ({
    title: `an edit of the ${edit.field} of an agent`,
    caller: 'operator',
    call: () => ({ endpoint: operatorEndpoints.agentEdit, params: { id: 'left' }, body: edit }),
    ...recordedBefore(edit.field),
  })),
  ...[
    agentEditSchema.parse({ field: 'role', value: 'sums up' }),
    agentEditSchema.parse({ field: 'permissions', value: { set: { can_message: ['right'] } } }),
  ].map((edit): Case => ({
    title: `the undoing of an edit of the ${edit.field}`,
    ...recordedBefore(edit.field),
    caller: 'operator',
    before: async ({ operations }) =>
      (await operations.control.edits.apply(agent('operator'), 'left', { edit })).undo_token,
    call: (token) => ({ endpoint: operatorEndpoints.changeUndo, params: { token } }),
  })),
  {
    title: 'a stop of an agent',
    caller: 'operator',
    call: () => ({ endpoint: operatorEndpoints.agentStop, params: { id: 'right' } }),
  },
  {
    title: 'a deletion that a person is asked for',
    caller: 'operator',
    call: () => ({
      endpoint: operatorEndpoints.agentDelete,
      params: { id: 'right' },
      body: { reason: 'not needed' },
    }),
  },
  {
    title: 'what was asked for, taken back',
    caller: 'operator',
    before: ({ contexts: { work, fleet } }) =>
      work.approvals.ask(agent('operator'), {
        kind: 'delete-agent',
        args: {
          agent_id: 'right',
          created_at: fleet.agents.registry.find('right')?.createdAt ?? 0,
          reason: '',
        },
      }).id,
    call: (id) => ({ endpoint: operatorEndpoints.pendingCancel, params: { id } }),
  },
]

let base: PowerCutHome
beforeAll(async () => {
  base = await aPowerCutHome(['left', 'right'])
})
afterAll(() => base.close())

/** Routes that change something and have no case above, each with its reason. */
const withoutCase: Readonly<Record<string, string>> = {
  'POST /mesh/http':
    'its effect is outside: tests/flows/outside-effects.test.ts kills agents and meshes in mid-call',
  'POST /mesh/browser/{}':
    'its effect is in a page: tests/docker/browser-fleet.test.ts kills the mesh in mid-action, and nothing is done again',
  'POST /mesh/wallet/transfer':
    'tests/flows/wallet-cuts.test.ts cuts it off at each commit and each question to a chain',
  'POST /mesh/wallet/execute': 'it is signed and sent by the code of a transfer',
  'POST /mesh/wallet/simulate': 'it asks a chain, and changes nothing',
  'POST /mesh/wallet/read': 'it asks a chain, and changes nothing',
  'POST /mesh/mcp': 'its effect is outside and has no key: it is made once, and never again',
  'POST /mesh/operator/agents/{}/archive':
    'said again it changes nothing, and it has no key: packages/fleet/src/agents/administration/archive-agent.test.ts',
  'POST /mesh/operator/agents/{}/unarchive':
    'said again it changes nothing, and it has no key: packages/fleet/src/agents/administration/archive-agent.test.ts',
  'POST /mesh/operator/agents/{}/restart':
    'its effect is a sandbox: packages/fleet/src/agents/lifecycle/start-agent.test.ts',
  'POST /mesh/operator/templates/{}/apply':
    'agents that are there stay as they are, and applied again it makes the rest: packages/fleet/src/agents/registry/templates.test.ts',
  'POST /mesh/messages/{}/await':
    'said again it changes nothing: the answer is taken once, and read as often',
  'PUT /mesh/capabilities': 'said again it changes nothing: it takes the place of what was there',
  'POST /mesh/blackboard-watches': 'said again it changes nothing: it takes the place of what was there',
  'POST /mesh/operator/agents/{}/hibernate':
    'said again it changes nothing: packages/fleet/src/agents/lifecycle/hibernate.test.ts',
  'POST /mesh/packages/requests':
    'plain processes have no images: packages/operations/src/requests/requests.test.ts kills meshes at each step',
  'POST /mesh/harness/permission': 'the policy decides it, and nothing changes: tests/flows/harness.test.ts',
  'POST /mesh/lease': 'said again it renews what it renewed',
  'POST /mesh/steers/taken': 'said again it changes nothing: what is taken is a mark on the row',
  'POST /mesh/skills/check': 'it changes nothing',
  'POST /mesh/replay/call': 'it reads what was recorded, and changes nothing',
  'POST /mesh/web-search': 'it asks, and changes nothing',
  'POST /v1/messages': 'a model is asked; money is the ledger of calls’ own',
  'POST /v1/responses': 'a model is called; the ledger of calls has the money',
  'POST /v1/models/{}': 'a model is called; the ledger of calls has the money',
  'POST /v1beta/models/{}': 'a model is called; the ledger of calls has the money',
  'POST /v1/messages/count_tokens': 'it counts, and changes nothing',
  'POST /v1/chat/completions': 'a model is asked; money is the ledger of calls’ own',
  'POST /v1/embeddings': 'a model is asked; money is the ledger of calls’ own',
}

test('every route of the agent API that changes something is cut off in a case, or says why not', async () => {
  const routes = await base.with(agentApiRoutes)
  // Methods and paths that the model surface does not offer are rejected first.
  const writing = routes.filter((route) => !/^(?:GET|HEAD) |^[A-Z]+ \/v1(?:beta)?\/\{\}$/.test(route))
  const tried = cases.map(({ call }) => routeOf(call('').endpoint))
  expect(writing.toSorted()).toEqual([...new Set([...tried, ...Object.keys(withoutCase)])].toSorted())
})

/** The short tests try one boundary in 16; cases begin with different ones, so that every kind is tested. */
const share = process.env['FLOTILLA_SOAK'] === '1' ? 1 : 16

describe('a call that the power cuts off anywhere and that is sent again is done once and answered:', () => {
  test.for(cases.map((one, index) => ({ ...one, index })))('$title', async (one) => {
    const { caller = 'left', before, call, alsoTried = [], index } = one
    const ready = await base.fork()
    try {
      const made = before ? await ready.with(before) : ''
      const whole = await onFork(ready, (home) => runWithCuts(home, { caller, call: call(made) }, []))
      if (whole === null) throw new Error('a process without a cut is complete')
      expect(whole.replies.map(({ status }) => status)).toEqual([200, 200])
      expect(whole.replies[1]).toEqual(whole.replies[0])
      expect(whole.passed).toBeGreaterThan(0)
      let cuts = 0
      for (let endsAt = index % Math.min(share, whole.passed); endsAt < whole.passed; endsAt += share) {
        const cut = await onFork(ready, (home) => runWithCuts(home, { caller, call: call(made) }, [endsAt]))
        if (cut === null) continue
        cuts += 1
        const where = `boundary ${endsAt} of ${whole.passed}`
        expect({ where, ...plain(cut, alsoTried) }).toEqual({ where, ...plain(whole, alsoTried) })
      }
      expect(cuts).toBeGreaterThanOrEqual(Math.floor(whole.passed / share / 2))
    } finally {
      await ready.close()
    }
  })
})

test.each([null, 'every 1h'])(
  'an agent that is to have the heartbeat %s has it wherever the power cuts its making off, also in the place of one that left its own',
  async (heartbeat) => {
    const create = (parts: Composed) =>
      parts.contexts.fleet.agents.admin.create(owner, { id: 'third', role: 'sums', heartbeat })
    let there = 0
    // The short tests try only the boundaries after a write.
    const [from, step] = share === 1 ? [0, 1] : [1, 2]
    for (let endsAt = from; ; endsAt += step) {
      const wasCut = await onFork(base, async (home) => {
        await home.with(({ contexts: { inbound } }) =>
          inbound.cron.heartbeatJobs.put({ agentId: 'third', schedule: 'every 2m', enabled: true }),
        )
        const isCut = await home.with(
          async (parts) => (await runUntilCut(endsAt, () => create(parts))).result === null,
        )
        await home.with(async (parts) => {
          if (parts.contexts.fleet.agents.registry.find('third')) there++
          else await create(parts)
          // The next start does the same.
          await parts.contexts.inbound.heartbeats.ensureAll()
          const job = parts.contexts.inbound.cron.heartbeatJobs.find('third')
          expect({ endsAt, schedule: job?.schedule, enabled: job?.enabled }).toEqual({
            endsAt,
            schedule: heartbeat ?? 'every 15m',
            enabled: heartbeat !== null,
          })
        })
        return isCut
      })
      if (!wasCut) break
    }
    // The complete process, and at least one that was interrupted after the row was written.
    expect(there).toBeGreaterThan(1)
  },
)

async function onFork<T>(home: PowerCutHome, work: (copy: PowerCutHome) => Promise<T>): Promise<T> {
  const copy = await home.fork()
  try {
    return await work(copy)
  } finally {
    await copy.close()
  }
}

/**
 * Runs mesh processes that end in a power cut, then two complete ones. Returns the replies to the call and the
 * resulting effects. A reply is null if the process had ended before its cut, because work beside the call passes
 * boundaries, too, in varying number.
 */
async function runWithCuts(
  home: PowerCutHome,
  { caller, call }: { caller: string; call: ApiCall },
  cuts: readonly number[],
) {
  for (const endsAt of cuts) {
    const { reply } = await home.runOnce(caller, call, { endsAt })
    if (reply !== null) return null
  }
  const first = await home.runOnce(caller, call)
  const again = await home.runOnce(caller, call)
  return {
    passed: first.passed,
    replies: [first.reply, again.reply].map((reply) => ({ status: reply?.status, body: reply?.body })),
    journal: home.rows('SELECT action, count(*) AS count FROM journal GROUP BY action ORDER BY action'),
    events: home.rows(
      "SELECT json_extract(body, '$.type') AS type, count(*) AS count FROM events GROUP BY type ORDER BY type",
    ),
    signals: home.rows('SELECT count(*) AS count FROM topic_signals'),
    versions: home.rows(
      'SELECT key, version FROM blackboard UNION ALL SELECT name, version FROM artifacts ORDER BY 1',
    ),
    messages: home.rows('SELECT sender, recipient, state FROM messages ORDER BY position'),
    agents: home.rows('SELECT id FROM agents ORDER BY id'),
    spawned: home.rows("SELECT agent_id, parent_id, depth FROM spawned_agents WHERE state = 'living'"),
    tasks: home.rows('SELECT assignee, creator, state FROM tasks ORDER BY created_at'),
    runs: home.rows('SELECT agent_id, count(*) AS count FROM runs GROUP BY agent_id ORDER BY agent_id'),
  }
}

/** Removes random ids and timestamps. */
function plain(
  { passed: _passed, journal, ...there }: NonNullable<Awaited<ReturnType<typeof runWithCuts>>>,
  alsoTried: readonly string[],
): object {
  const done = journal.filter(({ action }) => !alsoTried.includes(String(action)))
  const text = JSON.stringify({ ...there, journal: done })
    .replace(/\b(msg|sig|note|cron|appr|change|cred|task|steer|run|spawn)_[A-Za-z0-9]{16}\b/g, '$1')
    .replace(/\b1[0-9]{12}\b/g, '"moment"')
    .replace(/"digest":"[0-9a-f]+"/g, '"digest"')
  return JSON.parse(text.replaceAll('"digest",', '')) as object
}
