import { readFile } from 'node:fs/promises'
import type { ServerResponse } from 'node:http'
import { join } from 'node:path'
import process from 'node:process'
import { setTimeout as sleep } from 'node:timers/promises'
import { meshHumanEndpoints } from '@flotilla/protocol/mesh-human-api'
import { withoutMoment } from '@flotilla/protocol/moment-text'
import { describe, expect, it, onTestFinished } from 'vitest'
import { aCassette, calls, operatorHandsOff, runs, says } from '../support/cassettes.ts'
import { eventually } from '../support/eventually.ts'
import { openLedger } from '../support/ledger-view.ts'
import { chunkEvent, startLlmUpstream, usageEvent } from '../support/llm-upstream.ts'
import type { UpstreamCall } from '../support/llm-upstream.ts'
import { startMeshForTest } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import { readEvents } from '../support/sse-reader.ts'
import { verifies } from '../verifies.ts'

const spawn = (goal: string) => ({ name: 'spawn_subagent', arguments: { goal } })

/**
 * `three parts` needs three sub-agents, one of which needs one of its own; `crash` is interrupted while it waits.
 */
const cassette = aCassette(
  { when: 'was interrupted, and', turns: [says('I was told of it.')] },
  {
    when: '^three parts$',
    turns: [
      {
        tool_calls: [
          spawn('PART shell'),
          spawn('PART note'),
          spawn('PART deep'),
          ...(runs('echo $PPID > own').tool_calls ?? []),
        ],
      },
      calls('list_subagents', {}),
      calls(
        'wait_for_subagent',
        {},
        { capture: { listed: '"goal": ?"PART deep",[^{}]*"state": ?"(\\w+)"' } },
      ),
      says('{{shell}} / {{note}} / {{deep}}, which was {{listed}}', {
        capture: {
          shell: '(shell said \\d+)',
          note: '(the note is kept)',
          deep: '(deep heard: the deepest said \\d+)',
        },
      }),
    ],
  },
  {
    when: '^PART shell$',
    turns: [
      runs('echo $PPID > parent; echo $((6 * 7)) | tee -a shell'),
      says('shell said {{n}}', { capture: { n: '(42)' } }),
    ],
  },
  {
    when: '^PART note$',
    turns: [calls('notify_user', { message: 'from a part' }), says('the note is kept')],
  },
  {
    when: '^PART deep$',
    turns: [
      {
        tool_calls: [spawn('PART deepest'), { name: 'notify_user', arguments: { message: 'from another' } }],
      },
      calls('wait_for_subagent', {}),
      says('deep heard: {{it}}', { capture: { it: '(the deepest said \\d+)' } }),
    ],
  },
  {
    when: '^PART deepest$',
    turns: [runs('echo $((9 * 9))'), says('the deepest said {{n}}', { capture: { n: '(81)' } })],
  },
  {
    when: '^crash$',
    turns: [
      { tool_calls: [spawn('PART slow')] },
      calls('wait_for_subagent', {}),
      says('{{words}}', { capture: { words: '("outcome_unknown")' } }),
    ],
  },
  {
    when: '^PART slow$',
    turns: [runs('echo slow >> slow; sleep 8; echo late >> slow'), says('slow is done')],
  },
)

async function linesOf(mesh: MeshProcess, file: string): Promise<string[]> {
  const text = await readFile(join(mesh.dataOf('lead'), file), 'utf8').catch(() => '')
  return text.split('\n').filter((line) => line !== '')
}

async function fleet(): Promise<MeshProcess> {
  const mesh = await startMeshForTest({ cassettes: { crew: cassette } })
  await mesh.createWorker('lead')
  return mesh
}

