import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync, mkdirSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { answerJson, startLoopbackServer } from '@flotilla/client/loopback-server'
import { Problem } from '@flotilla/protocol/problem'
import { problemJson } from '@flotilla/protocol/problem-json'
import { aRunView } from '../../testing/src/run-view.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { cliProgram } from '../../../tests/support/programs.ts'

/** The user's compile caches, which all commands share, whatever their home. */
const caches = process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache')
let home = ''
beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), 'flotilla-cli-test-'))
})
afterAll(() => rmSync(home, { recursive: true, force: true }))

/** Starts the real program as a separate process. */
function start(...words: string[]) {
  return startProgram(process.execPath, [cliProgram, ...words])
}

function startProgram(program: string, words: readonly string[]) {
  const child = spawn(program, words, {
    env: { PATH: process.env['PATH'] ?? '', HOME: home, FLOTILLA_HOME: home, XDG_CACHE_HOME: caches },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const code = new Promise<number>((resolve) => child.once('exit', (exit) => resolve(exit ?? -1)))
  const ended = Promise.all([code, text(child.stdout), text(child.stderr)])
  return { process: child, ended: ended.then(([exit, out, err]) => ({ code: exit, out, err })) }
}

/** Runs the real program to its end. */
function flotilla(...words: string[]): Promise<{ code: number; out: string; err: string }> {
  return start(...words).ended
}

const aRun = aRunView()

const nothing = Object.fromEntries(
  [
    'project parent_task_id previous_task_id parent_run_id run_id waits_for blocked_by progress max_turns max_cost_usd',
    'max_tokens result summary outcome feedback outcome_by outcome_at completed_at',
  ]
    .join(' ')
    .split(' ')
    .map((field) => [field, null]),
)
const aTask = {
  ...nothing,
  id: 'task_known',
  creator: 'human:cli',
  assignee: 'auditor',
  title: 'Count the licences of every package',
  description: '',
  data: {},
  state: 'done',
  round: 0,
  needs: [],
  artifacts: [],
  created_at: 1,
  updated_at: 1,
}

describe('flotilla, as a process', () => {
  it('flotilla, as a process is what npx runs in a checkout, where nothing is built into a package', async () => {
    // npx runs the program of the package in the current folder, which is the installed one's.
    const installed = join(import.meta.dirname, '..', '..', '..', 'bin', 'flotilla')
    const { code, out, err } = await startProgram(installed, ['permissions', 'tools', '--json']).ended
    expect(code, err).toBe(0)
    expect(JSON.parse(out)).toHaveProperty('tools')
  })

  it('flotilla, as a process lists every tool by the group of the specification, with what it needs, without a mesh', async () => {
    const { code, out } = await flotilla('permissions', 'tools', '--json')
    expect(code).toBe(0)
    const { tools } = JSON.parse(out) as { tools: Record<string, unknown>[] }
    expect(tools).toEqual(
      expect.arrayContaining([
        { group: 'mesh_tool', within: 'set_cron', tool: 'set_cron', needs: ['can_manage_cron'] },
        { group: 'subagent_tool', within: 'wait', tool: 'wait_for_subagent', needs: [] },
        {
          group: 'mesh_tool',
          within: 'hand_off',
          tool: 'hand_off',
          needs: ['can_route_tasks', 'can_message'],
        },
        {
          group: 'operator_tools',
          within: 'edit_agent',
          tool: 'edit_agent',
          needs: ['the operator', 'can_edit_agent_config'],
        },
      ]),
    )
    expect((await flotilla('permissions', 'tools')).out).toMatch(/skill_tool +create_skill/)
  })

  it('flotilla, as a process without a command shows what there is and ends with 0', async () => {
    const { code, out } = await flotilla()
    expect(code).toBe(0)
    expect(out).toContain('First steps')
  })

  it('flotilla, as a process ends with 0 and one JSON value for version --json', async () => {
    const { code, out, err } = await flotilla('version', '--json')
    expect({ code, err }).toEqual({ code: 0, err: '' })
    expect(JSON.parse(out)).toMatchObject({ flotilla: expect.stringMatching(/^\d+\.\d+\.\d+/) as string })
  })

  it.each(['--version', '-V'])('flotilla, as a process takes %s for the command', async (word) => {
    const { code, out } = await flotilla(word)
    expect({ code, out }).toEqual({
      code: 0,
      out: expect.stringMatching(/^Flotilla \d+\.\d+\.\d+, Node /) as string,
    })
  })

  it('flotilla, as a process ends with 2 for wrong usage', async () => {
    expect((await flotilla('status', '--fast')).code).toBe(2)
    const { code, out } = await flotilla('fly', '--json')
    expect(code).toBe(2)
    expect(JSON.parse(out)).toMatchObject({
      error: { code: 'usage', detail: expect.stringContaining("unknown command 'fly'") },
    })
    expect((await flotilla('invoke', 'auditor', 'run_command', '[1]')).code).toBe(2)
  })

  it('flotilla, as a process ends with 3 where no mesh runs and says how to start one, as JSON where that is asked for', async () => {
    expect((await flotilla('status')).out).toBe('')
    const { code, out, err } = await flotilla('status', '--json')
    expect(code).toBe(3)
    expect(JSON.parse(out)).toEqual({
      error: {
        code: 'mesh-not-running',
        detail: `No fleet yet in ${home}.`,
        repair: expect.stringContaining('flotilla init'),
      },
    })
    expect(err).toContain(`No fleet yet in ${home}`)
    expect(err).toContain('code mesh-not-running')
    expect(err).toContain('flotilla init')
  })

  it('flotilla, as a process ends with 3 where the named port does not answer', async () => {
    const server = await startLoopbackServer(() => undefined)
    await server[Symbol.asyncDispose]()
    const { code, err } = await flotilla('costs', '--url', server.url)
    expect(code).toBe(3)
    expect(err).toContain('ECONNREFUSED')
  })

  it('flotilla, as a process does not take the note of a mesh that died for a living one', async () => {
    const dead = mkdtempSync(join(home, 'dead-'))
    mkdirSync(join(dead, 'data'))
    // The test's own process id is alive but not a mesh: process ids are reused.
    const note = { pid: process.pid, port: 1, url: 'http://127.0.0.1:1', started_at: 1, version: '0.1.0' }
    writeFileSync(join(dead, 'data', 'mesh.json'), JSON.stringify(note))
    const { code, err } = await flotilla('status', '--home', dead)
    expect(code).toBe(3)
    expect(err).toContain('has crashed')
    expect((await flotilla('stop', '--home', dead)).out).toContain('No mesh runs')
  })

  it.each([
    ['denied', 4],
    ['budget-exhausted', 4],
    ['lane-full', 1],
  ] as const)('flotilla, as a process shows a %s problem and ends with %i', async (problemCode, exitCode) => {
    const body = problemJson(new Problem(problemCode, { detail: 'because of that' }), 'req')
    await using server = await startLoopbackServer((_call, reply) => answerJson(reply, body.status, body))
    const { code, out, err } = await flotilla('runs', '--url', server.url)
    expect({ code, out }).toEqual({ code: exitCode, out: '' })
    expect(err).toContain(`✗ because of that\n  code ${problemCode}\n  next `)
  })

  it('flotilla, as a process lists runs by what they are about: a task by its title, by its id where it is not among the newest', async () => {
    const working = (id: string, taskId: string) => ({
      ...aRun,
      id,
      kind: 'task',
      task_id: taskId,
      input: { kind: 'task', task_id: taskId },
    })
    const asked: string[] = []
    await using server = await startLoopbackServer((call, reply) => {
      asked.push(call.url)
      const isTasks = call.url.startsWith('/api/tasks')
      const runs = [aRun, working('run_2', 'task_known'), working('run_3', 'task_old')]
      answerJson(reply, 200, isTasks ? { tasks: [aTask] } : { runs, older: null })
    })
    const listed = await flotilla('runs', '--url', server.url, '--agent', 'auditor', '--limit', '7')
    expect(listed).toMatchObject({ code: 0 })
    expect(
      listed.out
        .trim()
        .split('\n')
        .slice(2)
        .map((line) => line.split(/ {2,}/).at(-1)),
    ).toEqual(['Hi', 'Count the licences of every package', 'task_old'])
    expect(asked).toEqual(['/api/runs?limit=7&agent=auditor', '/api/tasks?limit=7&agent=auditor'])
    // JSON output contains the ids, so titles are not requested.
    asked.length = 0
    await flotilla('runs', '--url', server.url, '--json')
    expect(asked).toHaveLength(1)
  })

  it('flotilla, as a process prints the answer of a one-shot chat alone on standard output, the work on standard error', async () => {
    const frames = [
      { type: 'accepted', run_id: 'run_1' },
      {
        type: 'event',
        event: {
          type: 'tool.started',
          agent_id: 'operator',
          run_id: 'run_1',
          step: 1,
          name: 'list_agents',
          input: {},
        },
      },
      {
        type: 'event',
        event: { type: 'text.streamed', agent_id: 'operator', run_id: 'run_1', content: 'Hello' },
      },
      { type: 'ended', run: aRun },
    ]
    await using server = await startLoopbackServer((_call, reply) => {
      reply.writeHead(200, { 'content-type': 'text/event-stream' })
      reply.end(frames.map((frame) => `data: ${JSON.stringify(frame)}\n\n`).join(''))
    })
    const { code, out, err } = await flotilla('chat', 'operator', 'Hi', '--url', server.url)
    expect({ code, out }).toEqual({ code: 0, out: 'Hello\n' })
    expect(err).toContain('list_agents')
    const json = await flotilla('chat', 'operator', 'Hi', '--url', server.url, '--json')
    expect(JSON.parse(json.out)).toEqual(aRun)
  })

  it('flotilla, as a process ends with 4 when the run ends over budget', async () => {
    const run = {
      ...aRun,
      state: 'failed',
      outcome: { status: 'failed', text: 'no money', code: 'budget-exhausted' },
    }
    await using server = await startLoopbackServer((_call, reply) => {
      reply.writeHead(200, { 'content-type': 'text/event-stream' })
      reply.end(`data: ${JSON.stringify({ type: 'ended', run })}\n\n`)
    })
    const { code, out, err } = await flotilla('chat', 'operator', 'Hi', '--url', server.url)
    expect({ code, out }).toEqual({ code: 4, out: '' })
    expect(err).toContain('✗ no money\n  code budget-exhausted\n  next Raise the budget')
  })

  it('flotilla, as a process cancels its run on Ctrl-C, and ends when the run has', async () => {
    const cancelled = {
      ...aRun,
      state: 'cancelled',
      outcome: { status: 'cancelled', text: '', code: 'cancelled' },
    }
    const streams: ServerResponse[] = []
    await using server = await startLoopbackServer((call, reply) => {
      if (call.url.endsWith('/read')) {
        answerJson(reply, 200, { read: true })
        return
      }
      if (call.url.endsWith('/cancel')) {
        answerJson(reply, 200, cancelled)
        streams[0]?.end(`data: ${JSON.stringify({ type: 'ended', run: cancelled })}\n\n`)
        return
      }
      streams.push(reply)
      reply.writeHead(200, { 'content-type': 'text/event-stream' })
      const started = {
        type: 'tool.started',
        agent_id: 'operator',
        run_id: 'run_1',
        step: 1,
        name: 'waiting',
        input: {},
      }
      const frames = [
        { type: 'accepted', run_id: 'run_1' },
        { type: 'event', event: started },
      ]
      reply.write(frames.map((frame) => `data: ${JSON.stringify(frame)}\n\n`).join(''))
    })
    const child = start('chat', 'operator', 'Hi', '--url', server.url)
    // The line about the tool is printed, so the run is known by then.
    await new Promise((resolve) => child.process.stderr.once('data', resolve))
    child.process.kill('SIGINT')
    const { code, err } = await child.ended
    expect(server.calls.map((call) => call.url)).toEqual([
      '/api/agents/operator/chat',
      '/api/runs/run_1/cancel',
      // The outcome is printed.
      '/api/runs/run_1/read',
    ])
    expect(code).toBe(1)
    expect(err).toContain('code cancelled')
  })

  it('flotilla refuses to reset without a confirmation when standard input is not a terminal', async () => {
    const { code, err } = await flotilla('reset')
    expect(code).toBe(2)
    expect(err).toContain('--yes')
  })
})
