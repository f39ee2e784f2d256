import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { RequestedCall } from '../llm/language-model.ts'
import { createScriptedModel } from '../llm/scripted-model.ts'
import type { ScriptedStep } from '../llm/scripted-model.ts'
import { aState, calls, fakeTool, loopParts } from '../testing/loop-parts.ts'
import { createToolFinder } from '../tools/find-tools.ts'
import { foundTools } from '../tools/found-tools.ts'
import { integer, text } from '../tools/parameters.ts'
import { defineTool, succeeded } from '../tools/tool.ts'
import type { Tool } from '../tools/tool.ts'
import { readLoopState } from './read-loop-state.ts'
import { runLoop } from './run-loop.ts'

const signal = new AbortController().signal
const deferredNames = ['set_cron', 'list_cron', 'remove_cron', 'vault_list', 'read_blackboard'] as const

/** A tool `run_command` in the prompt, and deferred ones that record what they are called with. */
function anAgent() {
  const made: string[] = []
  const deferred = deferredNames.map((name) =>
    defineTool({
      name,
      description: `Does ${name}.`,
      parameters: {
        value: text('a value', { maxChars: 10 }),
        count: integer('how many', { min: 1, max: 9 }),
      },
      effect: 'none',
      deferred: true,
      timeoutMs: 5000,
      run: async ({ value, count }) =>
        succeeded(`${name} ${value} ${made.push(`${name}:${value}:${count}`)}`),
    }),
  )
  const finder = createToolFinder()
  const tools: Tool[] = [fakeTool('run_command', 'none'), ...deferred, ...finder.tools]
  finder.search(tools)
  return { tools, made }
}

const use = (id: string, name: string, input: unknown) => calls([id, name, JSON.stringify(input)])
const arguments_ = { value: 'x', count: 1 }

async function played(steps: readonly ScriptedStep[], agent = anAgent()) {
  const model = createScriptedModel([...steps, { text: 'done' }])
  const state = aState()
  const end = await runLoop(loopParts(model, agent.tools).deps, state, signal)
  return { ...agent, model, state, end }
}

describe('a tool whose definition is not in the prompt', () => {
  test('a deferred tool is called by call_tool, and everything that is recorded of the call names the tool', async () => {
    const { made, state } = await played([
      { toolCalls: use('a', 'find_tools', { query: 'schedule' }) },
      { toolCalls: use('b', 'call_tool', { name: 'set_cron', arguments: arguments_ }) },
    ])
    expect(made).toEqual(['set_cron:x:1'])
    expect(state.toolOutputs.map(({ tool, input, ok }) => ({ tool, input, ok }))).toEqual([
      { tool: 'find_tools', input: { query: 'schedule' }, ok: true },
      { tool: 'set_cron', input: arguments_, ok: true },
    ])
    // The conversation keeps the call as it was made, so that the model sees its own form again.
    const said = state.messages.filter((message) => message.role === 'assistant')
    expect(said[1]).toMatchObject({ toolCalls: [{ name: 'call_tool' }] })
  })

  test('a deferred tool is executed when the model guesses it with valid arguments', async () => {
    const { made } = await played([{ toolCalls: use('a', 'list_cron', arguments_) }])
    expect(made).toEqual(['list_cron:x:1'])
  })

  test.each([
    ['by its name', (input: object) => use('a', 'vault_list', input)],
    ['by call_tool', (input: object) => use('a', 'call_tool', { name: 'vault_list', arguments: input })],
  ])(
    'a deferred tool answers a wrong guess %s with its definition, and nothing is executed',
    async (_how, call) => {
      const { made, state } = await played([{ toolCalls: call({ val: 'x' }) }])
      expect(made).toEqual([])
      const [output] = state.toolOutputs
      expect(output).toMatchObject({ tool: 'vault_list', ok: false })
      expect(output?.output).toContain('"count":{"type":"integer"')
      expect(output?.output).not.toContain('no such tool')
    },
  )

  test('a call that is truncated inside call_tool is not executed, and the call keeps its name', async () => {
    const cut = calls(['a', 'call_tool', '{"name":"set_cron","arguments":"{\\"value\\":"}'])
    const { made, state } = await played([{ toolCalls: cut }])
    expect(made).toEqual([])
    expect(state.toolOutputs[0]).toMatchObject({ tool: 'set_cron', ok: false })
    expect(state.messages[1]).toMatchObject({ toolCalls: cut })
  })

  test('a repeated call of a deferred tool counts for the loop detector however it is called', async () => {
    const wrong = { value: 1 }
    const ways = [
      (at: number) => use(`c${at}`, 'set_cron', wrong),
      (at: number) => use(`c${at}`, 'call_tool', { name: 'set_cron', arguments: wrong }),
    ]
    const { end } = await played(
      Array.from({ length: 20 }, (_, at) => ({ toolCalls: ways[at % 2]?.(at) ?? [] })),
    )
    expect(end).toMatchObject({ kind: 'failed', code: 'tool-loop-terminated' })
  })

  test('a tool that the mesh withholds is neither found nor suggested, and a call of it is still decided by the mesh', async () => {
    const agent = anAgent()
    const at = agent.tools.findIndex(({ definition }) => definition.name === 'vault_list')
    agent.tools[at] = {
      ...agent.tools[at]!, // the tool that was found
      withheld: true,
      run: async () => ({ output: 'Error (denied): not yours', ok: false }),
    }
    const { state } = await played(
      [
        { toolCalls: use('a', 'find_tools', { query: 'vault_list' }) },
        { toolCalls: use('b', 'vault_lists', {}) },
        { toolCalls: use('c', 'call_tool', { name: 'vault_list', arguments: arguments_ }) },
      ],
      agent,
    )
    expect(state.toolOutputs[0]?.output).not.toContain('vault_list')
    expect(state.toolOutputs[1]?.output).not.toContain('such as vault_list')
    expect(state.toolOutputs[2]).toMatchObject({ tool: 'vault_list', output: 'Error (denied): not yours' })
  })

  test('a deferred tool is suggested for a name that does not exist', async () => {
    const { state } = await played([{ toolCalls: use('a', 'call_tool', { name: 'set_cronjob' }) }])
    expect(state.toolOutputs[0]?.output).toMatch(/no such tool.*such as set_cron/)
  })
})