describe('sub-agents', () => {
  it('work in the process of their agent, two deep, on its run, in the sight of people', async () => {
    verifies('resources:tool:subagent-spawn', 'resources:tool:subagent-list', 'resources:tool:subagent-wait')
    verifies('resources:tool:subagent-in-process')
    const mesh = await fleet()
    const events = await readEvents({
      method: 'GET',
      url: `${mesh.url}${meshHumanEndpoints.events.path}`,
      headers: {},
    })
    const run = await mesh.ask('three parts', { agent: 'lead' })
    expect(run.outcome).toMatchObject({
      status: 'done',
      text: expect.stringMatching(
        /^shell said 42 \/ the note is kept \/ deep heard: the deepest said 81, which was (running|complete)$/,
      ) as unknown,
    })
    expect(await linesOf(mesh, 'shell')).toEqual(['42'])
    // One process started the command of the agent and that of its sub-agent.
    const [starter] = await linesOf(mesh, 'own')
    expect(starter).toMatch(/^[1-9]\d*$/)
    expect(await linesOf(mesh, 'parent')).toEqual([starter])
    expect(await mesh.runs()).toHaveLength(1)
    expect((await mesh.agentProcesses()).filter(({ agentId }) => agentId === 'lead')).toHaveLength(1)

    const ledger = openLedger(mesh.home)
    onTestFinished(() => ledger.close())
    // Calls: four of the agent, two, two and three of its sub-agents, two of the nested one.
    const paid = await eventually('the run has paid for all', () => {
      const [total] = ledger.rows(`SELECT calls, tokens FROM spend_total WHERE scope = 'run:${run.id}'`)
      return total?.['calls'] === 13 ? total : null
    })
    expect((await mesh.run(run.id)).tokens_used).toBe(paid['tokens'])
    expect(ledger.rows('SELECT message FROM notes ORDER BY message')).toMatchObject([
      { message: 'from a part' },
      { message: 'from another' },
    ])

    const seen = await eventually('people see the calls', () => {
      const started = events.frames.flatMap(({ data }) => {
        const body = (data['body'] ?? data) as Record<string, unknown>
        return body['type'] === 'tool.started'
          ? [`${typeof body['subagent'] === 'string' ? body['subagent'] : '-'} ${String(body['name'])}`]
          : []
      })
      return started.length === 12 ? started.toSorted() : null
    })
    events.leave()
    expect(seen).toEqual([
      '- list_subagents',
      '- run_command',
      '- spawn_subagent',
      '- spawn_subagent',
      '- spawn_subagent',
      '- wait_for_subagent',
      'sub_2 run_command',
      'sub_3 notify_user',
      'sub_4 notify_user',
      'sub_4 spawn_subagent',
      'sub_4 wait_for_subagent',
      'sub_4/sub_2 run_command',
    ])
  })

  it('sub-agents of a killed agent are not restarted, and the agent gets the notice that their outcome is unknown', async () => {
    const mesh = await fleet()
    const id = await mesh.submit('crash', { agent: 'lead' })
    await eventually('the sub-agent works', async () => (await linesOf(mesh, 'slow')).length > 0)
    await eventually('its agent waits', async () => {
      const found = await readFile(
        join(mesh.dataOf('lead'), '.flotilla', 'checkpoints', `${id}.json`),
        'utf8',
      )
      return found.includes('"pending":[{') && found.includes('wait_for_subagent')
    })
    const record = (await mesh.agentProcesses()).find(({ agentId }) => agentId === 'lead')
    process.kill(-(record?.pid ?? 0), 'SIGKILL')
    const run = await mesh.ended(id)
    expect(run).toMatchObject({ attempt: 2, outcome: { status: 'done', text: 'I was told of it.' } })
    expect((await linesOf(mesh, 'slow')).filter((line) => line === 'slow')).toHaveLength(1)
  })
})

describe('the cap of the work', () => {
  it('the cap of the work counts what its sub-agents use, and stops them all', async () => {
    const upstream = await startLlmUpstream()
    onTestFinished(() => upstream.close())
    upstream.answerWith(answerByGoal)
    const mesh = await startMeshForTest({
      cassettes: {
        chief: aCassette(
          ...operatorHandsOff({ when: 'go', to: 'lead', title: 'Spend', answer: 'It was done.' }),
        ),
      },
      settings: {
        providers: { fake: { kind: 'openai-compatible', base_url: upstream.baseUrl } },
        models: { 'fake/spender': { price: { input_per_mtok: 1, output_per_mtok: 1 } } },
        tasks: { max_usd: capUsd },
      },
    })
    await mesh.createWorker('lead', { model: 'fake/spender' })
    const asked = await mesh.ask('go')
    expect(asked.outcome?.text).toContain('It was not done')
    const [work] = (await mesh.runs()).filter(({ agent_id: agent }) => agent === 'lead')
    expect(work?.outcome).toMatchObject({ status: 'failed', code: 'budget-exhausted' })
    const goals = upstream.calls.map(goalOf)
    for (const goal of ['burn 1', 'burn 2', 'burn 3', 'burn deeper']) expect(goals).toContain(goal)
    expect(work?.cost_usd).toBeGreaterThan(capUsd / 4)
    expect(work?.cost_usd).toBeLessThanOrEqual(capUsd)
    await sleep(1000)
    expect(upstream.calls).toHaveLength(goals.length)
  })
})

const capUsd = 0.25

/** Goal of the conversation that a call is about: its first words after the instructions. */
function goalOf(call: UpstreamCall): string {
  const messages = call.body['messages'] as { role: string; content: string }[]
  return withoutMoment(messages.find(({ role }) => role === 'user')?.content ?? '')
}

let answered = 0
/**
 * The agent spawns three sub-agents and waits; one of them spawns another. All sub-agents call tools until a limit
 * stops them.
 */
async function answerByGoal(call: UpstreamCall, response: ServerResponse): Promise<void> {
  const messages = call.body['messages'] as { role: string }[]
  const turn = messages.filter(({ role }) => role === 'assistant').length
  const goal = goalOf(call)
  const wishes = goal.startsWith('burn')
    ? goal === 'burn 1' && turn === 0
      ? [['spawn_subagent', { goal: 'burn deeper' }] as const]
      : [['run_command', { command: `echo ${goal} ${turn}` }] as const]
    : turn === 0
      ? [1, 2, 3].map((n) => ['spawn_subagent', { goal: `burn ${n}` }] as const)
      : [['wait_for_subagent', {}] as const]
  // Reports as much usage as was allowed, so that the reserved amount is spent.
  const answerTokens = Number(call.body['max_completion_tokens'] ?? call.body['max_tokens'])
  await sleep(20)
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  const tool_calls = wishes.map(([name, input], index) => ({
    index,
    id: `call_${(answered += 1)}`,
    type: 'function',
    function: { name, arguments: JSON.stringify(input) },
  }))
  response.write(chunkEvent({ tool_calls }))
  response.write(chunkEvent({}, 'tool_calls'))
  response.write(
    usageEvent({ prompt_tokens: 10, completion_tokens: answerTokens, total_tokens: 10 + answerTokens }),
  )
  response.end('data: [DONE]\n\n')
}
