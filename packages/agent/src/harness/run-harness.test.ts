import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { Problem } from '@flotilla/protocol/problem'
import type { SteerMessage } from '@flotilla/protocol/steer'
import { asked, harnessParts, nextTurn, permittingMesh, storedState } from '../testing/harness-parts.ts'
import { fakeTool } from '../testing/loop-parts.ts'
import type { RunMesh } from '../mesh/run-mesh.ts'
import { defineTool } from '../tools/tool.ts'

const { signal } = new AbortController()

describe('a run that a harness drives', () => {
  it('a harness answers with the text after its last call, and its calls and plans are shown', async () => {
    const { run, frames, directory } = harnessParts()
    const state = asked(
      'plan read;write',
      'say First.',
      'run echo hello > made; cat made',
      'say Done.',
      'env OF_HARNESS',
    )
    expect(await run(state, signal)).toEqual({ kind: 'answered', text: 'Done.set' })
    expect(readFileSync(join(directory, 'made'), 'utf8')).toBe('hello\n')
    expect(frames.map((frame) => ('name' in frame ? `${frame.type} ${frame.name}` : frame.type))).toEqual([
      'tool_start harness_plan',
      'tool_result harness_plan',
      'text_delta',
      'tool_start harness_execute',
      'tool_result harness_execute',
      'text_delta',
      'text_delta',
    ])
    expect(frames[4]).toMatchObject({ output: 'hello\n', ok: true })
    expect(state.toolOutputs).toMatchObject([{ tool: 'harness_execute', ok: true, output: 'hello\n' }])
    expect(state.messages.slice(1)).toMatchObject([
      { role: 'assistant', content: 'First.', toolCalls: [{ name: 'harness_execute' }] },
      { role: 'tool', content: 'hello\n' },
      { role: 'assistant', content: 'Done.set', toolCalls: [] },
    ])
  })

  it('the warning that Codex writes before its answer is not part of the answer', async () => {
    const warning =
      'Model metadata for `box/qwen` not found. Defaulting to fallback metadata; this can degrade performance and cause issues.'
    const { run, frames } = harnessParts()
    expect(await run(asked(`say ${warning}`, 'say Hello.'), signal)).toMatchObject({ text: 'Hello.' })
    expect(frames).toMatchObject([{ type: 'text_delta', content: 'Hello.' }])
    expect(await run(asked(`say He quoted: ${warning}`), signal)).toMatchObject({
      text: `He quoted: ${warning}`,
    })
  })

  it('a harness finds its settings in a file, as the agent writes them before each start', async () => {
    const { run, directory } = harnessParts()
    const folder = join(directory, '.flotilla', 'harness')
    const path = join(folder, 'own', 'settings.json')
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, 'by a program of the container')
    const ended = await run(asked('env FOLDER_OF_HARNESS'), signal)
    expect(ended).toMatchObject({ kind: 'answered', text: folder })
    expect(readFileSync(path, 'utf8')).toBe('by the agent')
  })

  it('the mesh decides what a harness asks for, and a refusal keeps the call from running', async () => {
    const { mesh, asked: questions } = permittingMesh(({ kind }) => kind !== 'execute')
    const { run, directory } = harnessParts({ changes: { mesh } })
    const state = asked('run touch made', 'say End.')
    expect(await run(state, signal)).toMatchObject({ text: 'End.' })
    const input = '{"command":"touch made"}'
    const sha256 = expect.stringMatching(/^[0-9a-f]{64}$/)
    expect(questions).toEqual([{ kind: 'execute', subject: 'touch made', input, is_cut: false, sha256 }])
    expect(existsSync(join(directory, 'made'))).toBe(false)
    expect(state.toolOutputs).toMatchObject([
      { ok: false, output: expect.stringContaining('"optionId":"no"') },
    ])
  })

  it('a request that names a call by its identifier alone is decided by what was reported of the call', async () => {
    const { mesh, asked: questions } = permittingMesh(({ kind }) => kind !== 'execute')
    const { run, directory } = harnessParts({ changes: { mesh } })
    await run(asked('bare touch made', 'run touch made', 'say End.'), signal)
    expect(questions).toMatchObject([{ kind: 'execute', subject: 'touch made' }, {}])
    expect(questions[0]).toEqual(questions[1])
    expect(existsSync(join(directory, 'made'))).toBe(false)
  })

  it('a call waits while the mesh asks a person, and is made once after the answer', async () => {
    let asks = 0
    const mesh: RunMesh = {
      call: async () => ({ allowed: (asks += 1) === 3, waits: asks < 3, reason: '' }),
      open: () => Promise.reject(new Error('the mesh is not part of this test')),
    }
    const { run, directory } = harnessParts({ changes: { mesh } })
    expect(await run(asked('run echo x >> made', 'say End.'), signal)).toMatchObject({ text: 'End.' })
    expect(asks).toBe(3)
    expect(readFileSync(join(directory, 'made'), 'utf8')).toBe('x\n')
  })

  it('a run that is cancelled while a person is asked ends', async () => {
    const controller = new AbortController()
    const mesh: RunMesh = {
      call: ({ signal: stopped }) => {
        controller.abort(new Problem('cancelled'))
        return Promise.reject(stopped.reason)
      },
      open: () => Promise.reject(new Error('the mesh is not part of this test')),
    }
    const { run, directory } = harnessParts({ changes: { mesh } })
    await expect(run(asked('run touch made'), controller.signal)).rejects.toMatchObject({ code: 'cancelled' })
    expect(existsSync(join(directory, 'made'))).toBe(false)
  })

  it('tools of the mesh are called with the keys of the run, and are shown once', async () => {
    const tool = fakeTool('write_blackboard', 'mesh')
    const { run, frames } = harnessParts({ tools: [tool, fakeTool('run_command', 'local')] })
    const state = asked('tools', 'mesh write_blackboard {"value":"a"}', 'mesh write_blackboard {"value":"b"}')
    const end = await run(state, signal)
    expect(end).toMatchObject({
      text: 'write_blackboard[write_blackboard] ran a[write_blackboard] ran b',
    })
    expect(tool.keys).toHaveLength(2)
    expect(new Set(tool.keys).size).toBe(2)
    const shown = frames.filter(({ type }) => type === 'tool_result')
    expect(shown).toMatchObject([{ name: 'write_blackboard' }, { name: 'write_blackboard' }])
  })

  it('a completed task ends the run although the harness goes on', async () => {
    const complete = defineTool({
      name: 'complete_task',
      description: 'ends',
      parameters: {},
      effect: 'mesh',
      timeoutMs: 5000,
      run: async () => ({
        output: 'closed',
        ok: true,
        completion: { taskId: 'task_1', status: 'done', summary: 'all done', result: null, promote: {} },
      }),
    })
    const { run } = harnessParts({ tools: [complete], changes: { taskId: 'task_1', remindsOfTask: true } })
    const state = asked('mesh complete_task {}', 'mesh complete_task {}')
    expect(await run(state, signal)).toMatchObject({
      kind: 'completed',
      completion: { summary: 'all done' },
    })
    expect(state.messages.at(-1)?.content).toContain('the task is closed')
  })

  it('a task that is left open is asked for once more', async () => {
    const { run } = harnessParts({ changes: { taskId: 'task_1', remindsOfTask: true } })
    const state = asked('say Working.')
    expect(await run(state, signal)).toMatchObject({ kind: 'answered' })
    expect(state.messages.filter(({ content }) => content.startsWith('The task is still open'))).toHaveLength(
      1,
    )
  })

  it('a steer that arrives in the middle of a prompt is the next prompt', async () => {
    const steers: SteerMessage[] = []
    const taken: unknown[] = []
    const mesh = {
      call: async ({ body }: { body?: unknown }) => void taken.push(body),
      open: () => Promise.reject(new Error('not part of this test')),
    }
    const parts = harnessParts({ changes: { steers: () => steers, mesh } })
    const state = asked('say Begun.', 'until go')
    const running = parts.run(state, signal)
    await expect.poll(() => parts.frames.length, { timeout: 20_000 }).toBeGreaterThan(0)
    steers.push({ id: 'steer_1', from: 'the owner', text: 'say Heard.', at: 0 } as unknown as SteerMessage)
    writeFileSync(join(parts.directory, 'go'), '')
    expect(await running).toMatchObject({ text: 'Heard.' })
    expect(taken).toMatchObject([{ ids: ['steer_1'] }])
  })

  it('a cancelled run cancels the prompt and ends the processes of the harness', async () => {
    const controller = new AbortController()
    const { run, frames, directory } = harnessParts()
    const state = asked('run echo $PPID > pid', 'say Waiting.', 'wait')
    const running = run(state, controller.signal)
    await expect.poll(() => frames.length, { timeout: 20_000 }).toBeGreaterThan(2)
    controller.abort(new Problem('cancelled'))
    await expect(running).rejects.toMatchObject({ code: 'cancelled' })
    const pid = Number(readFileSync(join(directory, 'pid'), 'utf8'))
    expect(() => process.kill(pid, 0)).toThrow('ESRCH')
    expect(state.messages.at(-1)).toMatchObject({ role: 'assistant', content: 'Waiting.' })
  })

  it('the next turn of a conversation continues the session of the harness', async () => {
    const { run } = harnessParts()
    const first = asked('say One.')
    await run(first, signal)
    const second = nextTurn(first, 'run_2', 'history')
    expect(JSON.parse(textOf(await run(second, signal)))).toEqual({ before: 1, texts: [] })
  })

  it('each session is set to the mode of the harness, also one that continues', async () => {
    const { run } = harnessParts()
    const first = asked('mode')
    expect(await run(first, signal)).toMatchObject({ text: 'careful' })
    expect(await run(nextTurn(first, 'run_2', 'mode'), signal)).toMatchObject({ text: 'careful' })
  })

  it('a conversation without earlier messages begins a new session', async () => {
    const { run } = harnessParts()
    await run(asked('say One.'), signal)
    const reset = { ...asked('history'), runId: 'run_2' }
    expect(JSON.parse(textOf(await run(reset, signal)))).toMatchObject({ before: 0 })
  })

  it('a harness that forgets its sessions gets the conversation so far', async () => {
    const { run } = harnessParts({ args: ['--forgetful'] })
    const first = asked('say One is the answer.')
    await run(first, signal)
    const answer: { before: number; texts: string[] } = JSON.parse(
      textOf(await run(nextTurn(first, 'run_2', 'history'), signal)),
    )
    expect(answer.before).toBe(0)
    expect(answer.texts.join('\n')).toContain('One is the answer.')
  })

  it('after a crash the session continues, no effect is repeated, and the request comes again', async () => {
    const tool = fakeTool('hand_off', 'mesh')
    const parts = harnessParts({ tools: [tool] })
    const lines = ['mesh hand_off {"value":"a"}', 'die died', 'mesh hand_off {"value":"b"}']
    const end = await parts.run(asked(...lines), signal)
    expect(end).toMatchObject({ kind: 'failed', code: 'harness-failed' })
    expect(end.kind === 'failed' ? end.detail : '').toContain('the harness dies')
    const again = harnessParts({ tools: [tool], directory: parts.directory })
    const state = storedState(parts.checkpoints)
    expect(await again.run(state, signal)).toMatchObject({ text: '[hand_off] ran a[hand_off] ran b' })
    expect(tool.keys).toHaveLength(2)
  })

  it('a call whose result was lost in a crash is sent again with the same key', async () => {
    const controller = new AbortController()
    const keys: string[] = []
    const tool = fakeTool('hand_off', 'mesh', (_value, { idempotencyKey }) => {
      keys.push(idempotencyKey)
      if (keys.length > 1) return 'handed off'
      controller.abort(new Problem('stale-fence'))
      return new Promise(() => undefined)
    })
    const parts = harnessParts({ tools: [tool] })
    const lines = ['mesh hand_off {"value":"a"}']
    await expect(parts.run(asked(...lines), controller.signal)).rejects.toMatchObject({ code: 'stale-fence' })
    const again = harnessParts({ tools: [tool], directory: parts.directory })
    expect(await again.run(storedState(parts.checkpoints), signal)).toMatchObject({
      text: '[hand_off] handed off',
    })
    expect(new Set(keys).size).toBe(1)
  })

  it('an interrupted call keeps its key, although look-ups and other calls come before it', async () => {
    const controller = new AbortController()
    const keys: string[] = []
    const tool = fakeTool('hand_off', 'mesh', (_value, { idempotencyKey }) => {
      keys.push(idempotencyKey)
      if (keys.length > 1) return 'handed off'
      controller.abort(new Problem('stale-fence'))
      return new Promise(() => undefined)
    })
    const lookUp = fakeTool('list_tasks', 'none')
    const write = fakeTool('write_blackboard', 'mesh')
    const tools = [tool, lookUp, write]
    const parts = harnessParts({ tools })
    const line = 'mesh hand_off {"value":"a"}'
    await expect(parts.run(asked(line), controller.signal)).rejects.toMatchObject({ code: 'stale-fence' })
    const state = storedState(parts.checkpoints)
    const request = asked('mesh list_tasks {"value":"x"}', 'mesh write_blackboard {"value":"y"}', line, line)
    const again = harnessParts({ tools, directory: parts.directory })
    await again.run({ ...state, messages: request.messages }, signal)
    expect(keys).toHaveLength(3)
    expect(keys[1]).toBe(keys[0])
    expect(new Set([...keys.slice(1), ...lookUp.keys, ...write.keys]).size).toBe(4)
  })

  it('an interrupted call keeps its key over two crashes', async () => {
    const keys: string[] = []
    let controller = new AbortController()
    const tool = fakeTool('hand_off', 'mesh', (_value, { idempotencyKey }) => {
      keys.push(idempotencyKey)
      if (keys.length > 1) return 'handed off'
      controller.abort(new Problem('stale-fence'))
      return new Promise(() => undefined)
    })
    const stops = fakeTool('notify_user', 'mesh', () => {
      controller.abort(new Problem('stale-fence'))
      return new Promise(() => undefined)
    })
    const tools = [tool, stops]
    const first = harnessParts({ tools })
    const hand = 'mesh hand_off {"value":"a"}'
    await expect(first.run(asked(hand), controller.signal)).rejects.toMatchObject({ code: 'stale-fence' })
    controller = new AbortController()
    const second = harnessParts({ tools, directory: first.directory })
    const { messages } = asked('mesh notify_user {"value":"b"}', hand)
    const state = { ...storedState(first.checkpoints), messages }
    await expect(second.run(state, controller.signal)).rejects.toMatchObject({ code: 'stale-fence' })
    const third = harnessParts({ tools, directory: first.directory })
    const last = { ...storedState(second.checkpoints), messages: asked(hand).messages }
    expect(await third.run(last, signal)).toMatchObject({ text: '[hand_off] handed off' })
    expect(keys).toEqual([keys[0], keys[0]])
  })

  it('results of MCP servers and failed results are remembered after a crash', async () => {
    const mcp = fakeTool('files_write', 'local')
    const failing = fakeTool('pay', 'mesh', () => {
      throw new Problem('outcome-unknown', { detail: 'The payment left.' })
    })
    const tools = [mcp, failing]
    const parts = harnessParts({ tools })
    const lines = ['mesh files_write {"value":"a"}', 'mesh pay {"value":"1"}', 'die died']
    await parts.run(asked(...lines), signal)
    const again = harnessParts({ tools, directory: parts.directory })
    const end = textOf(await again.run(storedState(parts.checkpoints), signal))
    expect(end).toContain('[files_write] ran a')
    expect(end).toContain('The payment left.')
    expect([mcp.keys, failing.keys]).toMatchObject([{ length: 1 }, { length: 1 }])
  })

  it('an interrupted call of an MCP server is not repeated, and its outcome is unknown', async () => {
    const controller = new AbortController()
    const tool = fakeTool('files_write', 'local', () => {
      controller.abort(new Problem('stale-fence'))
      return new Promise(() => undefined)
    })
    const tools = [tool, fakeTool('list_tasks', 'none')]
    const parts = harnessParts({ tools })
    const line = 'mesh files_write {"value":"a"}'
    const request = asked('mesh list_tasks {"value":"x"}', line)
    await expect(parts.run(request, controller.signal)).rejects.toMatchObject({ code: 'stale-fence' })
    const again = harnessParts({ tools, directory: parts.directory })
    const state = storedState(parts.checkpoints)
    expect(textOf(await again.run(state, signal))).toContain('[files_write failed] Error (outcome-unknown)')
    expect(tool.keys).toHaveLength(1)
    expect(state.toolOutputs.at(-1)).toMatchObject({ tool: 'files_write', ok: false })
  })

  it('a call that the harness cancels and makes again takes effect once', async () => {
    const begun = Promise.withResolvers<void>()
    const answer = Promise.withResolvers<string>()
    const tool = fakeTool('hand_off', 'mesh', () => {
      begun.resolve()
      return answer.promise
    })
    const parts = harnessParts({ tools: [tool] })
    const running = parts.run(
      asked('drop begun hand_off {"value":"a"}', 'tools', 'until dropped', 'mesh hand_off {"value":"a"}'),
      signal,
    )
    await begun.promise
    writeFileSync(join(parts.directory, 'begun'), '')
    // The list of tools comes after the cancellation, on the same connection.
    await expect.poll(() => parts.frames.length, { timeout: 20_000 }).toBeGreaterThan(2)
    answer.resolve('handed off')
    writeFileSync(join(parts.directory, 'dropped'), '')
    expect(textOf(await running)).toBe('[hand_off dropped]hand_off[hand_off] handed off')
    expect(tool.keys).toHaveLength(1)
  })

  it('a command that does not exist ends the run with its name', async () => {
    const { createHarnessLoop } = await import('./run-harness.ts')
    const parts = harnessParts()
    const loop = createHarnessLoop({
      program: { command: ['no-such-harness'], environment: {} },
      environment: { PATH: '/nowhere' },
      directory: parts.directory,
      sessions: { find: async () => null, save: async () => undefined },
      log: {
        info: () => undefined,
        warn: () => undefined,
        error: () => undefined,
        debug: () => undefined,
      } as never,
    })('main')
    expect(await loop(parts.deps, asked('say x'), signal)).toMatchObject({
      code: 'harness-failed',
      detail: expect.stringContaining('no-such-harness'),
    })
  })

  it('the tokens of each turn that a harness reports are reported to the mesh once', async () => {
    const { mesh, reported } = permittingMesh()
    const { run } = harnessParts({ changes: { mesh } })
    const usage = { usage: { totalTokens: 120, inputTokens: 100, outputTokens: 20 } }
    const state = asked('say One.', `usage ${JSON.stringify(usage)}`)
    expect(textOf(await run(state, signal))).toBe('One.')
    expect(textOf(await run(nextTurn(state, 'run_2', 'say Two.'), signal))).toBe('Two.')
    expect(reported).toEqual([{ prompt_tokens: 100, completion_tokens: 20 }])
  })

  it('a harness that reports no tokens with its answer has those of its last call reported, in each turn', async () => {
    const { mesh, reported } = permittingMesh()
    const { run } = harnessParts({ changes: { mesh } })
    const state = asked('context 30', 'context 42', 'say One.')
    expect(textOf(await run(state, signal))).toBe('One.')
    expect(textOf(await run(nextTurn(state, 'run_2', 'say Two.'), signal))).toBe('Two.')
    const usage = { usage: { totalTokens: 120, inputTokens: 100, outputTokens: 20 } }
    const third = nextTurn(state, 'run_3', 'context 7', `usage ${JSON.stringify(usage)}`, 'say Three.')
    expect(textOf(await run(third, signal))).toBe('Three.')
    expect(reported).toEqual([
      { prompt_tokens: 42, completion_tokens: 0 },
      { prompt_tokens: 100, completion_tokens: 20 },
    ])
  })

  it('a report of tokens that the mesh does not take ends no run', async () => {
    const mesh: RunMesh = {
      ...permittingMesh().mesh,
      call: () => Promise.reject(new Problem('internal-error')),
    }
    const { run } = harnessParts({ changes: { mesh } })
    const usage = { usage: { totalTokens: 120, inputTokens: 100, outputTokens: 20 } }
    expect(textOf(await run(asked('say One.', `usage ${JSON.stringify(usage)}`), signal))).toBe('One.')
  })

  it('a refusal of the model behind a harness ends the run as failed', async () => {
    expect(await harnessParts().run(asked('refuse'), signal)).toMatchObject({ code: 'model-failed' })
  })
})

function textOf(end: Awaited<ReturnType<ReturnType<typeof harnessParts>['run']>>): string {
  if (end.kind !== 'answered') throw new Error(`the run ended as ${JSON.stringify(end)}`)
  return end.text
}