describe('definitions that were found', () => {
  test('found definitions are in the checkpoint, and are not given again', async () => {
    const find = (id: string) => ({ toolCalls: use(id, 'find_tools', { query: 'schedule' }) })
    const { state } = await played([find('a'), find('b')])
    const loaded = readLoopState(JSON.parse(JSON.stringify(state)))
    expect([...foundTools(loaded?.messages ?? []).keys()]).toEqual(['set_cron', 'list_cron', 'remove_cron'])
    expect(state.toolOutputs[1]?.output).toContain(
      'Described above already: set_cron, list_cron, remove_cron',
    )
    expect(state.toolOutputs[1]?.output).not.toContain('{"name"')
  })
})

/** Rounds in which a model finds tools, and calls them in every way. */
const round = fc.array(
  fc.oneof(
    fc.record({
      name: fc.constant('find_tools'),
      input: fc.record({ query: fc.constantFrom(...deferredNames, 'schedule', 'qq') }),
    }),
    fc.record({ name: fc.constantFrom(...deferredNames), input: fc.constantFrom<object>(arguments_, {}) }),
    fc.record({
      name: fc.constant('call_tool'),
      input: fc.record({
        name: fc.constantFrom<string>(...deferredNames, 'run_command', 'none'),
        arguments: fc.constant(arguments_),
      }),
    }),
    fc.record({ name: fc.constant('run_command'), input: fc.record({ value: fc.string({ maxLength: 5 }) }) }),
  ),
  { minLength: 1, maxLength: 3 },
)

test('two rounds of one conversation share every byte up to the new messages, whatever is found and called in between', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(round, { minLength: 1, maxLength: 6 }), async (rounds) => {
      const steps = rounds.map((made, at) => ({
        toolCalls: made.map(({ name, input }, index): RequestedCall => ({
          id: `c${at}_${index}`,
          name,
          arguments: JSON.stringify(input),
        })),
      }))
      const agent = anAgent()
      const late = fakeTool('late', 'none')
      const model = createScriptedModel([...steps, { text: 'done' }])
      const { deps } = loopParts(model, agent.tools)
      // A server may add a tool at any time.
      const saveCheckpoint = async () => {
        if (!agent.tools.includes(late)) agent.tools.push({ ...late, deferred: true, source: 'mcp:late' })
      }
      await runLoop({ ...deps, saveCheckpoint }, aState(), signal)
      for (const [at, request] of model.asked.entries()) {
        const before = model.asked[at - 1] ?? request
        expect(JSON.stringify(request.tools)).toBe(JSON.stringify(before.tools))
        const bytes = (messages: typeof request.messages) => JSON.stringify(messages).slice(0, -1)
        const ofConversation = before.messages.filter(({ role }, index) => index === 0 || role !== 'system')
        const now = request.messages.filter(({ role }, index) => index === 0 || role !== 'system')
        expect(bytes(now).startsWith(bytes(ofConversation))).toBe(true)
        // A later request only adds found tools, so references do not change either.
        const [was, is] = [before, request].map(
          ({ found }) => [found?.definitions ?? [], [...(found?.results.values() ?? [])]] as const,
        )
        expect(is).toBeDefined()
        for (const part of [0, 1] as const)
          expect(is?.[part].slice(0, was?.[part].length)).toEqual(was?.[part])
      }
    }),
    { numRuns: 50 },
  )
})
